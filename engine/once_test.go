// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"bytes"
	"testing"

	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/wire"
)

// Init and call in one are the two calls: the same result, and the same state of
// the session after it.
func TestOnce(t *testing.T) {
	w := begin(t, 2)
	a := w.application()
	s := w.loggedIn(a)
	key, other := w.generate(a, s, "k", true), w.generate(a, s, "other", true)
	mine, others := w.sign(a, s, key), w.sign(a, s, other)
	if mine == others {
		t.Fatal("two keys sign alike")
	}
	room := wire.Room{Capacity: 64}
	once := func(key uint64, room wire.Room, want pkcs11.RV) string {
		t.Helper()
		c := &wire.SignOnce{Session: s, Key: key, SignatureRoom: room}
		w.call(a, c, want)
		return string(c.Signature.Data)
	}
	if got := once(key, room, pkcs11.CKR_OK); got != mine {
		t.Errorf("signed %x, want %x", got, mine)
	}
	w.call(a, &wire.Sign{Session: s, SignatureRoom: room}, pkcs11.CKR_OPERATION_NOT_INITIALIZED)

	// An operation that is there already is neither used nor ended.
	w.call(a, &wire.SignInit{Session: s, Key: other}, pkcs11.CKR_OK)
	if got := once(key, room, pkcs11.CKR_OPERATION_ACTIVE); got != "" {
		t.Errorf("signed %x", got)
	}
	sign := &wire.Sign{Session: s, SignatureRoom: room}
	w.call(a, sign, pkcs11.CKR_OK)
	if got := string(sign.Signature.Data); got != others {
		t.Errorf("signed %x, want %x", got, others)
	}

	// A key that is no more.
	w.call(a, &wire.DestroyObject{Session: s, Object: key}, pkcs11.CKR_OK)
	once(key, room, pkcs11.CKR_KEY_HANDLE_INVALID)
	w.call(a, &wire.Sign{Session: s, SignatureRoom: room}, pkcs11.CKR_OPERATION_NOT_INITIALIZED)
	w.call(a, &wire.SignOnce{Session: 1, Key: other}, pkcs11.CKR_SESSION_HANDLE_INVALID)

	digest := &wire.Digest{Session: s, Data: wire.Data([]byte("text")), DigestRoom: room}
	w.call(a, &wire.DigestInit{Session: s}, pkcs11.CKR_OK)
	w.call(a, digest, pkcs11.CKR_OK)
	again := &wire.DigestOnce{Session: s, Data: wire.Data([]byte("text")), DigestRoom: room}
	w.call(a, again, pkcs11.CKR_OK)
	if !bytes.Equal(digest.Digest.Data, again.Digest.Data) {
		t.Errorf("digests %x and %x", digest.Digest.Data, again.Digest.Data)
	}
}
