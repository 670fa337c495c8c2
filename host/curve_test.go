// SPDX-License-Identifier: Apache-2.0

package host

import (
	"bytes"
	"testing"

	"oneslot.dev/oneslot/pkcs11"
)

// TestPointForms is field-K2: vendors write a point in many ways.
func TestPointForms(t *testing.T) {
	p256 := []byte("\x06\x08\x2a\x86\x48\xce\x3d\x03\x01\x07")
	xy := bytes.Repeat([]byte{0x11}, 64)
	raw := append([]byte{4}, xy...)
	der := append([]byte{4, 65}, raw...)
	bit := append([]byte{3, 66, 0}, raw...)
	// A bare X that begins like DER.
	tricky := append([]byte{4, 62}, xy[:62]...)
	for _, c := range []struct {
		name          string
		params, value []byte
		want          []byte
	}{
		{"DER octet string", p256, der, raw},
		{"DER bit string", p256, bit, raw},
		{"raw", p256, raw, raw},
		{"bare", p256, xy, raw},
		{"bare like DER", p256, tricky, append([]byte{4}, tricky...)},
		{"too short", p256, raw[:63], nil},
		{"too long", p256, append(raw, 1), nil},
		{"of another curve", []byte("\x06\x05\x2b\x81\x04\x00\x22"), der, nil},
		{"empty", p256, nil, nil},
		{"Ed25519 raw", []byte("\x13\x0cedwards25519"), xy[:32], xy[:32]},
		{"Ed25519 DER", []byte("\x06\x03\x2b\x65\x70"), append([]byte{4, 32}, xy[:32]...), xy[:32]},
		{"unknown curve, DER", []byte("\x06\x01\x01"), der, raw},
		{"unknown curve, raw", []byte("\x06\x01\x01"), raw, raw},
	} {
		if got := decodePoint(curveOf(c.params), c.value); !bytes.Equal(got, c.want) {
			t.Errorf("%s: %x, want %x", c.name, got, c.want)
		}
	}
	a, b := known{}, known{}
	a.Class, b.Class, a.KeyType, b.KeyType = pkcs11.CKO_PUBLIC_KEY, pkcs11.CKO_PUBLIC_KEY, pkcs11.CKK_EC, pkcs11.CKK_EC
	a.attributes = pkcs11.Template{pkcs11.Bytes(pkcs11.CKA_EC_PARAMS, p256), pkcs11.Bytes(pkcs11.CKA_EC_POINT, der)}
	b.attributes = pkcs11.Template{pkcs11.Bytes(pkcs11.CKA_EC_PARAMS, p256), pkcs11.Bytes(pkcs11.CKA_EC_POINT, xy)}
	if f := a.publicFingerprint(); f == nil || !bytes.Equal(f, b.publicFingerprint()) {
		t.Error("one point in two forms has two fingerprints")
	}
	info := publicInfo(pkcs11.CKK_EC, p256, raw)
	if got := pointOfInfo(info); !bytes.Equal(got, raw) {
		t.Errorf("public key info %x has the point %x", info, got)
	}
}

// TestModulusForms: some tokens put a zero before the modulus.
func TestModulusForms(t *testing.T) {
	a, b := known{}, known{}
	a.Class, b.Class = pkcs11.CKO_PRIVATE_KEY, pkcs11.CKO_PRIVATE_KEY
	a.attributes = pkcs11.Template{pkcs11.Bytes(pkcs11.CKA_MODULUS, []byte{0, 0x80, 1})}
	b.attributes = pkcs11.Template{pkcs11.Bytes(pkcs11.CKA_MODULUS, []byte{0x80, 1})}
	if !bytes.Equal(a.publicFingerprint(), b.publicFingerprint()) || bits(a.attributes[0].Value) != 16 {
		t.Error("a leading zero makes another key")
	}
}
