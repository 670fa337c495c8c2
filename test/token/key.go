// SPDX-License-Identifier: Apache-2.0

package token

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/asn1"
	"fmt"
	"math/big"

	p11 "github.com/miekg/pkcs11"
)

// A Pair is a key pair on the token.
type Pair struct{ Public, Private p11.ObjectHandle }

// RSA generates a 2048-bit pair on the token, non-extractable. More attributes
// go to both halves.
func (t *Token) RSA(s p11.SessionHandle, more ...*p11.Attribute) (Pair, error) {
	return t.pair(s, p11.CKM_RSA_PKCS_KEY_PAIR_GEN, more,
		p11.NewAttribute(p11.CKA_MODULUS_BITS, 2048),
		p11.NewAttribute(p11.CKA_PUBLIC_EXPONENT, []byte{1, 0, 1}))
}

// oidP256 is 1.2.840.10045.3.1.7.
var oidP256 = []byte{0x06, 0x08, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07}

// EC generates a P-256 pair likewise.
func (t *Token) EC(s p11.SessionHandle, more ...*p11.Attribute) (Pair, error) {
	return t.pair(s, p11.CKM_EC_KEY_PAIR_GEN, more, p11.NewAttribute(p11.CKA_EC_PARAMS, oidP256))
}

func (t *Token) pair(s p11.SessionHandle, mechanism uint, more []*p11.Attribute, public ...*p11.Attribute) (Pair, error) {
	public = append(append(public, p11.NewAttribute(p11.CKA_TOKEN, true), p11.NewAttribute(p11.CKA_VERIFY, true)), more...)
	private := append([]*p11.Attribute{
		p11.NewAttribute(p11.CKA_TOKEN, true),
		p11.NewAttribute(p11.CKA_PRIVATE, true),
		p11.NewAttribute(p11.CKA_SENSITIVE, true),
		p11.NewAttribute(p11.CKA_EXTRACTABLE, false),
		p11.NewAttribute(p11.CKA_SIGN, true),
	}, more...)
	pub, priv, err := t.GenerateKeyPair(s, []*p11.Mechanism{p11.NewMechanism(mechanism, nil)}, public, private)
	if err != nil {
		return Pair{}, fmt.Errorf("C_GenerateKeyPair: %w", err)
	}
	return Pair{pub, priv}, nil
}

// Secret makes a secret key of 32 bytes with a value that only this process
// knows, as an object of the token or of the session.
func (t *Token) Secret(s p11.SessionHandle, kind uint, onToken bool, more ...*p11.Attribute) (p11.ObjectHandle, []byte, error) {
	value := make([]byte, 32)
	rand.Read(value)
	o, err := t.CreateObject(s, append([]*p11.Attribute{
		Class(p11.CKO_SECRET_KEY),
		p11.NewAttribute(p11.CKA_KEY_TYPE, kind),
		p11.NewAttribute(p11.CKA_TOKEN, onToken),
		p11.NewAttribute(p11.CKA_PRIVATE, true),
		p11.NewAttribute(p11.CKA_VALUE, value),
		p11.NewAttribute(p11.CKA_ENCRYPT, true),
		p11.NewAttribute(p11.CKA_DECRYPT, true),
		p11.NewAttribute(p11.CKA_SIGN, true),
		p11.NewAttribute(p11.CKA_VERIFY, true),
	}, more...))
	if err != nil {
		return 0, nil, fmt.Errorf("C_CreateObject: %w", err)
	}
	return o, value, nil
}

// RSAPublic reads a public key as software needs it.
func (t *Token) RSAPublic(s p11.SessionHandle, o p11.ObjectHandle) (*rsa.PublicKey, error) {
	n, err := t.Attribute(s, o, p11.CKA_MODULUS)
	if err != nil {
		return nil, err
	}
	e, err := t.Attribute(s, o, p11.CKA_PUBLIC_EXPONENT)
	if err != nil {
		return nil, err
	}
	return &rsa.PublicKey{N: new(big.Int).SetBytes(n), E: int(new(big.Int).SetBytes(e).Int64())}, nil
}

// ECPublic reads a P-256 public key.
func (t *Token) ECPublic(s p11.SessionHandle, o p11.ObjectHandle) (*ecdsa.PublicKey, error) {
	encoded, err := t.Attribute(s, o, p11.CKA_EC_POINT)
	if err != nil {
		return nil, err
	}
	var point []byte
	if _, err := asn1.Unmarshal(encoded, &point); err != nil {
		return nil, fmt.Errorf("CKA_EC_POINT: %w", err)
	}
	return ecdsa.ParseUncompressedPublicKey(elliptic.P256(), point)
}
