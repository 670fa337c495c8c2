// SPDX-License-Identifier: Apache-2.0

package host_test

import (
	"fmt"
	"testing"

	"oneslot.dev/oneslot/host/hosttest"
	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/wire"
)

// H4: a search that finds more than a module is asked for at once finds each object, once,
// and leaves no search open.
func TestASearchIsWhole(t *testing.T) {
	s := hosttest.Open(t, hosttest.Start(t, hosttest.Token(t, "one")), wire.TokenView)
	s.Login()
	made := map[uint64]bool{}
	look := func() {
		t.Helper()
		seen := map[uint64]bool{}
		for _, id := range found(s, number(pkcs11.CKA_CLASS, pkcs11.CKO_DATA)) {
			if seen[id.Object] || !made[id.Object] {
				t.Errorf("object %d: found twice, or not ours", id.Object)
			}
			seen[id.Object] = true
		}
		if len(seen) != len(made) {
			t.Errorf("%d of %d objects found", len(seen), len(made))
		}
	}
	for _, n := range []int{0, 1, 255, 256, 257} {
		for len(made) < n {
			c := &wire.CreateObject{Template: pkcs11.Template{pkcs11.Ulong(pkcs11.CKA_CLASS, pkcs11.CKO_DATA),
				pkcs11.Bytes(pkcs11.CKA_LABEL, fmt.Append(nil, len(made))), pkcs11.Bool(pkcs11.CKA_TOKEN, false), pkcs11.Bool(pkcs11.CKA_PRIVATE, false)}}
			s.Must(c)
			made[c.Object] = true
		}
		look()
		s.Must(&wire.FindObjectsInit{}, &wire.FindObjectsFinal{}) // none is open
	}
}
