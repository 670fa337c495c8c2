// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"

	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/wire"
)

// CopyObject copies an object within the token.
func (s *session) CopyObject(ctx context.Context, c *wire.CopyObject) pkcs11.RV {
	switch {
	case s.token.isHidden(c.Source):
		return pkcs11.CKR_OBJECT_HANDLE_INVALID
	case reserved(c.Template):
		return pkcs11.CKR_ATTRIBUTE_VALUE_INVALID
	case s.guards() && c.Template.Find(pkcs11.CKA_PUBLIC_KEY_INFO) != nil:
		return pkcs11.CKR_ATTRIBUTE_READ_ONLY // a key is known by it
	case !s.guards() || !s.domain().complete():
		return s.raw.CopyObject(ctx, c)
	}
	base, rv := s.visible(c.Source)
	if rv != pkcs11.CKR_OK {
		return rv
	}
	shown := s.shown(&base)
	if !shown.Bool(pkcs11.CKA_COPYABLE, true) {
		return pkcs11.CKR_ACTION_PROHIBITED
	}
	w := &wish{native: c.Template, base: &base}
	if shown != nil {
		native, changed, rv := change(c.Template.Without(heldKinds...), shown)
		if rv != pkcs11.CKR_OK {
			return rv
		}
		if len(base.Fingerprint) == 0 { // it goes nowhere else, so nothing has to be guarded
			native = c.Template.Without(heldKinds...)
		}
		w.native, w.shown = native, changed.Without(heldKinds...)
		w.held = s.heldOfCopy(c)
	}
	if w.native = s.domain().strip(w.native); w.native == nil && c.Template != nil {
		w.native = pkcs11.Template{} // all of it is held back; NULL would be an error
	}
	made := wire.CopyObject{Source: c.Source, Template: w.native}
	rv = s.raw.CopyObject(ctx, &made)
	if rv == pkcs11.CKR_ATTRIBUTE_READ_ONLY && shown != nil && w.native.Bool(pkcs11.CKA_WRAP_WITH_TRUSTED, false) && !c.Template.Bool(pkcs11.CKA_WRAP_WITH_TRUSTED, false) {
		c.Object, rv = s.closedCopy(&base, w)
		return rv
	}
	rv = s.finish(rv, made.Object, w)
	if rv == pkcs11.CKR_OK && s.domain().byExport() {
		rv = s.recordCopy(made.Object, w.shown)
	}
	c.Object = made.Object
	return rv
}

// closedCopy makes a non-extractable copy of an extractable key, a session object, where
// the token sets CKA_WRAP_WITH_TRUSTED at creation only, as SoftHSM 2.6.1 does: it goes
// through the strict domain key.
func (s *session) closedCopy(base *known, w *wish) (uint64, pkcs11.RV) {
	if base.Flags&wire.Copyable == 0 || w.native.Bool(pkcs11.CKA_TOKEN, base.Flags&wire.OnToken != 0) {
		return 0, pkcs11.CKR_ATTRIBUTE_READ_ONLY
	}
	b, rv := s.unsealed(base)
	if rv != pkcs11.CKR_OK {
		return 0, rv
	}
	b.shown, b.held = w.shown, w.held
	for _, a := range w.native.Without(pkcs11.CKA_TOKEN) {
		b.attributes = b.attributes.With(a)
	}
	if rv = s.carry(b, base); rv != pkcs11.CKR_OK {
		return 0, rv
	}
	made, rv := s.build(b, false)
	if rv == pkcs11.CKR_OK {
		s.token.remember(made.Object, &w.making)
	}
	return made.Object, rv
}

// heldOfCopy is what is held back from a copy: what the template says, or else what is
// held back from the original.
func (s *session) heldOfCopy(c *wire.CopyObject) (held pkcs11.Template) {
	from := &making{}
	if m := s.token.making(c.Source); m != nil {
		from = m
	}
	for _, kind := range heldKinds {
		if !c.Template.Bool(kind, from.held.Bool(kind, true)) {
			held = append(held, pkcs11.Bool(kind, false))
		}
	}
	return held
}
