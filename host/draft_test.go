// SPDX-License-Identifier: Apache-2.0

package host_test

import (
	"sync/atomic"
	"testing"

	"oneslot.dev/oneslot/host/hosttest"
	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/wire"
)

// H4: what a copy is drafted with is seen by nobody, in no view, and is gone afterwards.
func TestDraftsAreHidden(t *testing.T) {
	from := member(t, "from", 1)
	client := hosttest.Start(t, hosttest.Token(t, "to"))
	to := joined(t, client, 1)
	var blobs [][]byte
	for range 2 {
		for _, object := range pairOf(pkcs11.CKM_EC_KEY_PAIR_GEN, p256, yes(pkcs11.CKA_SIGN))(from) {
			blobs = append(blobs, export(from, object))
		}
		blobs = append(blobs, export(from, keyOf(pkcs11.CKM_AES_KEY_GEN, number(pkcs11.CKA_VALUE_LEN, 32))(from)[0]))
	}
	var done atomic.Bool
	ended := make(chan int)
	for _, view := range []wire.View{wire.GroupView, wire.TokenView} {
		s := hosttest.Open(t, client, view)
		go func() {
			looks := 0
			for ; !done.Load(); looks++ {
				for _, object := range found(s, nil) {
					if object.Flags&wire.OnToken == 0 {
						t.Errorf("a session object is shown: class %#x, label %q", object.Class, object.Label)
					}
				}
			}
			ended <- looks
		}()
	}
	for _, blob := range blobs {
		to.Must(&wire.Import{Blob: blob, Token: true, Copies: 1}, &wire.Record{Record: blob})
	}
	done.Store(true)
	if a, b := <-ended, <-ended; a == 0 || b == 0 {
		t.Error("nobody looked")
	}
	if n := len(found(to, nil)); n != len(blobs) {
		t.Errorf("%d objects, want %d", n, len(blobs))
	}
}
