// SPDX-License-Identifier: Apache-2.0

package host

import (
	"bytes"
	"encoding/asn1"

	"oneslot.dev/oneslot/pkcs11"
)

// A curve reads points on it.
type curve struct{ pkcs11.Curve }

func curveOf(params []byte) curve { return curve{pkcs11.CurveOf(params)} }

// curvePoint returns the curve and the point on it in one form, whichever the
// token uses (field report K2): DER octet string, uncompressed or compressed
// point, bare coordinates, or a SubjectPublicKeyInfo. No point: there is none
// that can be trusted to be read rightly.
func curvePoint(t pkcs11.Template) (params, point []byte) {
	params = t.Bytes(pkcs11.CKA_EC_PARAMS)
	c := curveOf(params)
	if c.Name != "" {
		params = []byte(c.Name)
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
	n := int(c.Bits+7) / 8
	switch {
	case len(value) == 0:
		return nil
	case c.Plain > 0 && len(value) == c.Plain:
		return value
	case c.Plain > 0:
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
