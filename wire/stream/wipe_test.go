// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"bytes"
	"errors"
	"net"
	"testing"
	"testing/synctest"

	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/wire"
)

// gated is a host that has no token, and says so when it is told to.
type gated struct{ gate <-chan struct{} }

func (g gated) Open(wire.View) (wire.HostSession, error) {
	<-g.gate
	return nil, errors.New("no token")
}

// A request may hold a PIN. Nothing of it stays in the memory that it came in, nor in that
// which it was put together in, also if nobody ever answers it.
func TestRequestsThatNobodyAnswersAreWiped(t *testing.T) {
	login := wire.AppendRequest(nil, []wire.Call{&wire.Login{Pin: pkcs11.PIN("secret-pin")}})
	wiped := func(what string, memory []byte) {
		t.Helper()
		if len(memory) == 0 || len(bytes.Trim(memory, "\x00")) > 0 {
			t.Errorf("%s: %q is left", what, memory)
		}
	}
	for what, end := range map[string]func(h *hosting){
		"there is no token":   func(*hosting) {},
		"the engine ends it":  func(h *hosting) { h.close(1) },
		"the connection ends": func(h *hosting) { h.stop(net.ErrClosed) },
	} {
		synctest.Test(t, func(t *testing.T) {
			ours, theirs := net.Pipe()
			defer ours.Close()
			open := make(chan struct{})
			h := newHosting(theirs, Service{Host: gated{open}})
			if err := h.open(1, wire.GroupView); err != nil {
				t.Fatal(err)
			}
			s := h.streams[1]
			first, next := bytes.Clone(login), bytes.Clone(login)
			if err := errors.Join(h.take(message, 1, first), h.take(part, 1, next)); err != nil {
				t.Fatal(err)
			}
			wiped(what+", what came", first)
			wiped(what+", what came of the next", next)
			kept, partial := <-s.whole, s.partial
			s.whole <- kept
			end(h)
			ended := h.streams[1] == nil
			close(open)
			synctest.Wait()
			wiped(what+", the message", kept)
			if ended { // else the member ended it, and the reader still has the part
				wiped(what+", the part", partial)
			}
			h.stop(net.ErrClosed)
		})
	}
}

// The same at the engine, where the request was made.
func TestRequestsThatAreNotSentAreWiped(t *testing.T) {
	ours, theirs := net.Pipe()
	defer theirs.Close()
	client := New(ours).(*client)
	defer client.Close()
	stream := open(t, client).(*session)
	client.link.end(net.ErrClosed) // before the reader knows of it
	if _, sent, err := stream.Do(t.Context(), ample, ample, &wire.Login{Pin: pkcs11.PIN("secret-pin")}); err == nil || sent {
		t.Errorf("sent %v, %v", sent, err)
	}
	if bytes.Contains(stream.out.buf, []byte("secret-pin")) {
		t.Errorf("%q is left", stream.out.buf)
	}
}
