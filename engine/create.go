// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"

	"oneslot.dev/oneslot/group"
	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/wire"
)

// A creation is a creating call as far as it is the same for all of them.
type creation struct {
	session   *session
	templates []*pkcs11.Template // one for each object, to be changed
	call      wire.Call
	handles   func() []uint64 // the members' handles, after the call

	// The mechanism that the call names, nil for one that names none, what it is for,
	// and the size of the key that it is to make, if the call says that.
	mechanism *pkcs11.Mechanism
	function  uint64
	size      keySize

	uses  aim    // the objects that the call works with
	fit   *fit   // the members for them; nil: all that have them
	aimed func() // what is left to do when the handles are set; nil: nothing
}

// of is what the template of the i-th object says: one may be for several.
func (c *creation) of(token []bool, i int) bool { return token[min(i, len(token)-1)] }

// run runs the call in a member's session, once more if its handles were stale.
func (c *creation) run(h *group.Hold) (pkcs11.RV, error) {
	for again := false; ; again = true {
		if rv, err := c.uses.with(c.fit)(h.Place()); err != nil || rv != pkcs11.CKR_OK {
			return rv, err
		}
		if c.aimed != nil {
			c.aimed()
		}
		_, err := h.Do(c.call)
		rv := c.call.Result()
		if err != nil || again || !c.uses.stale(h.Place(), rv) {
			return rv, err
		}
	}
}

// refused is the answer to a creation that some members of the group could not do.
func (c *creation) refused() pkcs11.RV {
	if c.mechanism == nil {
		return pkcs11.CKR_OK
	}
	if rv := c.session.slot.refuses(c.mechanism, c.function); rv != pkcs11.CKR_OK {
		return rv
	}
	return c.session.slot.refusesSize(c.mechanism, c.size)
}

// GenerateKey is C_GenerateKey.
func (a *application) GenerateKey(_ context.Context, c *wire.GenerateKey) pkcs11.RV {
	return a.createOne(creation{templates: []*pkcs11.Template{&c.Template}, call: c,
		mechanism: &c.Mechanism, function: pkcs11.CKF_GENERATE, size: secretSize(&c.Template)}, c.Session, &c.Key)
}

// CreateObject is C_CreateObject.
func (a *application) CreateObject(_ context.Context, c *wire.CreateObject) pkcs11.RV {
	rv := a.createOne(creation{templates: []*pkcs11.Template{&c.Template}, call: c}, c.Session, &c.Object)
	if rv == pkcs11.CKR_KEY_NOT_WRAPPABLE {
		// Tokens take RSA keys without all their parts, and cannot wrap them.
		rv = pkcs11.CKR_TEMPLATE_INCOMPLETE
	}
	return rv
}

// GenerateKeyPair is C_GenerateKeyPair.
func (a *application) GenerateKeyPair(_ context.Context, c *wire.GenerateKeyPair) pkcs11.RV {
	s, rv := a.session(c.Session)
	if rv != pkcs11.CKR_OK {
		return rv
	}
	made, rv := a.create(creation{session: s, templates: []*pkcs11.Template{&c.Public, &c.Private}, call: c,
		mechanism: &c.Mechanism, function: pkcs11.CKF_GENERATE_KEY_PAIR, size: pairSize(&c.Public),
		handles: func() []uint64 { return []uint64{c.PublicKey, c.PrivateKey} }})
	if rv == pkcs11.CKR_OK {
		c.PublicKey, c.PrivateKey = made[0].handle, made[1].handle
	}
	return rv
}

// createOne is create for a call that makes one object, whose handle it has.
func (a *application) createOne(c creation, handle uint64, object *uint64) (rv pkcs11.RV) {
	c.handles = func() []uint64 { return []uint64{*object} }
	made, rv := a.createAll(c, handle)
	if rv == pkcs11.CKR_OK {
		*object = made[0].handle
	}
	return rv
}

// createAll is create for a session handle.
func (a *application) createAll(c creation, handle uint64) (made []*object, rv pkcs11.RV) {
	if c.session, rv = a.session(handle); rv != pkcs11.CKR_OK {
		return nil, rv
	}
	return a.create(c)
}

// create makes objects and returns their virtual forms. Token objects come to
// all members (K1); of a pair one half may be a session object (field-D5).
func (a *application) create(c creation) ([]*object, pkcs11.RV) {
	token := make([]bool, len(c.templates))
	some := false
	for i, t := range c.templates {
		if wrongSize(*t) {
			return nil, pkcs11.CKR_ATTRIBUTE_VALUE_INVALID
		}
		var consistent bool
		if *t, consistent = distinct(*t); !consistent {
			return nil, pkcs11.CKR_TEMPLATE_INCONSISTENT
		}
		token[i] = t.Bool(pkcs11.CKA_TOKEN, false)
		some = some || token[i]
		if kind, ok := t.Ulong(pkcs11.CKA_KEY_TYPE); ok && stateful(kind) {
			return nil, pkcs11.CKR_ATTRIBUTE_VALUE_INVALID
		}
	}
	if some && !c.session.rw {
		return nil, pkcs11.CKR_SESSION_READ_ONLY
	}
	if rv := c.refused(); rv != pkcs11.CKR_OK {
		return nil, rv
	}
	var made []*object
	var rv pkcs11.RV
	switch {
	case c.session.slot.virtual == nil:
		made, rv = a.createHere(c, token)
	case !some:
		made, rv = a.createInSession(c)
	default:
		made, rv = a.createEverywhere(c, token)
	}
	for _, o := range made {
		c.session.slot.compare(o)
	}
	return made, rv
}

// stateful says whether a key must never be used on two members: hash-based
// keys that count their signatures (K8, field-C15).
func stateful(keyType uint64) bool {
	return keyType == pkcs11.CKK_HSS || keyType == pkcs11.CKK_XMSS || keyType == pkcs11.CKK_XMSSMT
}

// createInSession makes session objects, on the primary. They can be brought to
// the others when they are wanted there (K9).
func (a *application) createInSession(c creation) (made []*object, rv pkcs11.RV) {
	sl := c.session.slot
	rv, err := sl.group.Do(wire.Use, group.Primary, func(p *group.Place) (pkcs11.RV, error) {
		holder, err := c.session.holder(p)
		if err != nil {
			return 0, err
		}
		if rv, err := c.run(holder); err != nil || rv != pkcs11.CKR_OK {
			return rv, err
		}
		made = nil
		for _, handle := range c.handles() {
			o, rv, err := a.sessionObject(c.session, p, holder, handle)
			if err != nil || rv != pkcs11.CKR_OK {
				return rv, err
			}
			made = append(made, o)
		}
		return pkcs11.CKR_OK, nil
	})
	if rv = sl.gone(err, rv, pkcs11.CKR_DEVICE_ERROR); rv != pkcs11.CKR_OK {
		return nil, rv
	}
	for _, o := range made {
		sl.objects.add(a.handles.Add(1), o)
	}
	return made, pkcs11.CKR_OK
}

// sessionObject describes a session object that was just made, with the wrapped
// form from which other members can get it.
func (a *application) sessionObject(s *session, p *group.Place, holder *group.Hold, handle uint64) (*object, pkcs11.RV, error) {
	identify := wire.Identify{Object: handle}
	if _, err := holder.Do(&identify); err != nil || identify.RV != pkcs11.CKR_OK {
		return nil, identify.RV, err
	}
	o := &object{owner: s, id: keep(&identify.Identity)}
	o.learn(p.Seat(), p.Epoch(), handle)
	if identify.Identity.Flags&wire.Copyable != 0 && !p.Alone() {
		export := wire.Export{Object: handle}
		if _, err := holder.Do(&export); err != nil {
			return nil, 0, err
		}
		if export.RV == pkcs11.CKR_OK {
			o.blob = export.Blob
		}
	}
	return o, pkcs11.CKR_OK, nil
}

// createEverywhere makes token objects on all members. A half of a pair that is
// to be a session object is made again of its wrapped form.
func (a *application) createEverywhere(c creation, token []bool) ([]*object, pkcs11.RV) {
	for _, t := range c.templates {
		*t = t.With(pkcs11.Bool(pkcs11.CKA_TOKEN, false))
	}
	sl := c.session.slot
	var made []*object
	created, rv := sl.group.Create(func(h *group.Hold) ([]uint64, pkcs11.RV, error) {
		if rv, err := c.run(h); err != nil || rv != pkcs11.CKR_OK {
			return nil, rv, err
		}
		made = make([]*object, len(c.handles()))
		var publish []uint64
		for i, handle := range c.handles() {
			if c.of(token, i) {
				publish = append(publish, handle)
				continue
			}
			o, rv, err := a.detached(c.session, h, handle)
			if err != nil || rv != pkcs11.CKR_OK {
				return nil, rv, err
			}
			made[i] = o
		}
		return publish, pkcs11.CKR_OK, nil
	})
	if rv != pkcs11.CKR_OK {
		return nil, rv
	}
	for i := range made {
		if c.of(token, i) {
			made[i] = sl.created(&created[0])
			created = created[1:]
		} else {
			sl.objects.add(a.handles.Add(1), made[i])
		}
	}
	return made, pkcs11.CKR_OK
}

// detached describes a session object whose member session is about to close:
// it lives on in its wrapped form and is brought back where it is wanted.
func (a *application) detached(s *session, h *group.Hold, handle uint64) (*object, pkcs11.RV, error) {
	identify, export := wire.Identify{Object: handle}, wire.Export{Object: handle}
	if _, err := h.Do(&identify, &export); err != nil {
		return nil, 0, err
	}
	if identify.RV != pkcs11.CKR_OK {
		return nil, identify.RV, nil
	}
	return &object{owner: s, id: keep(&identify.Identity), blob: export.Blob}, export.RV, nil
}

// created is the virtual form of a new token object.
func (sl *slot) created(c *group.Created) *object {
	var o *object
	if len(c.Identity.Fingerprint) == 0 {
		o = &object{id: keep(&c.Identity)}
		sl.objects.add(sl.app.handles.Add(1), o)
	} else {
		o = sl.objects.created(sl, &c.Identity, c.Places)
	}
	for _, at := range c.Places {
		o.learn(at.Seat, at.Epoch, at.Object)
	}
	return o
}

// createHere makes objects on a physical slot, as its token does it.
func (a *application) createHere(c creation, token []bool) (made []*object, rv pkcs11.RV) {
	sl := c.session.slot
	rv, err := sl.group.Do(wire.Make, group.Primary, func(p *group.Place) (pkcs11.RV, error) {
		holder, err := c.session.holder(p)
		if err != nil {
			return 0, err
		}
		if rv, err := c.run(holder); err != nil || rv != pkcs11.CKR_OK {
			return rv, err
		}
		for i, handle := range c.handles() {
			o, rv, err := a.sessionObject(c.session, p, holder, handle)
			if err != nil || rv != pkcs11.CKR_OK {
				return rv, err
			}
			if c.of(token, i) {
				o.owner = nil
				o = sl.created(&group.Created{Identity: o.id, Places: []group.At{{Seat: p.Seat(), Epoch: p.Epoch(), Object: handle}}})
			} else {
				sl.objects.add(a.handles.Add(1), o)
			}
			made = append(made, o)
		}
		return pkcs11.CKR_OK, nil
	})
	return made, sl.gone(err, rv, pkcs11.CKR_DEVICE_ERROR)
}
