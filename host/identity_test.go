// SPDX-License-Identifier: Apache-2.0

package host_test

import (
	"crypto"
	"crypto/rsa"
	"crypto/sha256"
	"testing"

	"oneslot.dev/oneslot/host/hosttest"
	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/wire"
)

// TestLabelAndIDAreNoProof is field report E5: pairs that share label and ID are
// told apart, on another member too.
func TestLabelAndIDAreNoProof(t *testing.T) {
	a, b := member(t, "a", 1), member(t, "b", 1)
	data := []byte("what is signed")
	sum := sha256.Sum256(data)
	type pair struct {
		identity wire.Identity
		public   *rsa.PublicKey
	}
	var pairs []pair
	for range 3 {
		p := rsaPair(a, false, "same id")
		b.Must(&wire.Import{Blob: export(a, p.PrivateKey), Token: true, Copies: 1})
		id := &wire.Identify{Object: p.PrivateKey}
		a.Must(id)
		pairs = append(pairs, pair{id.Identity, rsaKey(a, p.PublicKey)})
	}
	for i, p := range pairs {
		c := &wire.Resolve{Wanted: p.identity}
		b.Must(c)
		if len(c.Found) != 1 {
			t.Fatalf("pair %d: found %d times", i, len(c.Found))
		}
		signature := sign(b, mechanism(pkcs11.CKM_SHA256_RSA_PKCS, nil), c.Found[0].Object, data)
		if err := rsa.VerifyPKCS1v15(p.public, crypto.SHA256, sum[:], signature); err != nil {
			t.Errorf("pair %d: signed with another key", i)
		}
	}
	// Another label there does not hide the key, and nothing else is found.
	resolve := &wire.Resolve{Wanted: pairs[0].identity}
	b.Must(resolve)
	b.Must(&wire.SetAttributeValue{Object: resolve.Found[0].Object, Template: join(text(pkcs11.CKA_ID, "other"), text(pkcs11.CKA_LABEL, "l"))})
	again := &wire.Resolve{Wanted: pairs[0].identity}
	b.Must(again)
	if len(again.Found) != 1 || string(again.Found[0].ID) != "other" {
		t.Errorf("found %+v", again.Found)
	}
	lost := pairs[0].identity
	lost.Fingerprint = make([]byte, 32)
	none := &wire.Resolve{Wanted: lost}
	b.Must(none)
	lost.Fingerprint = nil
	unknown := &wire.Resolve{Wanted: lost}
	b.Must(unknown)
	if len(none.Found)+len(unknown.Found) != 0 {
		t.Errorf("found what is not there: %+v %+v", none.Found, unknown.Found)
	}
}

// TestIdentityFields checks what an identity says besides who it is.
func TestIdentityFields(t *testing.T) {
	a := member(t, "a", 1)
	rsa, ec := rsaPair(a, false, "r"), pairOf(pkcs11.CKM_EC_KEY_PAIR_GEN, p256, yes(pkcs11.CKA_SIGN))(a)
	key := keyOf(pkcs11.CKM_AES_KEY_GEN, join(number(pkcs11.CKA_VALUE_LEN, 24), text(pkcs11.CKA_LABEL, "k")))(a)[0]
	for object, want := range map[uint64]wire.Identity{
		rsa.PrivateKey: {Class: pkcs11.CKO_PRIVATE_KEY, KeyType: pkcs11.CKK_RSA, Size: 2048, Flags: wire.Private | wire.Copyable, ID: []byte("r")},
		ec[1]:          {Class: pkcs11.CKO_PRIVATE_KEY, KeyType: pkcs11.CKK_EC, Size: 256, Flags: wire.Private | wire.Copyable},
		key:            {Class: pkcs11.CKO_SECRET_KEY, KeyType: pkcs11.CKK_AES, Size: 192, Flags: wire.Private | wire.Copyable, Label: []byte("k")},
	} {
		for range 2 { // the second is remembered
			c := &wire.Identify{Object: object}
			a.Must(c)
			got := c.Identity
			if got.Class != want.Class || got.KeyType != want.KeyType || got.Size != want.Size || got.Flags != want.Flags ||
				string(got.Label) != string(want.Label) || string(got.ID) != string(want.ID) || len(got.Fingerprint) != 32 {
				t.Errorf("identity %+v, want %+v", got, want)
			}
		}
	}
	halves := [2]wire.Identity{}
	for i, object := range ec {
		c := &wire.Identify{Object: object}
		a.Must(c)
		halves[i] = c.Identity
	}
	if halves[0].Same(&halves[1]) || string(halves[0].Fingerprint) == string(halves[1].Fingerprint) {
		t.Error("the halves of a pair have one fingerprint")
	}
	limited := &wire.Find{Limit: 2}
	a.Must(limited)
	if len(limited.Found) != 2 {
		t.Errorf("limit 2: %d found", len(limited.Found))
	}
}

var _ = hosttest.UserPIN
