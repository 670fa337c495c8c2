// SPDX-License-Identifier: Apache-2.0

package host

import (
	"bytes"
	"context"
	"math"

	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/wire"
)

// Import makes an object from a blob, unless there are as many equal ones on the
// token as there should be: so it can be repeated after a lost answer, and creation
// happens exactly once (rule K4). With named one of them must have its name: the same
// key under another name is another object, and what was renamed meanwhile is not.
//
//	CKR_DATA_INVALID           not a blob, or of another version, or wrapped in no domain
//	CKR_DOMAIN_PARAMS_INVALID  from another domain, or the token is in none
//	CKR_WRAPPED_KEY_INVALID    the seal is broken, or another key came out
//	CKR_ACTION_PROHIBITED      the token copies by key export, which is not permitted
func (s *session) Import(_ context.Context, c *wire.Import) pkcs11.RV {
	b, ok := decodeBlob(bytes.Clone(c.Blob))
	if !ok {
		return pkcs11.CKR_DATA_INVALID
	}
	if rv := s.accept(b); rv != pkcs11.CKR_OK {
		return rv
	}
	if c.Token {
		there, rv := s.made(&b.identity, c.Copies, c.Named)
		if rv != pkcs11.CKR_OK {
			return rv
		}
		if there != nil {
			c.Identity = *there
			return pkcs11.CKR_OK
		}
	}
	k, rv := s.unpack(b, c.Token)
	if rv == pkcs11.CKR_OK && c.Token {
		s.indexed(&k)
	}
	c.Identity = k.Identity
	return rv
}

// made is the object on the token that is the one wanted, if there are so many equal
// ones: that of its name or, unless it must be that, another one.
func (s *session) made(wanted *wire.Identity, copies uint64, named bool) (*wire.Identity, pkcs11.RV) {
	enough := copies
	if named {
		enough = math.MaxUint64
	}
	there, rv := s.copies(wanted, enough, !named)
	if rv != pkcs11.CKR_OK || len(there) == 0 || uint64(len(there)) < copies {
		return nil, rv
	}
	for i := range there {
		if bytes.Equal(there[i].Label, wanted.Label) && bytes.Equal(there[i].ID, wanted.ID) {
			return &there[i], pkcs11.CKR_OK
		}
	}
	if named {
		return nil, pkcs11.CKR_OK
	}
	return &there[0], pkcs11.CKR_OK
}

// accept checks domain and seal.
func (s *session) accept(b *blob) pkcs11.RV {
	keys := s.domain()
	switch {
	case len(b.domain) == 0 && b.carry != carryPlain:
		return pkcs11.CKR_DATA_INVALID // wrapped by no domain's key: nothing says what may become of it
	case len(b.domain) == 0 && !secret(b.identity.Class):
		return pkcs11.CKR_OK // a public object of a group without domain
	case keys == nil || !bytes.Equal(keys.id, b.domain):
		return pkcs11.CKR_DOMAIN_PARAMS_INVALID
	case !keys.complete():
		return pkcs11.CKR_USER_NOT_LOGGED_IN
	}
	right, rv := s.sealed(keys, b.body(), b.seal)
	switch {
	case rv == pkcs11.CKR_OK && !right:
		return pkcs11.CKR_WRAPPED_KEY_INVALID
	case rv == pkcs11.CKR_OK && keys.exported && !s.exports && secret(b.identity.Class):
		return pkcs11.CKR_ACTION_PROHIBITED
	}
	return rv
}

// unpack makes the object, and sees to it that it is the one that was meant.
func (s *session) unpack(b *blob, token bool) (known, pkcs11.RV) {
	origin := known{Identity: b.identity}
	recorded := false
	if token && len(b.shown) > 0 {
		var rv pkcs11.RV
		if recorded, rv = s.writeOrigin(&origin, guardOf(s.domain().strip(b.attributes)), b.shown); rv != pkcs11.CKR_OK {
			return known{}, rv
		}
	}
	k, rv := s.build(b, token)
	if rv != pkcs11.CKR_OK && recorded {
		s.dropOrigin(&origin)
	}
	if rv == pkcs11.CKR_OK && !token {
		s.token.remember(k.Object, &making{held: b.held, shown: b.shown})
	}
	return k, rv
}

func (s *session) build(b *blob, token bool) (known, pkcs11.RV) {
	template := append(pkcs11.Template{pkcs11.Ulong(pkcs11.CKA_CLASS, b.identity.Class), pkcs11.Bool(pkcs11.CKA_TOKEN, token)},
		b.attributes...)
	if isKey(b.identity.Class) {
		template = append(template, pkcs11.Ulong(pkcs11.CKA_KEY_TYPE, b.identity.KeyType))
	}
	var held, late pkcs11.Template
	if token {
		held = b.held
	}
	object, rv := s.materialise(b, template, held, token)
	if len(held) > 0 && (rv == pkcs11.CKR_ATTRIBUTE_READ_ONLY || rv == pkcs11.CKR_TEMPLATE_INCONSISTENT) {
		// Some tokens take these only later.
		late = held
		object, rv = s.materialise(b, template, nil, token)
	}
	if rv != pkcs11.CKR_OK {
		return known{}, rv
	}
	k, rv := s.identify(object)
	switch {
	case rv == pkcs11.CKR_OK && !k.Same(&b.identity):
		rv = pkcs11.CKR_WRAPPED_KEY_INVALID
	case rv == pkcs11.CKR_OK && len(late) > 0:
		rv = s.raw.SetAttributeValue(bg, &wire.SetAttributeValue{Object: object, Template: late})
	}
	if rv != pkcs11.CKR_OK {
		s.destroy(object)
		return known{}, rv
	}
	return k, rv
}

// materialise has the token make the object, on the token or for the session.
func (s *session) materialise(b *blob, template, held pkcs11.Template, token bool) (uint64, pkcs11.RV) {
	make := s.maker(b)
	if token {
		return s.put(template, held, make)
	}
	return make(template)
}

// maker is how an object is made of a blob: it calls the module and nothing else.
func (s *session) maker(b *blob) func(pkcs11.Template) (uint64, pkcs11.RV) {
	if b.carry == carryPlain {
		return s.createRaw
	}
	keys := s.domain()
	by := keys.open
	if b.carry == carryStrict {
		by = keys.strict
	}
	return func(t pkcs11.Template) (uint64, pkcs11.RV) {
		t = keys.strip(t)
		c := wire.UnwrapKey{Mechanism: pkcs11.Mechanism{Type: b.mechanism, Null: true}, Unwrapping: by,
			Wrapped: wire.Data(b.wrapped), Template: t}
		rv := s.raw.UnwrapKey(bg, &c)
		if rv == pkcs11.CKR_TEMPLATE_INCOMPLETE && b.identity.Class == pkcs11.CKO_SECRET_KEY && b.identity.Size > 0 {
			// Some tokens want to know the length, others refuse to be told.
			c.Template = append(t, pkcs11.Ulong(pkcs11.CKA_VALUE_LEN, b.identity.Size/8))
			rv = s.raw.UnwrapKey(bg, &c)
		}
		return c.Key, rv
	}
}

// Publish puts a session object on the token, unless there are as many equal
// ones as there should be, and one of its name.
func (s *session) Publish(_ context.Context, c *wire.Publish) pkcs11.RV {
	k, rv := s.visible(c.Object)
	if rv != pkcs11.CKR_OK {
		return rv
	}
	there, rv := s.made(&k.Identity, c.Copies, true)
	if rv != pkcs11.CKR_OK {
		return rv
	}
	if there != nil {
		c.Identity = *there
		return pkcs11.CKR_OK
	}
	made, rv := s.publish(&k)
	if rv == pkcs11.CKR_OK {
		s.indexed(&made)
	}
	c.Identity = made.Identity
	return rv
}

func (s *session) publish(k *known) (known, pkcs11.RV) {
	m := s.token.making(k.Object)
	if m == nil {
		m = &making{}
	}
	recorded := false
	if isKey(k.Class) && len(m.shown) > 0 && len(k.Fingerprint) > 0 {
		var rv pkcs11.RV
		if recorded, rv = s.writeOrigin(k, s.guardNow(k.Object), m.shown); rv != pkcs11.CKR_OK {
			return known{}, rv
		}
	}
	c := wire.CopyObject{Source: k.Object, Template: append(pkcs11.Template{pkcs11.Bool(pkcs11.CKA_TOKEN, true)}, m.held...)}
	if secret(k.Class) && len(k.Fingerprint) == 0 && !m.shown.Bool(pkcs11.CKA_EXTRACTABLE, true) && k.attributes.Bool(pkcs11.CKA_EXTRACTABLE, false) {
		// It will not be copied, and no record can say that it is shown as it was asked for.
		c.Template = c.Template.With(pkcs11.Bool(pkcs11.CKA_EXTRACTABLE, false))
	}
	rv := s.write(func() pkcs11.RV { return s.raw.CopyObject(bg, &c) })
	var made known
	switch {
	case rv == pkcs11.CKR_OK:
		made, rv = s.identify(c.Object)
	case k.Flags&wire.Copyable != 0:
		// The token cannot copy, or not with these attributes.
		var b *blob
		if b, rv = s.pack(k); rv == pkcs11.CKR_OK {
			made, rv = s.build(b, true)
		}
	}
	if rv != pkcs11.CKR_OK && recorded {
		s.dropOrigin(k)
	}
	return made, rv
}
