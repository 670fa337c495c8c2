// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"crypto/ecdsa"
	"crypto/sha256"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"oneslot.dev/oneslot/member/fake"
	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/wire"
)

// field-K8: no signature of another length comes to the application, also where the members
// could not be examined, or sign otherwise only now and then: another member makes it. The
// one is left out.
func TestSignaturesOfAnotherLength(t *testing.T) {
	for _, c := range []struct {
		name   string
		odd    int // the member; one of the two gets the first signature
		format func(*ecdsa.PrivateKey, []byte) []byte
		right  int64 // signatures that are right first
		length bool  // it is asked for before
	}{
		{"a, from the first on", 0, fake.DER, 0, false},
		{"b, from the first on", 1, fake.DER, 0, false},
		{"after some", 1, fake.Stripped, 3, false},
		{"a, longer than the room", 0, fake.DER, 0, true},
		{"b, longer than the room", 1, fake.DER, 0, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := begin(t, 2)
			for _, m := range w.members {
				m.Token.Offer(listing(pkcs11.CKM_ECDSA, 256, 256, pkcs11.CKF_SIGN)) // no pair for an exam
			}
			a := w.application()
			s := w.loggedIn(a)
			pair := wire.GenerateKeyPair{Session: s, Mechanism: pkcs11.Mechanism{Type: pkcs11.CKM_EC_KEY_PAIR_GEN},
				Private: pkcs11.Template{pkcs11.Bool(pkcs11.CKA_TOKEN, true)}, Public: pkcs11.Template{pkcs11.Bool(pkcs11.CKA_TOKEN, true)}}
			w.call(a, &pair, pkcs11.CKR_OK)
			w.allReady(a)
			var made atomic.Int64
			w.members[[]string{"a", "b"}[c.odd]].Token.OfferEC(func(key *ecdsa.PrivateKey, digest []byte) []byte {
				if made.Add(1) <= c.right {
					return fake.Plain(key, digest)
				}
				return c.format(key, digest)
			})
			digest := sha256.Sum256([]byte("text"))
			for range 12 {
				w.call(a, &wire.SignInit{Session: s, Mechanism: pkcs11.Mechanism{Type: pkcs11.CKM_ECDSA}, Key: pair.PrivateKey}, pkcs11.CKR_OK)
				if c.length {
					w.call(a, &wire.Sign{Session: s, Data: wire.Data(digest[:]), SignatureRoom: wire.Room{Null: true}}, pkcs11.CKR_OK)
				}
				sign := wire.Sign{Session: s, Data: wire.Data(digest[:]), SignatureRoom: wire.Room{Capacity: map[bool]uint64{true: 64, false: 128}[c.length]}}
				w.call(a, &sign, pkcs11.CKR_OK)
				if len(sign.Signature.Data) != 64 {
					t.Errorf("a signature of %d bytes", len(sign.Signature.Data))
				}
			}
			if made.Load() <= c.right {
				t.Error("the odd member signed nothing")
			}
			odd := a.slots[0].group.Snapshot().Members[c.odd]
			if odd.State.String() != "quarantined" || !strings.Contains(odd.Cause.Error(), "not of 64 as PKCS#11 says") {
				t.Errorf("the odd member is %v: %v", odd.State, odd.Cause)
			}
		})
	}
}

// field-K8, F4: nor when the member is lost on which the signature was begun, and the next
// one is odd.
func TestASignatureMovesToAnOddMember(t *testing.T) {
	w := begin(t, 3)
	for _, m := range w.members {
		m.Token.Offer(listing(pkcs11.CKM_ECDSA, 256, 256, pkcs11.CKF_SIGN))
	}
	a := w.application()
	s := w.loggedIn(a)
	pair := wire.GenerateKeyPair{Session: s, Mechanism: pkcs11.Mechanism{Type: pkcs11.CKM_EC_KEY_PAIR_GEN},
		Private: pkcs11.Template{pkcs11.Bool(pkcs11.CKA_TOKEN, true)}, Public: pkcs11.Template{pkcs11.Bool(pkcs11.CKA_TOKEN, true)}}
	w.call(a, &pair, pkcs11.CKR_OK)
	w.allReady(a)
	w.call(a, &wire.SignInit{Session: s, Mechanism: pkcs11.Mechanism{Type: pkcs11.CKM_ECDSA}, Key: pair.PrivateKey}, pkcs11.CKR_OK)
	names := []string{"a", "b", "c"}
	began := slices.IndexFunc(names, func(name string) bool { return w.members[name].Token.Executed(wire.NumberSignInit) > 0 })
	odd := (began + 1) % len(names)
	w.members[names[odd]].Token.OfferEC(fake.DER)
	w.members[names[began]].Down()
	sign := wire.Sign{Session: s, Data: wire.Data(make([]byte, 32)), SignatureRoom: wire.Room{Capacity: 128}}
	w.call(a, &sign, pkcs11.CKR_OK)
	if n := len(sign.Signature.Data); n != 64 {
		t.Errorf("a signature of %d bytes", n)
	}
	if m := a.slots[0].group.Snapshot().Members[odd]; m.State.String() != "quarantined" {
		t.Errorf("the odd member is %v", m.State)
	}
}

// A member alone is unlike nobody: what it signs is passed on as it is.
func TestAMemberAloneSignsAsItDoes(t *testing.T) {
	w := begin(t, 1)
	w.members["a"].Token.OfferEC(fake.DER)
	a := w.application()
	s := w.loggedIn(a)
	pair := wire.GenerateKeyPair{Session: s, Mechanism: pkcs11.Mechanism{Type: pkcs11.CKM_EC_KEY_PAIR_GEN}}
	w.call(a, &pair, pkcs11.CKR_OK)
	digest := sha256.Sum256([]byte("text"))
	for range 2 {
		w.call(a, &wire.SignInit{Session: s, Mechanism: pkcs11.Mechanism{Type: pkcs11.CKM_ECDSA}, Key: pair.PrivateKey}, pkcs11.CKR_OK)
		sign := wire.Sign{Session: s, Data: wire.Data(digest[:]), SignatureRoom: wire.Room{Capacity: 128}}
		w.call(a, &sign, pkcs11.CKR_OK)
		if len(sign.Signature.Data) <= 64 {
			t.Errorf("a signature of %d bytes", len(sign.Signature.Data))
		}
	}
}
