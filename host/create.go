// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"slices"

	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/wire"
)

// making is what is remembered of an object that was made in the group view as
// a session object, to be copied and published.
type making struct {
	held  pkcs11.Template // would forbid the copy, applied when it is made
	shown pkcs11.Template // what the application sees of the adjusted attributes
}

// heldKinds, when false, keep an object from being completed or copied. They
// are applied when it is published. CKA_MODIFIABLE comes last: SoftHSM takes no
// attribute of a template after it.
var heldKinds = []pkcs11.AttributeType{pkcs11.CKA_COPYABLE, pkcs11.CKA_DESTROYABLE, pkcs11.CKA_MODIFIABLE}

// A wish is what an application asked of a new object.
type wish struct {
	native pkcs11.Template // what the token is asked for
	making
	secret bool // asked to be non-extractable
	base   *known
}

// adjust prepares a template for an object that is to be copied. A key that the
// application wants to be non-extractable is made extractable under trusted
// keys only, of which the strict domain key is the only one (rule K6).
func (s *session) adjust(t pkcs11.Template, class uint64) *wish {
	w := &wish{native: t}
	keys := s.domain()
	for _, kind := range heldKinds {
		if a := t.Find(kind); a != nil && !t.Bool(kind, true) {
			w.held = append(w.held, *a)
		}
	}
	w.native = w.native.Without(heldKinds...)
	for _, kind := range []pkcs11.AttributeType{pkcs11.CKA_START_DATE, pkcs11.CKA_END_DATE} {
		if a := t.Find(kind); a != nil && len(a.Value) > 0 {
			w.shown = append(w.shown, *a)
		}
	}
	if class != pkcs11.CKO_PRIVATE_KEY && class != pkcs11.CKO_SECRET_KEY {
		return w
	}
	// The default of CKA_EXTRACTABLE is the token's choice (PKCS#11 2.40,
	// table 29). Ours is the careful one.
	w.secret = !t.Bool(pkcs11.CKA_EXTRACTABLE, false)
	if keys.byExport() && !s.exports || class == pkcs11.CKO_SECRET_KEY && s.losesLength(t) {
		// It is not to be copied, so it is made as asked for.
		w.native = keys.strip(w.native.With(pkcs11.Bool(pkcs11.CKA_EXTRACTABLE, !w.secret)))
		if w.secret {
			w.native = w.native.With(pkcs11.Bool(pkcs11.CKA_SENSITIVE, t.Bool(pkcs11.CKA_SENSITIVE, true)))
		}
		w.secret = false
		return w
	}
	if keys.byExport() {
		w.shown = append(w.shown, pkcs11.Bool(pkcs11.CKA_WRAP_WITH_TRUSTED, t.Bool(pkcs11.CKA_WRAP_WITH_TRUSTED, false)))
	}
	if w.secret {
		w.shown = append(w.shown,
			pkcs11.Bool(pkcs11.CKA_EXTRACTABLE, false), pkcs11.Bool(pkcs11.CKA_SENSITIVE, t.Bool(pkcs11.CKA_SENSITIVE, true)),
			pkcs11.Bool(pkcs11.CKA_WRAP_WITH_TRUSTED, t.Bool(pkcs11.CKA_WRAP_WITH_TRUSTED, false)))
		w.native = w.native.With(pkcs11.Bool(pkcs11.CKA_EXTRACTABLE, true), pkcs11.Bool(pkcs11.CKA_SENSITIVE, true),
			pkcs11.Bool(pkcs11.CKA_WRAP_WITH_TRUSTED, true))
	}
	if keys.byExport() {
		w.native = w.native.Without(pkcs11.CKA_WRAP_WITH_TRUSTED) // no key there is trusted
	} else if w.native.Bool(pkcs11.CKA_WRAP_WITH_TRUSTED, false) {
		w.native = w.native.With(pkcs11.Bool(pkcs11.CKA_SENSITIVE, true)) // or the strict domain key could not unwrap it
	}
	return w
}

// adopt completes what is shown of a new object, and remembers it.
func (s *session) adopt(object uint64, w *wish) pkcs11.RV {
	own, rv := s.read(object, adjustedKinds...)
	if rv != pkcs11.CKR_OK {
		return rv
	}
	shown := pkcs11.Template{}
	for _, a := range own {
		if len(a.Value) > 0 && !isHeld(a.Type) {
			shown = append(shown, a)
		}
	}
	w.shown = shown.With(w.shown...)
	if w.secret {
		never, always := own.Bool(pkcs11.CKA_LOCAL, false), own.Bool(pkcs11.CKA_LOCAL, false)
		if w.base != nil { // PKCS#11 2.40, C_DeriveKey and C_CopyObject: no better than what it comes from
			from := s.shown(w.base)
			never, always = from.Bool(pkcs11.CKA_NEVER_EXTRACTABLE, false), from.Bool(pkcs11.CKA_ALWAYS_SENSITIVE, false)
		}
		sensitive := w.shown.Bool(pkcs11.CKA_SENSITIVE, true)
		w.shown = w.shown.With(pkcs11.Bool(pkcs11.CKA_NEVER_EXTRACTABLE, never), pkcs11.Bool(pkcs11.CKA_ALWAYS_SENSITIVE, always && sensitive))
	}
	if !own.Bool(pkcs11.CKA_TOKEN, false) {
		s.token.remember(object, &w.making)
	}
	return pkcs11.CKR_OK
}

func isHeld(t pkcs11.AttributeType) bool {
	return t == pkcs11.CKA_MODIFIABLE || t == pkcs11.CKA_COPYABLE || t == pkcs11.CKA_DESTROYABLE
}

// copying says whether new objects are made so that they can be copied. A token
// object is made as it is asked for: the group does not ask for such.
func (s *session) copying(t pkcs11.Template) bool {
	return s.group && !t.Bool(pkcs11.CKA_TOKEN, false) && s.domain().complete()
}

// finish adopts what was made, or removes it.
func (s *session) finish(rv pkcs11.RV, object uint64, w *wish) pkcs11.RV {
	if rv != pkcs11.CKR_OK {
		return rv
	}
	if rv = s.adopt(object, w); rv != pkcs11.CKR_OK {
		s.destroy(object)
	}
	return rv
}

// CreateObject makes an object from its values.
func (s *session) CreateObject(ctx context.Context, c *wire.CreateObject) pkcs11.RV {
	if reserved(c.Template) {
		return pkcs11.CKR_ATTRIBUTE_VALUE_INVALID
	}
	if !s.copying(c.Template) {
		c.Template = s.unsaid(c.Template)
		return s.raw.CreateObject(ctx, c)
	}
	class, _ := c.Template.Ulong(pkcs11.CKA_CLASS)
	w := s.adjust(c.Template, class)
	if class == pkcs11.CKO_PRIVATE_KEY {
		if lacksParts(c.Template) {
			return pkcs11.CKR_TEMPLATE_INCOMPLETE
		}
		w.native = withPublicInfo(w.native)
	}
	made := wire.CreateObject{Template: w.native}
	rv := s.finish(s.raw.CreateObject(ctx, &made), made.Object, w)
	c.Object = made.Object
	return rv
}

// partKinds are what a private key consists of.
var partKinds = []pkcs11.AttributeType{pkcs11.CKA_VALUE, pkcs11.CKA_EC_PARAMS, pkcs11.CKA_PRIME, pkcs11.CKA_SUBPRIME, pkcs11.CKA_BASE,
	pkcs11.CKA_MODULUS, pkcs11.CKA_PUBLIC_EXPONENT, pkcs11.CKA_PRIVATE_EXPONENT, pkcs11.CKA_PRIME_1, pkcs11.CKA_PRIME_2,
	pkcs11.CKA_EXPONENT_1, pkcs11.CKA_EXPONENT_2, pkcs11.CKA_COEFFICIENT}

// lacksParts says whether a part of a private key is given and empty. SoftHSM 2.6.1
// takes such a key, and crashes when it is to wrap it.
func lacksParts(t pkcs11.Template) bool {
	return slices.ContainsFunc(t, func(a pkcs11.Attribute) bool { return len(a.Value) == 0 && slices.Contains(partKinds, a.Type) })
}

// generated is the class of what C_GenerateKey makes with a mechanism.
func generated(m pkcs11.MechanismType) uint64 {
	switch m {
	case pkcs11.CKM_DSA_PARAMETER_GEN, pkcs11.CKM_DH_PKCS_PARAMETER_GEN:
		return pkcs11.CKO_DOMAIN_PARAMETERS
	}
	return pkcs11.CKO_SECRET_KEY
}

// GenerateKey makes a secret key, or domain parameters.
func (s *session) GenerateKey(ctx context.Context, c *wire.GenerateKey) pkcs11.RV {
	if reserved(c.Template) {
		return pkcs11.CKR_ATTRIBUTE_VALUE_INVALID
	}
	if !s.copying(c.Template) {
		return s.raw.GenerateKey(ctx, c)
	}
	w := s.adjust(c.Template, generated(c.Mechanism.Type))
	made := wire.GenerateKey{Mechanism: c.Mechanism, Template: w.native}
	rv := s.finish(s.raw.GenerateKey(ctx, &made), made.Key, w)
	c.Key, c.Returned = made.Key, made.Returned
	return rv
}

// GenerateKeyPair makes a pair.
func (s *session) GenerateKeyPair(ctx context.Context, c *wire.GenerateKeyPair) pkcs11.RV {
	if reserved(c.Public) || reserved(c.Private) {
		return pkcs11.CKR_ATTRIBUTE_VALUE_INVALID
	}
	if !s.copying(c.Private) {
		c.Private = s.unsaid(c.Private)
		return s.raw.GenerateKeyPair(ctx, c)
	}
	public, private := s.adjust(c.Public, pkcs11.CKO_PUBLIC_KEY), s.adjust(c.Private, pkcs11.CKO_PRIVATE_KEY)
	made := wire.GenerateKeyPair{Mechanism: c.Mechanism, Public: public.native,
		Private: private.native.Without(pkcs11.CKA_PUBLIC_KEY_INFO)}
	if rv := s.raw.GenerateKeyPair(ctx, &made); rv != pkcs11.CKR_OK {
		return rv
	}
	s.tellPoint(made.PublicKey, made.PrivateKey)
	rv := s.adopt(made.PublicKey, public)
	if rv == pkcs11.CKR_OK {
		rv = s.adopt(made.PrivateKey, private)
	}
	if rv != pkcs11.CKR_OK {
		s.destroy(made.PublicKey)
		s.destroy(made.PrivateKey)
		return rv
	}
	c.PublicKey, c.PrivateKey = made.PublicKey, made.PrivateKey
	return pkcs11.CKR_OK
}

// UnwrapKey makes a key from its wrapped form.
func (s *session) UnwrapKey(ctx context.Context, c *wire.UnwrapKey) pkcs11.RV {
	if s.token.isDomainKey(c.Unwrapping) {
		return pkcs11.CKR_UNWRAPPING_KEY_HANDLE_INVALID
	}
	if reserved(c.Template) {
		return pkcs11.CKR_ATTRIBUTE_VALUE_INVALID
	}
	if !s.copying(c.Template) {
		c.Template = s.unsaid(c.Template)
		return s.raw.UnwrapKey(ctx, c)
	}
	class, _ := c.Template.Ulong(pkcs11.CKA_CLASS)
	w := s.adjust(c.Template.Without(pkcs11.CKA_PUBLIC_KEY_INFO), class)
	made := *c
	made.Template = w.native
	rv := s.finish(s.raw.UnwrapKey(ctx, &made), made.Key, w)
	c.Key = made.Key
	return rv
}

// DeriveKey makes a key from another.
func (s *session) DeriveKey(ctx context.Context, c *wire.DeriveKey) pkcs11.RV {
	if s.token.isDomainKey(c.Base) || s.keyParameter(c.Mechanism) {
		return pkcs11.CKR_KEY_HANDLE_INVALID
	}
	if reserved(c.Template) {
		return pkcs11.CKR_ATTRIBUTE_VALUE_INVALID
	}
	if !s.copying(c.Template) {
		return s.raw.DeriveKey(ctx, c)
	}
	base, rv := s.visible(c.Base)
	if rv != pkcs11.CKR_OK {
		return pkcs11.CKR_KEY_HANDLE_INVALID
	}
	w := s.adjust(c.Template, pkcs11.CKO_SECRET_KEY)
	w.base = &base
	made := *c
	made.Template = w.native
	if rv = s.raw.DeriveKey(ctx, &made); rv != pkcs11.CKR_OK {
		return rv
	}
	keys := made.Handles()
	for _, key := range keys {
		own := *w
		if rv = s.adopt(key, &own); rv != pkcs11.CKR_OK {
			for _, key := range keys {
				s.destroy(key)
			}
			return rv
		}
	}
	c.Key, c.Returned = made.Key, made.Returned
	return pkcs11.CKR_OK
}

// WrapKey wraps a key for the application, if it looks extractable to it.
func (s *session) WrapKey(ctx context.Context, c *wire.WrapKey) pkcs11.RV {
	switch {
	case s.token.isDomainKey(c.Wrapping):
		return pkcs11.CKR_WRAPPING_KEY_HANDLE_INVALID
	case s.token.isDomainKey(c.Key):
		return pkcs11.CKR_KEY_HANDLE_INVALID
	case s.guards() && s.domain() != nil:
		k, rv := s.identify(c.Key)
		exported := s.domain().byExport()
		switch {
		case rv != pkcs11.CKR_OK && exported:
			return pkcs11.CKR_KEY_HANDLE_INVALID // nobody else guards it
		case rv == pkcs11.CKR_OK && !s.shown(&k).Bool(pkcs11.CKA_EXTRACTABLE, true):
			return pkcs11.CKR_KEY_UNEXTRACTABLE
		case exported && s.shown(&k).Bool(pkcs11.CKA_WRAP_WITH_TRUSTED, false):
			return pkcs11.CKR_KEY_NOT_WRAPPABLE
		}
	}
	return s.raw.WrapKey(ctx, c)
}

// DestroyObject destroys an object, and what we remember or recorded of it.
func (s *session) DestroyObject(_ context.Context, c *wire.DestroyObject) pkcs11.RV {
	if s.token.isHidden(c.Object) {
		return pkcs11.CKR_OBJECT_HANDLE_INVALID
	}
	var k known
	m := s.token.making(c.Object)
	if m != nil && !m.held.Bool(pkcs11.CKA_DESTROYABLE, true) {
		return pkcs11.CKR_ACTION_PROHIBITED
	}
	recorded := s.domain() != nil && m == nil
	if recorded {
		var rv pkcs11.RV
		if k, rv = s.visible(c.Object); rv != pkcs11.CKR_OK {
			return rv
		}
	}
	if rv := s.destroy(c.Object); rv != pkcs11.CKR_OK {
		return rv
	}
	if recorded && k.Flags&wire.OnToken != 0 {
		s.dropOrigin(&k)
	}
	return pkcs11.CKR_OK
}
