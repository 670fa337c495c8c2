// SPDX-License-Identifier: Apache-2.0

package host_test

import (
	"sync"
	"testing"

	"oneslot.dev/oneslot/host/hosttest"
	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/wire"
)

// TestManySessions has sessions of one process work at once: each does what
// touches what they share.
func TestManySessions(t *testing.T) {
	client := hosttest.Start(t, hosttest.Token(t, "a"))
	first := joined(t, client, 1)
	source := keyOf(pkcs11.CKM_AES_KEY_GEN, number(pkcs11.CKA_VALUE_LEN, 32))(first)[0]
	blob := export(first, source)
	first.Must(&wire.Publish{Object: source, Copies: 1})
	var all sync.WaitGroup
	for range 6 {
		s := hosttest.Open(t, client, wire.GroupView)
		all.Go(func() {
			for range 4 {
				pair := pairOf(pkcs11.CKM_EC_KEY_PAIR_GEN, p256, yes(pkcs11.CKA_SIGN))(s)
				sign(s, mechanism(pkcs11.CKM_ECDSA, nil), pair[1], make([]byte, 32))
				publish := &wire.Publish{Object: pair[1], Copies: 1}
				again := &wire.Import{Blob: blob, Token: true, Copies: 1}
				s.Must(publish, again, &wire.Find{Template: number(pkcs11.CKA_CLASS, pkcs11.CKO_PRIVATE_KEY)})
				s.Must(&wire.DestroyObject{Object: publish.Identity.Object}, &wire.DestroyObject{Object: pair[0]}, &wire.DestroyObject{Object: pair[1]})
			}
		})
	}
	all.Wait()
	first.Must(&wire.DestroyObject{Object: source})
	if left := found(first, nil); len(left) != 1 {
		t.Errorf("left: %d objects", len(left))
	}
}
