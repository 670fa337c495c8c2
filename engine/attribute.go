// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"slices"

	"oneslot.dev/oneslot/group"
	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/wire"
)

// GetAttributeValue is C_GetAttributeValue. Every member answers the same (H5);
// the primary is asked first.
func (a *application) GetAttributeValue(_ context.Context, c *wire.GetAttributeValue) pkcs11.RV {
	s, o, rv := a.object(c.Session, c.Object)
	if rv != pkcs11.CKR_OK {
		return rv
	}
	if c.Query == nil {
		return pkcs11.CKR_ARGUMENTS_BAD
	}
	rv, err := s.slot.group.Do(wire.Ask, group.Primary, func(p *group.Place) (pkcs11.RV, error) {
		return o.onTried(p, func(handle uint64) (pkcs11.RV, error) {
			call := wire.GetAttributeValue{Object: handle, Query: c.Query}
			_, err := p.Do(&call)
			c.Values = call.Values
			return call.RV, err
		})
	})
	return s.slot.gone(err, rv, pkcs11.CKR_OBJECT_HANDLE_INVALID)
}

// SetAttributeValue is C_SetAttributeValue.
func (a *application) SetAttributeValue(_ context.Context, c *wire.SetAttributeValue) pkcs11.RV {
	s, o, rv := a.object(c.Session, c.Object)
	if rv != pkcs11.CKR_OK {
		return rv
	}
	if o.owner == nil && !s.rw {
		return pkcs11.CKR_SESSION_READ_ONLY
	}
	if c.Template == nil { // an empty one changes nothing
		return pkcs11.CKR_ARGUMENTS_BAD
	}
	var consistent bool
	if c.Template, consistent = distinct(c.Template); !consistent {
		return pkcs11.CKR_TEMPLATE_INCONSISTENT
	}
	id := o.identity()
	switch {
	case o.owner != nil:
		rv = s.slot.changeSessionObject(o, c.Template)
	case s.slot.virtual == nil:
		rv = s.slot.onlyHere(o, func(handle uint64) wire.Call {
			return &wire.SetAttributeValue{Object: handle, Template: c.Template}
		})
	default:
		before := o.mayBe(c.Template) // also to an attempt after a lost one
		if rv = s.slot.group.SetAttributes(id, c.Template, o.onMember); rv != pkcs11.CKR_DEVICE_ERROR {
			o.isNot(before)
		}
	}
	if rv == pkcs11.CKR_OK {
		o.changed(c.Template)
		s.slot.objects.renamed(s.slot, o)
		s.slot.compare(o)
	}
	return rv
}

// mayBe notes what a token object may be called while nobody knows what came of a change.
// It returns what it was before.
func (o *object) mayBe(t pkcs11.Template) (before []familyKey) {
	o.mu.Lock()
	defer o.mu.Unlock()
	before = o.tried
	id := o.id
	if a := t.Find(pkcs11.CKA_LABEL); a != nil {
		id.Label = a.Value
	}
	if a := t.Find(pkcs11.CKA_ID); a != nil {
		id.ID = a.Value
	}
	if name := familyOf(&id); name != familyOf(&o.id) {
		o.tried = append(slices.Clip(before), name)
	}
	return before
}

// isNot ends that.
func (o *object) isNot(before []familyKey) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.tried = before
}

// changed notes new values of attributes that the engine keeps.
func (o *object) changed(t pkcs11.Template) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.proven = nil // what the key may do may have changed
	o.tried = nil
	if a := t.Find(pkcs11.CKA_LABEL); a != nil {
		o.id.Label = append([]byte{}, a.Value...)
	}
	if a := t.Find(pkcs11.CKA_ID); a != nil {
		o.id.ID = append([]byte{}, a.Value...)
	}
}

// changeSessionObject changes a session object on the members that have it.
// Copies for others are made of the changed one.
func (sl *slot) changeSessionObject(o *object, t pkcs11.Template) pkcs11.RV {
	rv, err := sl.group.Do(wire.Use, group.Primary, func(p *group.Place) (pkcs11.RV, error) {
		return o.onTried(p, func(handle uint64) (pkcs11.RV, error) {
			holder, err := o.owner.holder(p) // where a key lives that replaces it
			if err != nil {
				return 0, err
			}
			set := wire.SetAttributeValue{Object: handle, Template: t}
			if _, err := holder.Do(&set); err != nil || set.RV != pkcs11.CKR_OK {
				return set.RV, err
			}
			handle, rv, err := sl.afterChange(p, o, handle)
			if err != nil || rv != pkcs11.CKR_OK {
				return rv, err
			}
			blob := o.blob
			if blob != nil {
				export := wire.Export{Object: handle}
				if _, err := p.Do(&export); err != nil || export.RV != pkcs11.CKR_OK {
					return export.RV, err
				}
				blob = export.Blob
			}
			o.settleOn(p, handle, blob)
			return pkcs11.CKR_OK, nil
		})
	})
	return sl.gone(err, rv, pkcs11.CKR_OBJECT_HANDLE_INVALID)
}

// afterChange is the handle of a session object that was changed. Some tokens
// cannot change what has to be changed, and their host puts another key in its
// place: one that nobody knows yet.
func (sl *slot) afterChange(p *group.Place, o *object, handle uint64) (uint64, pkcs11.RV, error) {
	identify := wire.Identify{Object: handle}
	if _, err := p.Do(&identify); err != nil || identify.RV != pkcs11.CKR_OBJECT_HANDLE_INVALID {
		return handle, identify.RV, err
	}
	id := o.identity()
	resolve := wire.Resolve{Wanted: id}
	if _, err := p.Do(&resolve); err != nil || resolve.RV != pkcs11.CKR_OK {
		return 0, resolve.RV, err
	}
	for i := range resolve.Found {
		f := &resolve.Found[i]
		if f.Same(&id) && f.Flags&wire.OnToken == 0 && sl.objects.at(p.Seat(), p.Epoch(), f.Object) == nil {
			return f.Object, pkcs11.CKR_OK, nil
		}
	}
	return 0, pkcs11.CKR_OBJECT_HANDLE_INVALID, nil
}

// settleOn makes one member's session object the one that copies are made of.
// The older copies elsewhere stay unused until their session closes.
func (o *object) settleOn(p *group.Place, handle uint64, blob []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.places = map[int]place{p.Seat(): {p.Epoch(), handle}}
	o.blob = blob
}

// onlyHere makes a change on a physical slot's member.
func (sl *slot) onlyHere(o *object, call func(uint64) wire.Call) pkcs11.RV {
	rv, err := sl.group.Do(wire.Make, group.Primary, func(p *group.Place) (pkcs11.RV, error) {
		return o.onTriedHere(p, func(handle uint64) (pkcs11.RV, error) {
			c := call(handle)
			_, err := p.Do(c)
			return c.Result(), err
		})
	})
	return sl.gone(err, rv, pkcs11.CKR_OBJECT_HANDLE_INVALID)
}

// object returns a session and an object in it by their handles.
func (a *application) object(sessionHandle, objectHandle uint64) (*session, *object, pkcs11.RV) {
	s, rv := a.session(sessionHandle)
	if rv != pkcs11.CKR_OK {
		return nil, nil, rv
	}
	o := s.slot.object(objectHandle)
	if o == nil {
		return nil, nil, pkcs11.CKR_OBJECT_HANDLE_INVALID
	}
	return s, o, pkcs11.CKR_OK
}

// GenerateRandom is C_GenerateRandom, on the least busy member.
func (a *application) GenerateRandom(_ context.Context, c *wire.GenerateRandom) pkcs11.RV {
	s, rv := a.session(c.Session)
	if rv != pkcs11.CKR_OK {
		return rv
	}
	rv, _ = s.slot.group.Do(wire.Use, group.Balance, func(p *group.Place) (pkcs11.RV, error) {
		_, err := p.Do(c)
		return c.RV, err
	})
	return rv
}
