// SPDX-License-Identifier: Apache-2.0

package host

import (
	"crypto/ecdh"
	"crypto/ed25519"
	"encoding/asn1"

	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/wire"
)

// A private key on a curve often does not show its point: SoftHSM 2.6.1 has no
// CKA_EC_POINT there, and leaves CKA_PUBLIC_KEY_INFO empty, though it stores
// one that it is given. So a key that is made here is told its point, and then
// every member knows the key by it.

// tellPoint gives the private half of a new pair the point of the public half.
// A token that refuses keeps the key nameless, which is no fault.
func (s *session) tellPoint(public, private uint64) {
	half, rv := s.identify(public)
	if rv != pkcs11.CKR_OK || !isCurve(half.KeyType) {
		return
	}
	_, point := curvePoint(half.attributes)
	info := publicInfo(half.KeyType, half.attributes.Bytes(pkcs11.CKA_EC_PARAMS), point)
	if info == nil {
		return
	}
	s.raw.SetAttributeValue(bg, &wire.SetAttributeValue{Object: private,
		Template: pkcs11.Template{pkcs11.Bytes(pkcs11.CKA_PUBLIC_KEY_INFO, info)}})
}

var (
	oidEC      = asn1.ObjectIdentifier{1, 2, 840, 10045, 2, 1}
	oidsOfName = map[string]asn1.ObjectIdentifier{
		"Ed25519": {1, 3, 101, 112}, "Ed448": {1, 3, 101, 113}, "X25519": {1, 3, 101, 110}, "X448": {1, 3, 101, 111}}
)

// publicInfo is the SubjectPublicKeyInfo of a point, nil if it cannot be told.
func publicInfo(keyType uint64, params, point []byte) []byte {
	if point == nil {
		return nil
	}
	type algorithm struct {
		OID        asn1.ObjectIdentifier
		Parameters asn1.RawValue `asn1:"optional"`
	}
	a := algorithm{OID: oidEC, Parameters: asn1.RawValue{FullBytes: params}}
	if keyType != pkcs11.CKK_EC {
		oid, ok := oidsOfName[curveOf(params).Name]
		if !ok {
			return nil
		}
		a = algorithm{OID: oid}
	}
	info, err := asn1.Marshal(struct {
		Algorithm algorithm
		Key       asn1.BitString
	}{a, asn1.BitString{Bytes: point, BitLength: 8 * len(point)}})
	if err != nil {
		return nil
	}
	return info
}

// withPublicInfo adds the point to the template of a private key that the
// application brings along. What the application itself says of the point is
// not believed: a key is known by it.
func withPublicInfo(t pkcs11.Template) pkcs11.Template {
	keyType, _ := t.Ulong(pkcs11.CKA_KEY_TYPE)
	if !isCurve(keyType) {
		return t
	}
	t = t.Without(pkcs11.CKA_PUBLIC_KEY_INFO)
	params := t.Bytes(pkcs11.CKA_EC_PARAMS)
	if info := publicInfo(keyType, params, pointOf(curveOf(params), t.Bytes(pkcs11.CKA_VALUE))); info != nil {
		return append(t, pkcs11.Bytes(pkcs11.CKA_PUBLIC_KEY_INFO, info))
	}
	return t
}

// unsaid is the template of an object that is made as it is asked for, in a group: without
// what the application says of the point of a private key.
func (s *session) unsaid(t pkcs11.Template) pkcs11.Template {
	if class, ok := t.Ulong(pkcs11.CKA_CLASS); !s.group || ok && class != pkcs11.CKO_PRIVATE_KEY || t.Find(pkcs11.CKA_PUBLIC_KEY_INFO) == nil {
		return t
	}
	return t.Without(pkcs11.CKA_PUBLIC_KEY_INFO)
}

// pointOf is the point of a private value, nil on curves that Go does not know.
func pointOf(c curve, value []byte) []byte {
	if c.Name == "Ed25519" && len(value) == ed25519.SeedSize {
		return ed25519.NewKeyFromSeed(value).Public().(ed25519.PublicKey)
	}
	on := map[string]ecdh.Curve{"P-256": ecdh.P256(), "P-384": ecdh.P384(), "P-521": ecdh.P521()}[c.Name]
	n := int(c.Bits+7) / 8
	if on == nil || len(trim(value)) > n {
		return nil
	}
	padded := make([]byte, n)
	defer clear(padded)
	copy(padded[n-len(trim(value)):], trim(value))
	key, err := on.NewPrivateKey(padded)
	if err != nil {
		return nil
	}
	return key.PublicKey().Bytes()
}
