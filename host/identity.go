// SPDX-License-Identifier: Apache-2.0

package host

import (
	"crypto/sha256"
	"encoding/binary"
	"hash"

	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/wire"
)

// A fingerprint is made of these attributes, and an identity besides. They are
// read with one call: a search returns many objects.
var (
	commonKinds = []pkcs11.AttributeType{
		pkcs11.CKA_CLASS, pkcs11.CKA_TOKEN, pkcs11.CKA_PRIVATE, pkcs11.CKA_LABEL, pkcs11.CKA_ID, pkcs11.CKA_KEY_TYPE,
		pkcs11.CKA_CERTIFICATE_TYPE, pkcs11.CKA_APPLICATION, pkcs11.CKA_ALWAYS_AUTHENTICATE, pkcs11.CKA_EXTRACTABLE,
		pkcs11.CKA_UNIQUE_ID,
	}
)

// identityKinds are the attributes to read of an object of a class and type.
func identityKinds(class, keyType uint64) []pkcs11.AttributeType {
	switch class {
	case pkcs11.CKO_PUBLIC_KEY, pkcs11.CKO_PRIVATE_KEY:
		private := class == pkcs11.CKO_PRIVATE_KEY
		var kinds []pkcs11.AttributeType
		switch keyType {
		case pkcs11.CKK_RSA:
			return append(kinds, pkcs11.CKA_MODULUS)
		case pkcs11.CKK_EC, pkcs11.CKK_EC_EDWARDS, pkcs11.CKK_EC_MONTGOMERY:
			kinds = append(kinds, pkcs11.CKA_EC_PARAMS, pkcs11.CKA_EC_POINT)
			if private {
				kinds = append(kinds, pkcs11.CKA_PUBLIC_KEY_INFO)
			}
			return kinds
		case pkcs11.CKK_DSA:
			kinds = append(kinds, pkcs11.CKA_PRIME, pkcs11.CKA_SUBPRIME, pkcs11.CKA_BASE)
		case pkcs11.CKK_DH, pkcs11.CKK_X9_42_DH:
			kinds = append(kinds, pkcs11.CKA_PRIME, pkcs11.CKA_BASE)
		}
		if private {
			return append(kinds, pkcs11.CKA_PUBLIC_KEY_INFO)
		}
		return append(kinds, pkcs11.CKA_VALUE)
	case pkcs11.CKO_SECRET_KEY:
		return []pkcs11.AttributeType{pkcs11.CKA_VALUE_LEN}
	case pkcs11.CKO_CERTIFICATE:
		return []pkcs11.AttributeType{pkcs11.CKA_VALUE, pkcs11.CKA_URL, pkcs11.CKA_HASH_OF_SUBJECT_PUBLIC_KEY,
			pkcs11.CKA_SUBJECT, pkcs11.CKA_ISSUER, pkcs11.CKA_SERIAL_NUMBER}
	case pkcs11.CKO_DATA:
		return []pkcs11.AttributeType{pkcs11.CKA_OBJECT_ID, pkcs11.CKA_VALUE}
	}
	return nil
}

// A digest hashes what makes an object the one it is, each part with its length
// before it, so that no two lists of parts are hashed alike.
type digest struct{ hash.Hash }

// fingerprintVersion changes when fingerprints do. Journals and records that
// name fingerprints of another version are then of no use.
const fingerprintVersion = "oneslot fingerprint 1"

func newDigest(class, keyType uint64) digest {
	d := digest{sha256.New()}
	d.part([]byte(fingerprintVersion))
	d.number(class)
	d.number(keyType)
	return d
}

func (d digest) number(n uint64) {
	d.Write(binary.LittleEndian.AppendUint64(nil, n))
}

func (d digest) part(b []byte) {
	d.number(uint64(len(b)))
	d.Write(b)
}

// How the key material of a fingerprint was established. It is a part of it, so
// that the one is never taken for the other.
const (
	byPublic = "public" // the public part
	byWrap   = "wrap"   // the deterministic wrap under the strict domain key
)

// known is what was read of an object.
type known struct {
	wire.Identity
	attributes pkcs11.Template
	guard      string // of a key that is not there yet (twin.go)
}

// identify reads an object's identity. The result has no fingerprint if none
// can be established.
func (s *session) identify(object uint64) (known, pkcs11.RV) {
	if k, rv := s.recall(object); k.Fingerprint != nil || rv != pkcs11.CKR_OK {
		s.copyable(&k)
		return k, rv
	}
	common, rv := s.read(object, commonKinds...)
	if rv != pkcs11.CKR_OK {
		return known{}, rv
	}
	class, ok := common.Ulong(pkcs11.CKA_CLASS)
	if !ok {
		return known{}, pkcs11.CKR_OBJECT_HANDLE_INVALID
	}
	k := known{Identity: wire.Identity{Object: object, Class: class}, attributes: common}
	k.KeyType, ok = common.Ulong(pkcs11.CKA_KEY_TYPE)
	if !ok && class == pkcs11.CKO_CERTIFICATE {
		k.KeyType, _ = common.Ulong(pkcs11.CKA_CERTIFICATE_TYPE)
	}
	if more := identityKinds(class, k.KeyType); more != nil {
		own, rv := s.read(object, more...)
		if rv != pkcs11.CKR_OK {
			return known{}, rv
		}
		k.attributes = append(k.attributes, own...)
	}
	k.describe()
	s.fingerprint(&k)
	if k.Class == pkcs11.CKO_SECRET_KEY && k.Size == 0 {
		n, _ := s.shown(&k).Ulong(pkcs11.CKA_VALUE_LEN)
		k.Size = n * 8
	}
	s.note(&k)
	s.copyable(&k)
	return k, pkcs11.CKR_OK
}

// copyable marks objects that Export can copy.
func (s *session) copyable(k *known) {
	switch k.Class {
	case pkcs11.CKO_CERTIFICATE, pkcs11.CKO_DATA, pkcs11.CKO_PUBLIC_KEY, pkcs11.CKO_DOMAIN_PARAMETERS:
		k.Flags |= wire.Copyable
	case pkcs11.CKO_PRIVATE_KEY, pkcs11.CKO_SECRET_KEY:
		if !k.attributes.Bool(pkcs11.CKA_EXTRACTABLE, false) || stateful(k.KeyType) || len(k.Fingerprint) == 0 {
			return
		}
		keys := s.domain()
		if keys.byExport() && !s.exports {
			return // nobody permitted it (rule K7)
		}
		if keys.complete() && s.wraps(k, keys) {
			k.Flags |= wire.Copyable
		}
	}
}

// describe fills in what needs no key material.
func (k *known) describe() {
	t := k.attributes
	k.mark()
	switch {
	case k.Class == pkcs11.CKO_SECRET_KEY:
		n, _ := t.Ulong(pkcs11.CKA_VALUE_LEN)
		k.Size = n * 8
	case t.Find(pkcs11.CKA_MODULUS) != nil:
		k.Size = bits(t.Bytes(pkcs11.CKA_MODULUS))
	case t.Find(pkcs11.CKA_EC_PARAMS) != nil:
		k.Size = curveOf(t.Bytes(pkcs11.CKA_EC_PARAMS)).Bits
	case t.Find(pkcs11.CKA_PRIME) != nil:
		k.Size = bits(t.Bytes(pkcs11.CKA_PRIME))
	}
}

func (k *known) mark() {
	t := k.attributes
	k.Label, k.ID = t.Bytes(pkcs11.CKA_LABEL), t.Bytes(pkcs11.CKA_ID)
	mark := func(flag wire.IdentityFlags, attribute pkcs11.AttributeType) {
		if t.Bool(attribute, false) {
			k.Flags |= flag
		}
	}
	mark(wire.OnToken, pkcs11.CKA_TOKEN)
	mark(wire.Private, pkcs11.CKA_PRIVATE)
	mark(wire.AlwaysAuthenticate, pkcs11.CKA_ALWAYS_AUTHENTICATE)
}

// fingerprint establishes which object this is (rule H3).
func (s *session) fingerprint(k *known) {
	if k.Fingerprint = k.publicFingerprint(); k.Fingerprint != nil {
		return
	}
	if k.Class == pkcs11.CKO_SECRET_KEY || k.Class == pkcs11.CKO_PRIVATE_KEY {
		s.secretFingerprint(k)
	}
}

// publicFingerprint is the fingerprint of an object whose public part can be
// read, nil for others. Both halves of a pair have the same key material, and
// different classes.
func (k *known) publicFingerprint() []byte {
	t := k.attributes
	d := newDigest(k.Class, k.KeyType)
	parts := func(kinds ...pkcs11.AttributeType) []byte {
		d.part([]byte(byPublic))
		for _, kind := range kinds {
			d.part(t.Bytes(kind))
		}
		return d.Sum(nil)
	}
	number := func(kind pkcs11.AttributeType) { d.part(trim(t.Bytes(kind))) }
	switch {
	case k.Class == pkcs11.CKO_CERTIFICATE && len(t.Bytes(pkcs11.CKA_VALUE)) > 0:
		return parts(pkcs11.CKA_VALUE)
	case k.Class == pkcs11.CKO_CERTIFICATE && len(t.Bytes(pkcs11.CKA_URL)) == 0, k.Class == pkcs11.CKO_DATA && t.Find(pkcs11.CKA_VALUE) == nil:
		return nil // what it is could not be read
	case k.Class == pkcs11.CKO_CERTIFICATE:
		return parts(pkcs11.CKA_URL, pkcs11.CKA_HASH_OF_SUBJECT_PUBLIC_KEY, pkcs11.CKA_SUBJECT, pkcs11.CKA_ISSUER,
			pkcs11.CKA_SERIAL_NUMBER)
	case k.Class == pkcs11.CKO_DATA:
		return parts(pkcs11.CKA_APPLICATION, pkcs11.CKA_OBJECT_ID, pkcs11.CKA_VALUE) // the label may change
	case k.Class != pkcs11.CKO_PUBLIC_KEY && k.Class != pkcs11.CKO_PRIVATE_KEY:
		return nil
	case k.KeyType == pkcs11.CKK_RSA && len(t.Bytes(pkcs11.CKA_MODULUS)) > 0:
		d.part([]byte(byPublic))
		number(pkcs11.CKA_MODULUS)
		return d.Sum(nil)
	case isCurve(k.KeyType):
		params, point := curvePoint(t)
		if point == nil {
			return nil
		}
		d.part([]byte(byPublic))
		d.part(params)
		d.part(point)
		return d.Sum(nil)
	case k.Class == pkcs11.CKO_PUBLIC_KEY && len(t.Bytes(pkcs11.CKA_VALUE)) > 0:
		d.part([]byte(byPublic))
		for _, kind := range []pkcs11.AttributeType{pkcs11.CKA_PRIME, pkcs11.CKA_SUBPRIME, pkcs11.CKA_BASE, pkcs11.CKA_VALUE} {
			number(kind)
		}
		return d.Sum(nil)
	}
	return nil
}

func isCurve(keyType uint64) bool {
	return keyType == pkcs11.CKK_EC || keyType == pkcs11.CKK_EC_EDWARDS || keyType == pkcs11.CKK_EC_MONTGOMERY
}

// trim drops leading zeros of a big-endian number: tokens differ about them.
func trim(number []byte) []byte {
	for len(number) > 0 && number[0] == 0 {
		number = number[1:]
	}
	return number
}

// bits is the length of a big-endian number.
func bits(number []byte) uint64 {
	number = trim(number)
	if len(number) == 0 {
		return 0
	}
	n := uint64(len(number)-1) * 8
	for b := number[0]; b > 0; b >>= 1 {
		n++
	}
	return n
}
