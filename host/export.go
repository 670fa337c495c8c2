// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"

	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/wire"
)

// Attributes that a copy is made with, besides those of its type.
var (
	storageKinds = []pkcs11.AttributeType{pkcs11.CKA_PRIVATE, pkcs11.CKA_LABEL, pkcs11.CKA_COPYABLE, pkcs11.CKA_DESTROYABLE,
		pkcs11.CKA_MODIFIABLE}
	keyKinds = []pkcs11.AttributeType{pkcs11.CKA_ID, pkcs11.CKA_START_DATE, pkcs11.CKA_END_DATE, pkcs11.CKA_DERIVE,
		pkcs11.CKA_ALLOWED_MECHANISMS}
	publicKinds = []pkcs11.AttributeType{pkcs11.CKA_SUBJECT, pkcs11.CKA_ENCRYPT, pkcs11.CKA_VERIFY, pkcs11.CKA_VERIFY_RECOVER,
		pkcs11.CKA_WRAP, pkcs11.CKA_PUBLIC_KEY_INFO}
	guardedKinds = []pkcs11.AttributeType{pkcs11.CKA_SENSITIVE, pkcs11.CKA_EXTRACTABLE, pkcs11.CKA_WRAP_WITH_TRUSTED,
		pkcs11.CKA_DECRYPT, pkcs11.CKA_SIGN, pkcs11.CKA_UNWRAP}
	privateKinds = []pkcs11.AttributeType{pkcs11.CKA_SUBJECT, pkcs11.CKA_SIGN_RECOVER, pkcs11.CKA_ALWAYS_AUTHENTICATE,
		pkcs11.CKA_PUBLIC_KEY_INFO}
	secretKinds = []pkcs11.AttributeType{pkcs11.CKA_ENCRYPT, pkcs11.CKA_VERIFY, pkcs11.CKA_WRAP}

	certificateKinds = []pkcs11.AttributeType{pkcs11.CKA_CERTIFICATE_TYPE, pkcs11.CKA_CERTIFICATE_CATEGORY, pkcs11.CKA_START_DATE,
		pkcs11.CKA_END_DATE, pkcs11.CKA_SUBJECT, pkcs11.CKA_ID, pkcs11.CKA_ISSUER, pkcs11.CKA_SERIAL_NUMBER, pkcs11.CKA_VALUE,
		pkcs11.CKA_URL, pkcs11.CKA_HASH_OF_SUBJECT_PUBLIC_KEY, pkcs11.CKA_HASH_OF_ISSUER_PUBLIC_KEY,
		pkcs11.CKA_JAVA_MIDP_SECURITY_DOMAIN, pkcs11.CKA_NAME_HASH_ALGORITHM, pkcs11.CKA_OWNER, pkcs11.CKA_AC_ISSUER,
		pkcs11.CKA_ATTR_TYPES}
	dataKinds   = []pkcs11.AttributeType{pkcs11.CKA_APPLICATION, pkcs11.CKA_OBJECT_ID, pkcs11.CKA_VALUE}
	domainKinds = []pkcs11.AttributeType{pkcs11.CKA_PRIME, pkcs11.CKA_SUBPRIME, pkcs11.CKA_BASE, pkcs11.CKA_EC_PARAMS}

	listKinds = []pkcs11.AttributeType{pkcs11.CKA_WRAP_TEMPLATE, pkcs11.CKA_UNWRAP_TEMPLATE, pkcs11.CKA_DERIVE_TEMPLATE}

	// keepEmpty are byte strings for which empty and absent differ to
	// somebody, and which tokens take empty.
	keepEmpty = map[pkcs11.AttributeType]bool{pkcs11.CKA_ID: true, pkcs11.CKA_LABEL: true, pkcs11.CKA_SUBJECT: true,
		pkcs11.CKA_APPLICATION: true, pkcs11.CKA_VALUE: true}
)

// copiedKinds are the attributes that a copy is made with.
func copiedKinds(class, keyType uint64) (kinds []pkcs11.AttributeType) {
	kinds = append(kinds, storageKinds...)
	switch class {
	case pkcs11.CKO_PUBLIC_KEY:
		kinds = append(append(kinds, keyKinds...), publicKinds...)
		switch {
		case keyType == pkcs11.CKK_RSA:
			return append(kinds, pkcs11.CKA_MODULUS, pkcs11.CKA_PUBLIC_EXPONENT)
		case isCurve(keyType):
			return append(kinds, pkcs11.CKA_EC_PARAMS, pkcs11.CKA_EC_POINT)
		case keyType == pkcs11.CKK_DSA || keyType == pkcs11.CKK_X9_42_DH:
			return append(kinds, pkcs11.CKA_PRIME, pkcs11.CKA_SUBPRIME, pkcs11.CKA_BASE, pkcs11.CKA_VALUE)
		}
		return append(kinds, pkcs11.CKA_PRIME, pkcs11.CKA_BASE, pkcs11.CKA_VALUE)
	case pkcs11.CKO_PRIVATE_KEY:
		return append(append(append(kinds, keyKinds...), guardedKinds...), privateKinds...)
	case pkcs11.CKO_SECRET_KEY:
		return append(append(append(kinds, keyKinds...), guardedKinds...), secretKinds...)
	case pkcs11.CKO_CERTIFICATE:
		return append(kinds, certificateKinds...)
	case pkcs11.CKO_DATA:
		return append(kinds, dataKinds...)
	}
	return append(kinds, domainKinds...)
}

// Export makes a blob of an object.
func (s *session) Export(_ context.Context, c *wire.Export) pkcs11.RV {
	k, rv := s.visible(c.Object)
	if rv != pkcs11.CKR_OK {
		return rv
	}
	if k.Flags&wire.Copyable == 0 {
		return pkcs11.CKR_KEY_UNEXTRACTABLE
	}
	b, rv := s.pack(&k)
	if rv == pkcs11.CKR_OK {
		c.Blob = b.encode()
	}
	return rv
}

func (s *session) pack(k *known) (*blob, pkcs11.RV) {
	b, rv := s.unsealed(k)
	if rv != pkcs11.CKR_OK {
		return nil, rv
	}
	if rv := s.carry(b, k); rv != pkcs11.CKR_OK {
		return nil, rv
	}
	keys := s.domain()
	if !keys.complete() {
		return b, pkcs11.CKR_OK
	}
	b.domain = keys.id
	b.seal, rv = s.seal(keys, b.body())
	return b, rv
}

// unsealed reads all that makes the object, but for the key material.
func (s *session) unsealed(k *known) (*blob, pkcs11.RV) {
	own, rv := s.read(k.Object, copiedKinds(k.Class, k.KeyType)...)
	if rv != pkcs11.CKR_OK {
		return nil, rv
	}
	b := &blob{identity: k.Identity, shown: s.shown(k)}
	b.identity.Object = 0
	for _, a := range own {
		switch {
		case isHeld(a.Type):
			if len(a.Value) == 1 && a.Value[0] == 0 {
				b.held = append(b.held, a)
			}
		case len(a.Value) > 0 || keepEmpty[a.Type]:
			b.attributes = append(b.attributes, a)
		}
	}
	if m := s.token.making(k.Object); m != nil {
		b.held, b.shown = m.held, m.shown
	} else if isKey(k.Class) && b.shown == nil {
		// Made without us. From now on it reads as it does here.
		if b.shown, rv = s.readShown(k.Object); rv != pkcs11.CKR_OK {
			return nil, rv
		}
	}
	for _, kind := range []pkcs11.AttributeType{pkcs11.CKA_START_DATE, pkcs11.CKA_END_DATE} {
		if a := b.shown.Find(kind); a != nil { // the token may not be able to read it back
			b.attributes = b.attributes.With(*a)
		}
	}
	if keys := s.domain(); keys.byExport() && secret(k.Class) &&
		(!b.shown.Bool(pkcs11.CKA_EXTRACTABLE, false) || b.shown.Bool(pkcs11.CKA_WRAP_WITH_TRUSTED, false)) {
		// A token that can is to guard it.
		b.attributes = b.attributes.With(pkcs11.Bool(pkcs11.CKA_SENSITIVE, true), pkcs11.Bool(pkcs11.CKA_WRAP_WITH_TRUSTED, true))
	}
	if isKey(k.Class) {
		lists, rv := s.readLists(k.Object)
		if rv != pkcs11.CKR_OK {
			return nil, rv
		}
		b.attributes = append(b.attributes, lists...)
	}
	return b, pkcs11.CKR_OK
}

// readShown reads the adjusted attributes of an object that has no record.
func (s *session) readShown(object uint64) (shown pkcs11.Template, rv pkcs11.RV) {
	own, rv := s.read(object, adjustedKinds...)
	for _, a := range own {
		if len(a.Value) > 0 && !isHeld(a.Type) {
			shown = append(shown, a)
		}
	}
	return shown, rv
}

// carry wraps the key, if there is one.
func (s *session) carry(b *blob, k *known) (rv pkcs11.RV) {
	if !secret(k.Class) {
		return pkcs11.CKR_OK
	}
	keys := s.domain()
	if !keys.complete() {
		return pkcs11.CKR_KEY_UNEXTRACTABLE
	}
	by := keys.open
	b.carry = carryOpen
	if b.attributes.Bool(pkcs11.CKA_WRAP_WITH_TRUSTED, false) {
		by, b.carry = keys.strict, carryStrict
	}
	b.wrapped, b.mechanism, rv = s.wrap(by, k.Object)
	return rv
}

// readLists reads the attributes that are templates. Types and lengths come
// first: SoftHSM wants to be told them when it is asked for the values.
func (s *session) readLists(object uint64) (lists pkcs11.Template, rv pkcs11.RV) {
	for _, kind := range listKinds {
		count := wire.GetAttributeValue{Object: object, Query: wire.Query{{Type: kind}}}
		if rv := s.raw.GetAttributeValue(bg, &count); rv != pkcs11.CKR_OK || len(count.Values) != 1 {
			continue // the key has none of this kind
		}
		n := count.Values[0].Length
		if n == 0 || n > wire.MaxAttributes {
			continue
		}
		sizes := wire.GetAttributeValue{Object: object,
			Query: wire.Query{{Type: kind, Form: wire.AskArray, Array: make(wire.Query, n)}}}
		if rv := s.raw.GetAttributeValue(bg, &sizes); rv != pkcs11.CKR_OK {
			return nil, rv
		}
		ask := wire.Query{}
		for _, v := range sizes.Values[0].Array {
			ask = append(ask, room(v.Type, v.Length))
		}
		full := wire.GetAttributeValue{Object: object, Query: wire.Query{{Type: kind, Form: wire.AskArray, Array: ask}}}
		if rv := s.raw.GetAttributeValue(bg, &full); rv != pkcs11.CKR_OK {
			return nil, rv
		}
		list := pkcs11.Attribute{Type: kind, IsList: true}
		for _, v := range full.Values[0].Array {
			list.Array = append(list.Array, pkcs11.Bytes(v.Type, v.Data))
		}
		lists = append(lists, list)
	}
	return lists, pkcs11.CKR_OK
}
