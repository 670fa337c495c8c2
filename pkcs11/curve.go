// SPDX-License-Identifier: Apache-2.0

package pkcs11

// A Curve is what has to be known of an elliptic curve to read a point on it.
type Curve struct {
	Name  string
	Bits  uint64
	Plain int // length of a point of Edwards or Montgomery curves, in bytes
}

// curves by their parameters in DER. Edwards and Montgomery curves are named by
// an OID or by a string, before and since PKCS#11 3.0.
var curves = map[string]Curve{
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

// CurveOf returns the curve that CKA_EC_PARAMS name, one without a name if it is
// not known.
func CurveOf(params []byte) Curve { return curves[string(params)] }
