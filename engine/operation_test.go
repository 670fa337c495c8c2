// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"bytes"
	"crypto/sha256"
	"sync"
	"testing"

	"oneslot.dev/oneslot/member/fake"
	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/wire"
)

// Field-J5: the state of an operation is the engine's to know.
func TestWrongOrder(t *testing.T) {
	w := begin(t, 2)
	a := w.application()
	s := w.loggedIn(a)
	other := w.open(a, 0)
	key := w.generate(a, s, "k", true)
	room := wire.Room{Capacity: 64}
	w.call(a, &wire.Sign{Session: s, SignatureRoom: room}, pkcs11.CKR_OPERATION_NOT_INITIALIZED)
	w.call(a, &wire.DigestUpdate{Session: s}, pkcs11.CKR_OPERATION_NOT_INITIALIZED)
	w.call(a, &wire.SignInit{Session: s, Key: 12345}, pkcs11.CKR_KEY_HANDLE_INVALID)
	w.call(a, &wire.SignInit{Session: s, Mechanism: pkcs11.Mechanism{Absent: true}, Key: key}, pkcs11.CKR_ARGUMENTS_BAD)
	w.call(a, &wire.SignInit{Session: s, Key: key}, pkcs11.CKR_OK)
	w.call(a, &wire.SignInit{Session: s, Key: key}, pkcs11.CKR_OPERATION_ACTIVE)
	w.call(a, &wire.Sign{Session: other, SignatureRoom: room}, pkcs11.CKR_OPERATION_NOT_INITIALIZED)
	w.call(a, &wire.DigestInit{Session: s}, pkcs11.CKR_OK) // another kind may be active beside
	w.call(a, &wire.DigestUpdate{Session: s, Part: wire.Data([]byte("x"))}, pkcs11.CKR_OK)
	w.call(a, &wire.Digest{Session: s, DigestRoom: room}, pkcs11.CKR_OPERATION_NOT_INITIALIZED)
	w.call(a, &wire.Sign{Session: s, SignatureRoom: room}, pkcs11.CKR_OK)
	w.call(a, &wire.Sign{Session: s, SignatureRoom: room}, pkcs11.CKR_OPERATION_NOT_INITIALIZED)
}

// Field-J2: a question for the length, and a short buffer, keep the operation,
// also over the loss of the member.
func TestLengthThenCall(t *testing.T) {
	w := begin(t, 2)
	a := w.application()
	s := w.loggedIn(a)
	sum := sha256.Sum256([]byte("data"))
	w.call(a, &wire.DigestInit{Session: s}, pkcs11.CKR_OK)
	ask := wire.Digest{Session: s, Data: wire.Data([]byte("data")), DigestRoom: wire.Room{Null: true}}
	w.call(a, &ask, pkcs11.CKR_OK)
	if ask.Digest.Len() != 32 {
		t.Errorf("length %d", ask.Digest.Len())
	}
	short := wire.Digest{Session: s, Data: wire.Data([]byte("data")), DigestRoom: wire.Room{Capacity: 5}}
	w.call(a, &short, pkcs11.CKR_BUFFER_TOO_SMALL)
	w.members["a"].Down()
	full := wire.Digest{Session: s, Data: wire.Data([]byte("data")), DigestRoom: wire.Room{Capacity: 32}}
	w.call(a, &full, pkcs11.CKR_OK)
	if !bytes.Equal(full.Digest.Data, sum[:]) {
		t.Errorf("digest %x", full.Digest.Data)
	}
}

// F4, field-J1: a member lost between any two parts is not noticed while what
// was fed in is kept.
func TestMultiPartMoves(t *testing.T) {
	for lost := range 4 {
		w := begin(t, 3)
		a := w.application()
		s := w.loggedIn(a)
		key := w.generate(a, s, "k", true)
		w.allReady(a)
		w.call(a, &wire.DigestInit{Session: s}, pkcs11.CKR_OK)
		w.call(a, &wire.EncryptInit{Session: s, Key: key}, pkcs11.CKR_OK)
		want := sha256.New()
		var out []byte
		for part := range 3 {
			if part == lost {
				w.loseThoseAtWork(a)
			}
			data := bytes.Repeat([]byte{byte('a' + part)}, 5+part)
			want.Write(data)
			w.call(a, &wire.DigestUpdate{Session: s, Part: wire.Data(data)}, pkcs11.CKR_OK)
			update := wire.EncryptUpdate{Session: s, Part: wire.Data(data), EncryptedRoom: wire.Room{Capacity: 64}}
			w.call(a, &update, pkcs11.CKR_OK)
			out = append(out, update.Encrypted.Data...)
		}
		w.call(a, &wire.DigestKey{Session: s, Key: key}, pkcs11.CKR_OK)
		if lost == 3 {
			w.loseThoseAtWork(a)
		}
		fingerprint := []byte(w.sign(a, s, key))
		want.Write(fingerprint)
		final := wire.DigestFinal{Session: s, DigestRoom: wire.Room{Capacity: 64}}
		w.call(a, &final, pkcs11.CKR_OK)
		if !bytes.Equal(final.Digest.Data, want.Sum(nil)) {
			t.Errorf("lost before part %d: another digest", lost)
		}
		w.call(a, &wire.EncryptFinal{Session: s, EncryptedRoom: wire.Room{Capacity: 64}}, pkcs11.CKR_OK)
		for i, b := range []byte("aaaaabbbbbbccccccc") {
			if out[i] != b^fingerprint[i%32] {
				t.Fatalf("lost before part %d: the ciphertext differs at %d", lost, i)
			}
		}
	}
}

// loseThoseAtWork breaks the connection of each member but the last of the
// group, one after the other, so that whichever the operations are on is hit.
func (w *world) loseThoseAtWork(a *application) {
	w.Helper()
	for _, name := range []string{"a", "b"} {
		w.members[name].Down()
		w.members[name].Up()
	}
	w.members["c"].Down()
	w.members["c"].Up()
	w.allReady(a)
}

// F4: beyond the limit the operation ends, and the session is usable.
func TestReplayLimit(t *testing.T) {
	w := begin(t, 2, `replay_limit = "16B"`)
	a := w.application()
	s := w.loggedIn(a)
	w.call(a, &wire.DigestInit{Session: s}, pkcs11.CKR_OK)
	w.call(a, &wire.DigestUpdate{Session: s, Part: wire.Data(make([]byte, 17))}, pkcs11.CKR_OK)
	w.members["a"].Down()
	w.members["b"].Down()
	w.members["a"].Up()
	w.members["b"].Up()
	w.allReady(a)
	w.call(a, &wire.DigestUpdate{Session: s, Part: wire.Data([]byte("x"))}, pkcs11.CKR_DEVICE_ERROR)
	w.call(a, &wire.DigestUpdate{Session: s}, pkcs11.CKR_OPERATION_NOT_INITIALIZED)
	w.call(a, &wire.DigestInit{Session: s}, pkcs11.CKR_OK)
	w.call(a, &wire.Digest{Session: s, DigestRoom: wire.Room{Capacity: 32}}, pkcs11.CKR_OK)
}

// Issue: output that a repetition does not reproduce must not be continued.
func TestRepetitionWithOtherOutputFails(t *testing.T) {
	w := begin(t, 2)
	a := w.application()
	s := w.loggedIn(a)
	key := w.generate(a, s, "k", true)
	w.call(a, &wire.EncryptInit{Session: s, Key: key}, pkcs11.CKR_OK)
	room := wire.Room{Capacity: 64}
	w.call(a, &wire.EncryptUpdate{Session: s, Part: wire.Data([]byte("first")), EncryptedRoom: room}, pkcs11.CKR_OK)
	for _, m := range w.members {
		m.Token.Salt(1)
		m.Down()
		m.Up()
	}
	w.allReady(a)
	w.call(a, &wire.EncryptUpdate{Session: s, Part: wire.Data([]byte("second")), EncryptedRoom: room}, pkcs11.CKR_DEVICE_ERROR)
	w.call(a, &wire.EncryptFinal{Session: s, EncryptedRoom: room}, pkcs11.CKR_OPERATION_NOT_INITIALIZED)
}

// Field-H12: several threads on one session: errors, but never another's data.
func TestThreadsOnOneSession(t *testing.T) {
	w := begin(t, 2)
	a := w.application()
	s := w.loggedIn(a)
	keys := []uint64{w.generate(a, s, "1", true), w.generate(a, s, "2", true)}
	var threads sync.WaitGroup
	for i := range 8 {
		threads.Go(func() {
			for range 200 {
				init := wire.SignInit{Session: s, Key: keys[i%2]}
				wire.DispatchCryptoki(t.Context(), a, &init)
				if init.RV == pkcs11.CKR_OPERATION_ACTIVE {
					continue
				}
				sign := wire.Sign{Session: s, SignatureRoom: wire.Room{Capacity: 64}}
				wire.DispatchCryptoki(t.Context(), a, &sign)
				switch sign.RV {
				case pkcs11.CKR_OK, pkcs11.CKR_OPERATION_ACTIVE, pkcs11.CKR_OPERATION_NOT_INITIALIZED:
				default:
					t.Errorf("sign: %v", sign.RV)
				}
			}
		})
	}
	threads.Wait()
}

// Field-H12: what another thread does on the session in the middle of an operation does
// not touch it: not between its Init and its call, nor while a member works on it.
func TestAnotherThreadInTheMiddle(t *testing.T) {
	w := begin(t, 1)
	a := w.application()
	s := w.loggedIn(a)
	keys := []uint64{w.generate(a, s, "1", true), w.generate(a, s, "2", true)}
	own := w.sign(a, s, keys[0])
	w.sign(a, s, keys[1])
	room := wire.Room{Capacity: 64}
	others := func() {
		w.call(a, &wire.SignOnce{Session: s, Key: keys[1], SignatureRoom: room}, pkcs11.CKR_OPERATION_ACTIVE)
		w.call(a, &wire.SignInit{Session: s, Key: keys[1]}, pkcs11.CKR_OPERATION_ACTIVE)
	}
	w.call(a, &wire.SignInit{Session: s, Key: keys[0]}, pkcs11.CKR_OK)
	others()
	working, goOn := make(chan struct{}), make(chan struct{})
	w.members["a"].Script(func(c wire.Call) fake.Outcome {
		if c.Number() == wire.NumberSign {
			working <- struct{}{}
			<-goOn
		}
		return fake.Answered
	})
	signed := make(chan string)
	go func() {
		c := wire.Sign{Session: s, SignatureRoom: room}
		wire.DispatchCryptoki(t.Context(), a, &c)
		signed <- string(c.Signature.Data)
	}()
	<-working
	w.members["a"].Script(nil)
	others()
	w.call(a, &wire.Sign{Session: s, SignatureRoom: room}, pkcs11.CKR_OPERATION_ACTIVE)
	close(goOn)
	if got := <-signed; got != own {
		t.Errorf("the signature is %x, not by the thread's key", got)
	}
	w.call(a, &wire.Sign{Session: s, SignatureRoom: room}, pkcs11.CKR_OPERATION_NOT_INITIALIZED)
}

// H3, field-H12: between an Init and the call that came with it another thread ends the
// operation and begins one with another key. The call does not work with that one.
func TestAnInitAndItsCallAreOne(t *testing.T) {
	w := begin(t, 1)
	a := w.application()
	s := w.loggedIn(a)
	keys := []uint64{w.generate(a, s, "1", true), w.generate(a, s, "2", true)}
	other := w.sign(a, s, keys[1])
	room := wire.Room{Capacity: 64}
	op, rv := a.beginOperation(nil, s, signing, pkcs11.Mechanism{}, keys[0]) // as once does
	if rv != pkcs11.CKR_OK {
		t.Fatal(rv)
	}
	w.call(a, &wire.Sign{Session: s, SignatureRoom: room}, pkcs11.CKR_OK) // the other thread
	w.call(a, &wire.SignInit{Session: s, Key: keys[1]}, pkcs11.CKR_OK)
	if _, taken, rv := a.claimFor(s, signing, op); rv != pkcs11.CKR_OPERATION_NOT_INITIALIZED || taken != nil {
		t.Errorf("the call took the operation of another thread: %v", rv)
	}
	c := wire.Sign{Session: s, SignatureRoom: room}
	w.call(a, &c, pkcs11.CKR_OK)
	if string(c.Signature.Data) != other {
		t.Error("the other thread's operation is not what it was")
	}
	w.call(a, &wire.SignOnce{Session: s, Mechanism: pkcs11.Mechanism{Absent: true}, Key: keys[0], SignatureRoom: room}, pkcs11.CKR_ARGUMENTS_BAD)
}

// H1, H3, field-A2: a member that comes back with other handle numbers still
// signs with the key that was meant, or not at all.
func TestNeverTheWrongKey(t *testing.T) {
	w := begin(t, 2)
	a := w.application()
	s := w.loggedIn(a)
	keys := []uint64{w.generate(a, s, "same", true), w.generate(a, s, "same", true)}
	want := []string{w.sign(a, s, keys[0]), w.sign(a, s, keys[1])}
	if want[0] == want[1] {
		t.Fatal("two keys sign alike")
	}
	stop := make(chan struct{})
	var threads sync.WaitGroup
	for i := range 8 {
		threads.Go(func() {
			mine := w.open(a, 0)
			for {
				select {
				case <-stop:
					return
				default:
				}
				if got := w.sign(a, mine, keys[i%2]); got != want[i%2] {
					t.Error("a signature by another key")
				}
			}
		})
	}
	for range 4 {
		for i, name := range []string{"a", "b"} {
			failures := func() uint64 { return a.slots[0].group.Snapshot().Members[i].Failures }
			before := failures()
			w.members[name].Once(wire.NumberSign, fake.LostAfter)
			w.until("an answer to be lost", func() bool { return failures() > before })
			w.allReady(a)
			w.members[name].Script(nil)
		}
	}
	close(stop)
	threads.Wait()
}
