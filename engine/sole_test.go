// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"crypto/sha256"
	"encoding/json"
	"testing"
	"testing/synctest"

	"oneslot.dev/oneslot/member"
	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/wire"
)

// plant puts an object on one member behind everybody's back.
func (w *world) plant(name string, id wire.Identity) {
	w.Helper()
	conn, err := w.members[name].Connect(w.Context())
	if err != nil {
		w.Fatal(err)
	}
	defer conn.Close()
	session, err := conn.Open(wire.TokenView)
	if err != nil {
		w.Fatal(err)
	}
	blob, err := json.Marshal(struct{ Identity wire.Identity }{id})
	if err != nil {
		w.Fatal(err)
	}
	for _, c := range []wire.Call{
		&wire.Login{User: pkcs11.CKU_USER, Pin: pkcs11.PIN(pin)},
		&wire.Import{Blob: blob, Token: true, Copies: 99},
	} {
		if _, err := session.Do(w.Context(), member.Limits{}, c); err != nil || c.Result() != pkcs11.CKR_OK {
			w.Fatalf("%v: %v, %v", c.Number(), err, c.Result())
		}
	}
}

// K8, L3, H4: keys that were made elsewhere than on the primary so that they cannot leave
// their token are found all the same, each once, and used where they are; also those that
// could not be recognised on another member.
func TestAKeyThatIsNotOnThePrimary(t *testing.T) {
	for name, fingerprint := range map[string][]byte{"known": digest("key"), "nameless": nil} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := begin(t, 3)
				sole := wire.Identity{Class: pkcs11.CKO_SECRET_KEY, KeyType: pkcs11.CKK_AES, Flags: wire.Private, Fingerprint: fingerprint, Label: []byte("on b")}
				w.plant("b", sole)
				both := sole
				both.Label = []byte("on all")
				if fingerprint != nil {
					both.Fingerprint = digest("another key")
				}
				for _, m := range []string{"a", "b", "c"} {
					w.plant(m, both)
				}
				a := w.application()
				s := w.loggedIn(a)
				found := w.find(a, s)
				if len(found) != 2 {
					t.Fatalf("found %x, want two objects", found)
				}
				w.call(a, &wire.DestroyObject{Session: s, Object: found[1]}, pkcs11.CKR_OK)
				w.wantFound(a, s, found[0])
			})
		})
	}
}

func digest(text string) []byte {
	sum := sha256.Sum256([]byte(text))
	return sum[:]
}
