// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"bytes"
	"crypto/sha256"
	"testing"

	"oneslot.dev/oneslot/member/fake"
	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/wire"
)

// H2, H3, F4: a member is lost by the very call that digests a key. On another one the same
// number is another key's handle: that one is not digested.
func TestAMemberIsLostByDigestKey(t *testing.T) {
	for _, lost := range []fake.Outcome{fake.LostBefore, fake.LostAfter} {
		w := begin(t, 2)
		a := w.application()
		s := w.loggedIn(a)
		w.members["b"].Token.Reverse()
		keys := make([]uint64, 4)
		for i := range keys {
			keys[i] = w.generate(a, s, string(rune('1'+i)), true)
		}
		w.allReady(a)
		for _, m := range w.members { // each has seen the keys in another order
			m.Down()
			m.Token.Reverse()
			m.Up()
			w.allReady(a)
			w.find(a, s)
		}
		for i, key := range keys {
			fingerprint := []byte(w.sign(a, s, key))
			w.call(a, &wire.DigestInit{Session: s}, pkcs11.CKR_OK)
			w.call(a, &wire.DigestUpdate{Session: s, Part: wire.Data([]byte("before"))}, pkcs11.CKR_OK)
			for _, m := range w.members {
				m.Once(wire.NumberDigestKey, lost)
			}
			w.members["b"].Script(nil)
			if i%2 == 1 {
				w.members["a"].Script(nil)
				w.members["b"].Once(wire.NumberDigestKey, lost)
			}
			w.call(a, &wire.DigestKey{Session: s, Key: key}, pkcs11.CKR_OK)
			final := wire.DigestFinal{Session: s, DigestRoom: wire.Room{Capacity: 32}}
			w.call(a, &final, pkcs11.CKR_OK)
			want := sha256.Sum256(append([]byte("before"), fingerprint...))
			if !bytes.Equal(final.Digest.Data, want[:]) {
				t.Errorf("key %d: the digest is not of this key", i)
			}
			w.allReady(a)
		}
	}
}
