// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"encoding/binary"

	"oneslot.dev/oneslot/group"
	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/wire"
)

// CopyObject is C_CopyObject. The copy is an object of its own, on all members.
func (a *application) CopyObject(_ context.Context, c *wire.CopyObject) pkcs11.RV {
	_, source, rv := a.object(c.Session, c.Source)
	if rv != pkcs11.CKR_OK {
		return rv
	}
	if c.Template.Find(pkcs11.CKA_TOKEN) == nil { // then it is as the source is
		c.Template = c.Template.With(pkcs11.Bool(pkcs11.CKA_TOKEN, source.owner == nil))
	}
	return a.createOne(creation{templates: []*pkcs11.Template{&c.Template}, call: c, uses: aim{{source, &c.Source}}}, c.Session, &c.Object)
}

// UnwrapKey is C_UnwrapKey.
func (a *application) UnwrapKey(_ context.Context, c *wire.UnwrapKey) pkcs11.RV {
	s, with, rv := a.object(c.Session, c.Unwrapping)
	switch {
	case rv == pkcs11.CKR_OBJECT_HANDLE_INVALID:
		return pkcs11.CKR_UNWRAPPING_KEY_HANDLE_INVALID
	case rv != pkcs11.CKR_OK:
		return rv
	case c.Mechanism.Absent:
		return pkcs11.CKR_ARGUMENTS_BAD
	}
	return a.createOne(creation{templates: []*pkcs11.Template{&c.Template}, call: c,
		uses: aim{{with, &c.Unwrapping}}, fit: s.slot.fit(&c.Mechanism, with), mechanism: &c.Mechanism, function: pkcs11.CKF_UNWRAP}, c.Session, &c.Key)
}

// DeriveKey is C_DeriveKey. A mechanism may name a second key in its parameter.
func (a *application) DeriveKey(_ context.Context, c *wire.DeriveKey) pkcs11.RV {
	s, base, rv := a.object(c.Session, c.Base)
	switch {
	case rv == pkcs11.CKR_OBJECT_HANDLE_INVALID:
		return pkcs11.CKR_KEY_HANDLE_INVALID
	case rv != pkcs11.CKR_OK:
		return rv
	case c.Mechanism.Absent:
		return pkcs11.CKR_ARGUMENTS_BAD
	}
	keys := aim{{base, &c.Base}}
	var second uint64
	if c.Mechanism.Type.Form() == pkcs11.FormKey {
		if len(c.Mechanism.Parameter) != 8 {
			return pkcs11.CKR_MECHANISM_PARAM_INVALID
		}
		o := s.slot.object(binary.LittleEndian.Uint64(c.Mechanism.Parameter))
		if o == nil {
			return pkcs11.CKR_KEY_HANDLE_INVALID
		}
		keys = append(keys, target{o, &second})
	}
	made, rv := a.createAll(creation{templates: []*pkcs11.Template{&c.Template}, call: c, handles: c.Handles,
		uses: keys, fit: s.slot.fit(&c.Mechanism, base), aimed: func() {
			if second != 0 {
				c.Mechanism.Parameter = binary.LittleEndian.AppendUint64(nil, second)
			}
		}, mechanism: &c.Mechanism, function: pkcs11.CKF_DERIVE}, c.Session)
	if rv == pkcs11.CKR_OK {
		derived(c, made)
	}
	return rv
}

// derived puts the virtual handles where the members' own were.
func derived(c *wire.DeriveKey, made []*object) {
	switch {
	case !c.Mechanism.Type.Form().Instead():
		c.Key = made[0].handle
	case len(made) > 0:
		material, _ := wire.DecodeKeyMaterial(c.Returned)
		for i, key := range material.Keys {
			if key != 0 {
				material.Keys[i], made = made[0].handle, made[1:]
			}
		}
		c.Returned = material.Encode()
	}
}

// aim is the objects that a call works with, and where in the call their
// handles stand.
type aim []target

type target struct {
	object *object
	handle *uint64
}

// at sets the handles to those of a member, which must have all the objects:
// otherwise the call goes to one that has (field-I3).
func (t aim) at(p *group.Place) (pkcs11.RV, error) {
	for _, o := range t {
		handle, rv, err := o.object.on(p)
		if err != nil || rv != pkcs11.CKR_OK {
			return rv, err
		}
		*o.handle = handle
	}
	return pkcs11.CKR_OK, nil
}

// with is at on the members that take the key with the mechanism.
func (t aim) with(f *fit) func(*group.Place) (pkcs11.RV, error) {
	return func(p *group.Place) (pkcs11.RV, error) {
		if err := f.on(p); err != nil {
			return 0, err
		}
		return t.at(p)
	}
}

// stale forgets the handles of token objects on a member that answered that one is
// invalid, which is no proof that the object is gone (field-B5). It is false if there is
// no other handle to look for.
func (t aim) stale(p *group.Place, rv pkcs11.RV) (again bool) {
	switch rv {
	case pkcs11.CKR_OBJECT_HANDLE_INVALID, pkcs11.CKR_KEY_HANDLE_INVALID,
		pkcs11.CKR_WRAPPING_KEY_HANDLE_INVALID, pkcs11.CKR_UNWRAPPING_KEY_HANDLE_INVALID:
	default:
		return false
	}
	for _, o := range t {
		if o.object.owner == nil && len(o.object.identity().Fingerprint) > 0 {
			o.object.forget(p)
			again = true
		}
	}
	return again
}

// WrapKey is C_WrapKey.
func (a *application) WrapKey(_ context.Context, c *wire.WrapKey) pkcs11.RV {
	s, with, rv := a.object(c.Session, c.Wrapping)
	switch {
	case rv == pkcs11.CKR_OBJECT_HANDLE_INVALID:
		return pkcs11.CKR_WRAPPING_KEY_HANDLE_INVALID
	case rv != pkcs11.CKR_OK:
		return rv
	case c.Mechanism.Absent:
		return pkcs11.CKR_ARGUMENTS_BAD
	}
	key := s.slot.object(c.Key)
	if key == nil {
		return pkcs11.CKR_KEY_HANDLE_INVALID
	}
	if rv := s.slot.refuses(&c.Mechanism, pkcs11.CKF_WRAP); rv != pkcs11.CKR_OK {
		return rv
	}
	fit := s.slot.fit(&c.Mechanism, with)
	call := wire.WrapKey{Mechanism: c.Mechanism, WrappedRoom: c.WrappedRoom}
	uses := aim{{with, &call.Wrapping}, {key, &call.Key}}
	rv, err := s.slot.group.Do(wire.Use, group.Primary, func(p *group.Place) (pkcs11.RV, error) {
		for again := false; ; again = true {
			if rv, err := uses.with(fit)(p); err != nil || rv != pkcs11.CKR_OK {
				return rv, err
			}
			_, err := p.Do(&call)
			if err == nil && !again && uses.stale(p, call.RV) {
				continue
			}
			c.Wrapped, c.Returned = call.Wrapped, call.Returned
			return call.RV, err
		}
	})
	return s.slot.gone(err, rv, fit.or(pkcs11.CKR_KEY_HANDLE_INVALID))
}

// GetObjectSize is C_GetObjectSize, as the primary has the object.
func (a *application) GetObjectSize(_ context.Context, c *wire.GetObjectSize) pkcs11.RV {
	s, o, rv := a.object(c.Session, c.Object)
	if rv != pkcs11.CKR_OK {
		return rv
	}
	rv, err := s.slot.group.Do(wire.Ask, group.Primary, func(p *group.Place) (pkcs11.RV, error) {
		return o.onTried(p, func(handle uint64) (pkcs11.RV, error) {
			call := wire.GetObjectSize{Object: handle}
			_, err := p.Do(&call)
			c.Size = call.Size
			return call.RV, err
		})
	})
	return s.slot.gone(err, rv, pkcs11.CKR_OBJECT_HANDLE_INVALID)
}

// SeedRandom is C_SeedRandom. One member takes the seed; each has a generator of
// its own.
func (a *application) SeedRandom(_ context.Context, c *wire.SeedRandom) pkcs11.RV {
	s, rv := a.session(c.Session)
	if rv != pkcs11.CKR_OK {
		return rv
	}
	rv, _ = s.slot.group.Do(wire.Use, group.Primary, func(p *group.Place) (pkcs11.RV, error) {
		_, err := p.Do(c)
		return c.RV, err
	})
	return rv
}
