// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"net"
	"syscall"
	"testing"

	"oneslot.dev/oneslot/member/fake"
	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/wire"
)

// H6, field-J4: a module that has given up waiting for an Init takes it for failed. What
// the Init begins in the engine later does not stay active.
func TestWhatNobodyHeardOfIsNotActive(t *testing.T) {
	for name, held := range map[string]struct {
		init, on wire.Number // the call, and what it needs of a member
		again    func(s, key uint64) wire.Call
	}{
		"search": {wire.NumberFindObjectsInit, wire.NumberFind, func(s, _ uint64) wire.Call {
			return &wire.FindObjectsInit{Session: s}
		}},
		"signature": {wire.NumberSignInit, wire.NumberSignInit, func(s, key uint64) wire.Call {
			return &wire.SignInit{Session: s, Key: key}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			w := begin(t, 1)
			a := w.application()
			s := w.loggedIn(a)
			key := w.generate(a, s, "k", true)
			conn := w.attach(a)
			reached, release := make(chan struct{}), make(chan struct{})
			w.members["a"].Script(func(c wire.Call) fake.Outcome {
				if c.Number() == held.on {
					close(reached)
					<-release
				}
				return fake.Answered
			})
			var e wire.Encoder
			e.Ulong(s)
			if held.init == wire.NumberFindObjectsInit {
				e.Bool(true)
				e.Ulong(0) // attributes
			} else {
				e.Bool(true)
				e.Ulong(0) // the mechanism
				e.Bool(false)
				e.Ulong(0) // its parameter
				e.Ulong(key)
			}
			done := make(chan struct{})
			go func() {
				defer close(done)
				send(t, conn, held.init, e.Buf)
			}()
			<-reached
			conn.Close() // the module's silence is over
			<-done
			close(release)
			w.members["a"].Script(nil)
			w.until("the connection has ended", func() bool {
				a.mu.Lock()
				defer a.mu.Unlock()
				return len(a.further) == 0
			})
			w.call(a, held.again(s, key), pkcs11.CKR_OK)
		})
	}
}

// attach makes a further connection of an application, and returns the module's end.
func (w *world) attach(a *application) *net.UnixConn {
	w.Helper()
	ours, theirs, err := wire.SocketPair(syscall.SOCK_STREAM)
	if err != nil {
		w.Fatal(err)
	}
	defer theirs.Close()
	conn, err := net.FileConn(theirs)
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() { ours.Close() })
	if !a.adopt(wire.NewFrames(conn.(*net.UnixConn))) {
		w.Fatal("the application is gone")
	}
	return ours
}
