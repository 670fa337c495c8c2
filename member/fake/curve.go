// SPDX-License-Identifier: Apache-2.0

package fake

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"math/big"

	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/wire"
)

// Pairs on P-256, real ones, for tests of what signatures look like. A token that does not
// list mechanisms for them is not asked for one.

// OfferEC has the token list the mechanisms, and sign in this format; nil is r and s as
// PKCS#11 says.
func (t *Token) OfferEC(format func(*ecdsa.PrivateKey, []byte) []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	sizes := pkcs11.MechanismInfo{MinKeySize: 256, MaxKeySize: 256}
	t.offers = append(t.offers, wire.OfferedMechanism{Type: pkcs11.CKM_EC_KEY_PAIR_GEN, Info: sizes}, wire.OfferedMechanism{Type: pkcs11.CKM_ECDSA, Info: sizes})
	t.format = format
}

// DER is a format of signatures that some tokens have.
func DER(key *ecdsa.PrivateKey, digest []byte) []byte {
	signature, err := ecdsa.SignASN1(rand.Reader, key, digest)
	if err != nil {
		panic(err)
	}
	return signature
}

// Stripped is another: r and s without their leading zeros, of which there are some.
func Stripped(key *ecdsa.PrivateKey, digest []byte) []byte {
	for {
		r, s := sign(key, digest)
		if len(r.Bytes())+len(s.Bytes()) < 64 {
			return append(r.Bytes(), s.Bytes()...)
		}
	}
}

// Plain is the format of PKCS#11.
func Plain(key *ecdsa.PrivateKey, digest []byte) []byte {
	r, s := sign(key, digest)
	return append(r.FillBytes(make([]byte, 32)), s.FillBytes(make([]byte, 32))...)
}

func sign(key *ecdsa.PrivateKey, digest []byte) (r, s *big.Int) {
	r, s, err := ecdsa.Sign(rand.Reader, key, digest)
	if err != nil {
		panic(err)
	}
	return r, s
}

func (s *session) generateEC(c *wire.GenerateKeyPair) pkcs11.RV {
	pair, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return pkcs11.CKR_FUNCTION_FAILED
	}
	half := func(class uint64, template pkcs11.Template) uint64 {
		o := s.newKey(class, string((&object{pair: pair}).point()), template)
		o.pair, o.id.KeyType = pair, pkcs11.CKK_EC
		return s.handle(o)
	}
	c.PublicKey, c.PrivateKey = half(pkcs11.CKO_PUBLIC_KEY, c.Public), half(pkcs11.CKO_PRIVATE_KEY, c.Private)
	return pkcs11.CKR_OK
}

// point is CKA_EC_POINT: a DER octet string.
func (o *object) point() []byte {
	if o.pair == nil {
		return nil
	}
	point, err := o.pair.PublicKey.Bytes()
	if err != nil {
		panic(err)
	}
	return append([]byte{4, byte(len(point))}, point...)
}

func (s *session) signEC(key *ecdsa.PrivateKey, c *wire.Sign) (rv pkcs11.RV) {
	format := s.life.token.format
	if format == nil {
		format = Plain
	}
	if c.Signature, rv = c.SignatureRoom.Fit(format(key, c.Data.Data)); rv == pkcs11.CKR_OK && !c.Signature.Null {
		s.sign = 0
	}
	return rv
}

// pairBytes and pairOf are how a pair travels in the wrapped form of its halves.
func (o *object) pairBytes() []byte {
	if o.pair == nil {
		return nil
	}
	key, err := o.pair.Bytes()
	if err != nil {
		panic(err)
	}
	return key
}

func pairOf(key []byte) *ecdsa.PrivateKey {
	if len(key) == 0 {
		return nil
	}
	pair, err := ecdsa.ParseRawPrivateKey(elliptic.P256(), key)
	if err != nil {
		panic(err)
	}
	return pair
}
