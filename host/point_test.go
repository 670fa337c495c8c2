// SPDX-License-Identifier: Apache-2.0

package host_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/x509"
	"encoding/asn1"
	"testing"

	"oneslot.dev/oneslot/host/hosttest"
	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/wire"
)

// pointless are curves of which the point of a private value cannot be told here; P-256
// is one for a key that is unwrapped.
var pointless = map[string]pkcs11.Template{
	"secp256k1": text(pkcs11.CKA_EC_PARAMS, "\x06\x05\x2b\x81\x04\x00\x0a"), "P-224": text(pkcs11.CKA_EC_PARAMS, "\x06\x05\x2b\x81\x04\x00\x21"),
	"brainpoolP256r1": text(pkcs11.CKA_EC_PARAMS, "\x06\x09\x2b\x24\x03\x03\x02\x08\x01\x01\x07"), "P-256": p256,
}

// H3, K1, K6: SoftHSM 2.6.1 does not show the point of a private key on a curve. One that is
// brought along, or unwrapped, without a point that can be told is known by its wrap: it is
// copied, is the same key on every member, and each half of a pair made there is its own.
func TestPrivateKeysWithoutAPoint(t *testing.T) {
	a, b := member(t, "a", 1), member(t, "b", 1)
	private := join(number(pkcs11.CKA_CLASS, pkcs11.CKO_PRIVATE_KEY), number(pkcs11.CKA_KEY_TYPE, pkcs11.CKK_EC), yes(pkcs11.CKA_SIGN))
	wrapping := keyOf(pkcs11.CKM_AES_KEY_GEN, join(number(pkcs11.CKA_VALUE_LEN, 32), yes(pkcs11.CKA_WRAP, pkcs11.CKA_UNWRAP)))(a)[0]
	for name, params := range pointless {
		t.Run(name, func(t *testing.T) {
			pair := pairOf(pkcs11.CKM_EC_KEY_PAIR_GEN, params, yes(pkcs11.CKA_SIGN, pkcs11.CKA_EXTRACTABLE))(a)
			wrap := &wire.WrapKey{Mechanism: mechanism(pkcs11.CKM_AES_KEY_WRAP_PAD, nil), Wrapping: wrapping, Key: pair[1], WrappedRoom: wide}
			a.Must(wrap)
			unwrap := &wire.UnwrapKey{Mechanism: mechanism(pkcs11.CKM_AES_KEY_WRAP_PAD, nil), Unwrapping: wrapping, Wrapped: wire.Data(bytes.Clone(wrap.Wrapped.Data)), Template: private}
			a.Must(unwrap)
			given := objectOf(private, params, text(pkcs11.CKA_VALUE, "a value of 28 bytes for them"))(a)[0]
			prints := map[string]bool{}
			for what, key := range map[string]uint64{"generated": pair[1], "unwrapped": unwrap.Key, "given": given} {
				known := &wire.Identify{Object: key}
				a.Must(known)
				if len(known.Identity.Fingerprint) == 0 || known.Identity.Flags&wire.Copyable == 0 {
					t.Errorf("%s: %+v", what, known.Identity)
					continue
				}
				original := known.Identity
				original.Fingerprint = bytes.Clone(original.Fingerprint)
				prints[string(original.Fingerprint)] = true
				blob := export(a, key)
				for range 2 { // the second finds it there
					in := &wire.Import{Blob: bytes.Clone(blob), Token: true, Copies: 1}
					b.Must(in)
					if !in.Identity.Same(&original) {
						t.Errorf("%s: another key came out: %+v", what, in.Identity)
					}
					compare(t, what, look(a, key), look(b, in.Identity.Object))
					if what != "given" {
						verifies(t, what, a, pair[0], signed(b, in.Identity.Object))
					}
				}
				if n := len(resolved(b, original)); n != 1 {
					t.Errorf("%s: %d such keys on the other member", what, n)
				}
			}
			if len(prints) != 3 {
				t.Errorf("%d fingerprints", len(prints))
			}
		})
	}
}

// H3: what an application says of the point of a private key is not believed, however the
// key comes: it would be known as another one, and that one used in its place.
func TestWhatIsSaidOfAPointIsNotBelieved(t *testing.T) {
	t.Run("in a domain", func(t *testing.T) { saidPoints(t, member(t, "a", 1), true) })
	t.Run("in none", func(t *testing.T) {
		s := hosttest.Open(t, hosttest.Start(t, hosttest.Token(t, "a")), wire.GroupView)
		s.Login()
		saidPoints(t, s, false)
	})
}

func saidPoints(t *testing.T, a *hosttest.Stream, domain bool) {
	other := pairOf(pkcs11.CKM_EC_KEY_PAIR_GEN, p256, yes(pkcs11.CKA_SIGN))(a)
	lie := text(pkcs11.CKA_PUBLIC_KEY_INFO, string(infoOf(t, a, other[0])))
	private := join(number(pkcs11.CKA_CLASS, pkcs11.CKO_PRIVATE_KEY), number(pkcs11.CKA_KEY_TYPE, pkcs11.CKK_EC), yes(pkcs11.CKA_SIGN))
	wrapping := keyOf(pkcs11.CKM_AES_KEY_GEN, join(number(pkcs11.CKA_VALUE_LEN, 32), yes(pkcs11.CKA_WRAP, pkcs11.CKA_UNWRAP)))(a)[0]
	pair := pairOf(pkcs11.CKM_EC_KEY_PAIR_GEN, p256, yes(pkcs11.CKA_SIGN, pkcs11.CKA_EXTRACTABLE))(a)
	wrap := &wire.WrapKey{Mechanism: mechanism(pkcs11.CKM_AES_KEY_WRAP_PAD, nil), Wrapping: wrapping, Key: pair[1], WrappedRoom: wide}
	a.Must(wrap)
	wrapped := bytes.Clone(wrap.Wrapped.Data)
	for name, make := range map[string]func() (wire.Call, *uint64){
		"created": func() (wire.Call, *uint64) {
			c := &wire.CreateObject{Template: join(private, p256, lie, text(pkcs11.CKA_VALUE, "a value of so many, 32, bytes...")), Object: 0}
			return c, &c.Object
		},
		"unwrapped": func() (wire.Call, *uint64) {
			c := &wire.UnwrapKey{Mechanism: mechanism(pkcs11.CKM_AES_KEY_WRAP_PAD, nil), Unwrapping: wrapping, Wrapped: wire.Data(wrapped), Template: join(private, lie)}
			return c, &c.Key
		},
		"generated": func() (wire.Call, *uint64) {
			c := &wire.GenerateKeyPair{Mechanism: mechanism(pkcs11.CKM_EC_KEY_PAIR_GEN, nil), Public: join(p256, yes(pkcs11.CKA_VERIFY)), Private: join(yes(pkcs11.CKA_SIGN), lie)}
			return c, &c.PrivateKey
		},
		"copied": func() (wire.Call, *uint64) {
			c := &wire.CopyObject{Source: pair[1], Template: lie}
			return c, &c.Object
		},
	} {
		call, object := make()
		if a.Do(call); call.Result() != pkcs11.CKR_OK {
			t.Logf("%s: %v", name, call.Result())
			continue // it may be refused
		}
		ask := &wire.Identify{Object: other[1]}
		a.Must(ask)
		meant := ask.Identity
		meant.Fingerprint = bytes.Clone(meant.Fingerprint)
		ask = &wire.Identify{Object: *object}
		a.Must(ask)
		// Without a domain SoftHSM tells of no such key what it is.
		if ask.Identity.Same(&meant) || !domain && len(ask.Identity.Fingerprint) > 0 {
			t.Errorf("a key that was %s is known as the other one", name)
		}
	}
}

// infoOf is the SubjectPublicKeyInfo of a public key on P-256.
func infoOf(t *testing.T, s *hosttest.Stream, public uint64) []byte {
	t.Helper()
	var point []byte
	if _, err := asn1.Unmarshal(values(s, public, pkcs11.CKA_EC_POINT)[0], &point); err != nil {
		t.Fatal(err)
	}
	key, err := ecdsa.ParseUncompressedPublicKey(elliptic.P256(), point)
	if err != nil {
		t.Fatal(err)
	}
	info, err := x509.MarshalPKIXPublicKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return info
}

func resolved(s *hosttest.Stream, wanted wire.Identity) []wire.Identity {
	c := &wire.Resolve{Wanted: wanted}
	s.Must(c)
	return c.Found
}

// signedText is what signed signs.
var signedText = bytes.Repeat([]byte("x"), 28)

func signed(s *hosttest.Stream, key uint64) []byte {
	c := &wire.Sign{Data: wire.Data(signedText), SignatureRoom: wide}
	s.Must(&wire.SignInit{Mechanism: mechanism(pkcs11.CKM_ECDSA, nil), Key: key})
	s.Must(c)
	return bytes.Clone(c.Signature.Data)
}

func verifies(t *testing.T, what string, s *hosttest.Stream, public uint64, signature []byte) {
	t.Helper()
	c := &wire.Verify{Data: wire.Data(signedText), Signature: wire.Data(signature)}
	s.Must(&wire.VerifyInit{Mechanism: mechanism(pkcs11.CKM_ECDSA, nil), Key: public})
	if s.Do(c); c.RV != pkcs11.CKR_OK {
		t.Errorf("%s: the signature of the copy: %v", what, c.RV)
	}
}
