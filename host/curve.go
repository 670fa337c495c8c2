// SPDX-License-Identifier: Apache-2.0

package host

import (
	"bytes"
	"encoding/asn1"

	"oneslot.dev/oneslot/pkcs11"
)

// A curve is what is needed to read a point on it.
type curve struct {
	name  string
	bits  uint64
	plain int // length of a point of Edwards or Montgomery curves
}

// curves by their parameters in DER. Edwards and Montgomery curves are named by
// an OID or by a string, before and since PKCS#11 3.0.
var curves = map[string]curve{
	"\x06\x08\x2a\x86\x48\xce\x3d\x03\x01\x01":     {"P-192", 192, 0},
	"\x06\x05\x2b\x81\x04\x00\x21":                 {"P-224", 224, 0},
	"\x06\x08\x2a\x86\x48\xce\x3d\x03\x01\x07":     {"P-256", 256, 0},
	"\x06\x05\x2b\x81\x04\x00\x22":                 {"P-384", 384, 0},
	"\x06\x05\x2b\x81\x04\x00\x23":                 {"P-521", 521, 0},
	"\x06\x05\x2b\x81\x04\x00\x0a":                 {"secp256k1", 256, 0},
	"\x06\x09\x2b\x24\x03\x03\x02\x08\x01\x01\x07": {"brainpoolP256r1", 256, 0},
	"\x06\x09\x2b\x24\x03\x03\x02\x08\x01\x01\x0b": {"brainpoolP384r1", 384, 0},
	"\x06\x09\x2b\x24\x03\x03\x02\x08\x01\x01\x0d": {"brainpoolP512r1", 512, 0},
	"\x06\x03\x2b\x65\x70":                         {"Ed25519", 255, 32},
	"\x13\x0cedwards25519":                         {"Ed25519", 255, 32},
	"\x06\x03\x2b\x65\x71":                         {"Ed448", 448, 57},
	"\x13\x0aedwards448":                           {"Ed448", 448, 57},
	"\x06\x03\x2b\x65\x6e":                         {"X25519", 255, 32},
	"\x13\x0acurve25519":                           {"X25519", 255, 32},
	"\x06\x03\x2b\x65\x6f":                         {"X448", 448, 56},
	"\x13\x08curve448":                             {"X448", 448, 56},
}

func curveOf(params []byte) curve { return curves[string(params)] }

// curvePoint returns the curve and the point on it in one form, whichever the
// token uses (field report K2): DER octet string, uncompressed or compressed
// point, bare coordinates, or a SubjectPublicKeyInfo. No point: there is none
// that can be trusted to be read rightly.
func curvePoint(t pkcs11.Template) (params, point []byte) {
	params = t.Bytes(pkcs11.CKA_EC_PARAMS)
	c := curveOf(params)
	if c.name != "" {
		params = []byte(c.name)
	}
	if point = decodePoint(c, t.Bytes(pkcs11.CKA_EC_POINT)); point != nil {
		return params, point
	}
	return params, decodePoint(c, pointOfInfo(t.Bytes(pkcs11.CKA_PUBLIC_KEY_INFO)))
}

// pointOfInfo takes the point out of a SubjectPublicKeyInfo.
func pointOfInfo(info []byte) []byte {
	var spki struct {
		Algorithm asn1.RawValue
		Key       asn1.BitString
	}
	if rest, err := asn1.Unmarshal(info, &spki); err != nil || len(rest) > 0 {
		return nil
	}
	return spki.Key.RightAlign()
}

// decodePoint brings a point into the form 0x04 X Y, or the bytes themselves on
// Edwards and Montgomery curves.
func decodePoint(c curve, value []byte) []byte {
	if point := c.raw(value); point != nil {
		return point
	}
	var inner asn1.RawValue
	if rest, err := asn1.Unmarshal(value, &inner); err != nil || len(rest) > 0 || inner.Class != asn1.ClassUniversal {
		return nil
	}
	switch inner.Tag {
	case asn1.TagOctetString:
		return c.raw(inner.Bytes)
	case asn1.TagBitString:
		if len(inner.Bytes) > 0 && inner.Bytes[0] == 0 {
			return c.raw(inner.Bytes[1:])
		}
	}
	return nil
}

// raw is decodePoint for a point that is not wrapped up in DER. On a curve of
// known size only the right length is a point; on others the form decides.
func (c curve) raw(value []byte) []byte {
	n := int(c.bits+7) / 8
	switch {
	case len(value) == 0:
		return nil
	case c.plain > 0 && len(value) == c.plain:
		return value
	case c.plain > 0:
		return nil
	case n > 0 && len(value) == 2*n+1 && value[0] == 4:
		return value
	case n > 0 && len(value) == 2*n:
		return append([]byte{4}, value...)
	case n > 0 && len(value) == n+1 && (value[0] == 2 || value[0] == 3):
		return bytes.Clone(value) // compressed; nobody stores it both ways
	case n == 0 && len(value)%2 == 1 && len(value) > 32 && value[0] == 4 && int(value[1]) != len(value)-2:
		return value // not DER, whose second byte is the length
	}
	return nil
}
