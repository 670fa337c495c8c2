// SPDX-License-Identifier: Apache-2.0

package host_test

import (
	"crypto"
	"crypto/rsa"
	"crypto/sha256"
	"math/big"
	"testing"

	"oneslot.dev/oneslot/host/hosttest"
	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/wire"
)

// rsaPair generates a pair in a session.
func rsaPair(s *hosttest.Stream, token bool, id string) *wire.GenerateKeyPair {
	pair := &wire.GenerateKeyPair{
		Mechanism: pkcs11.Mechanism{Type: pkcs11.CKM_RSA_PKCS_KEY_PAIR_GEN},
		Public: pkcs11.Template{pkcs11.Ulong(pkcs11.CKA_MODULUS_BITS, 2048), pkcs11.Bytes(pkcs11.CKA_PUBLIC_EXPONENT, []byte{1, 0, 1}),
			pkcs11.Bool(pkcs11.CKA_TOKEN, token), pkcs11.Bytes(pkcs11.CKA_ID, []byte(id)), pkcs11.Bool(pkcs11.CKA_VERIFY, true), pkcs11.Bool(pkcs11.CKA_ENCRYPT, true)},
		Private: pkcs11.Template{pkcs11.Bool(pkcs11.CKA_TOKEN, token), pkcs11.Bytes(pkcs11.CKA_ID, []byte(id)),
			pkcs11.Bool(pkcs11.CKA_SIGN, true), pkcs11.Bool(pkcs11.CKA_DECRYPT, true)},
	}
	s.Must(pair)
	return pair
}

// values reads byte strings of an object.
func values(s *hosttest.Stream, object uint64, kinds ...pkcs11.AttributeType) [][]byte {
	c := &wire.GetAttributeValue{Object: object}
	for _, k := range kinds {
		c.Query = append(c.Query, wire.Question{Type: k, Form: wire.AskRoom, Capacity: 4096})
	}
	s.Do(c)
	out := make([][]byte, len(kinds))
	for i, v := range c.Values {
		if v.Form == wire.GotData {
			out[i] = append([]byte{}, v.Data...)
		}
	}
	return out
}

func rsaKey(s *hosttest.Stream, object uint64) *rsa.PublicKey {
	v := values(s, object, pkcs11.CKA_MODULUS)
	return &rsa.PublicKey{N: new(big.Int).SetBytes(v[0]), E: 65537}
}

func TestSignRSA(t *testing.T) {
	token := hosttest.Token(t, "one")
	s := hosttest.Open(t, hosttest.Start(t, token), wire.GroupView)
	s.Login()
	pair := rsaPair(s, false, "a")
	data := []byte("what is signed")
	sign := &wire.Sign{Data: wire.Data(data), SignatureRoom: wire.Room{Capacity: 1 << 40}}
	s.Must(&wire.SignInit{Mechanism: pkcs11.Mechanism{Type: pkcs11.CKM_SHA256_RSA_PKCS}, Key: pair.PrivateKey}, sign)
	sum := sha256.Sum256(data)
	if err := rsa.VerifyPKCS1v15(rsaKey(s, pair.PublicKey), crypto.SHA256, sum[:], sign.Signature.Data); err != nil {
		t.Fatal(err)
	}
}

func TestDescribe(t *testing.T) {
	token := hosttest.Token(t, "one")
	s := hosttest.Open(t, hosttest.Start(t, token), wire.TokenView)
	c := &wire.Describe{}
	s.Must(c, &wire.Probe{})
	if got := pkcs11.Unpad(c.Token.Token.Label[:]); got != "one" {
		t.Errorf("label %q", got)
	}
	if len(c.Token.Mechanisms) < 20 || c.Token.Library == "" {
		t.Errorf("described as %+v", c.Token)
	}
}
