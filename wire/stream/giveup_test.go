// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"bytes"
	"context"
	"errors"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/wire"
)

// An answer that comes while its caller gives up is nobody's, and no fault of the
// member's: the other sessions of the connection go on.
func TestAnAnswerWhileTheCallerGivesUp(t *testing.T) {
	ours, theirs := loopback(t)
	go Serve(theirs, echo{})
	c := New(ours).(*client)
	defer c.Close()
	s, other := open(t, c).(*session), open(t, c)
	for _, s := range []wire.Stream{s, other} {
		if _, _, err := s.Do(t.Context(), ample, ample, random(1)); err != nil {
			t.Fatal(err)
		}
	}
	s.giveUp(errors.New("it took too long"))
	for _, k := range []kind{part, message} {
		if err := c.hear(k, s.id, []byte("\x01 late")); err != nil {
			t.Errorf("kind %d: %v", k, err)
		}
	}
	if err := c.hear(ended, s.id, []byte("\x00late")); err != nil {
		t.Error(err)
	}
	if _, sent, err := s.Do(t.Context(), ample, ample, random(1)); err == nil || sent || err.Error() != "it took too long" {
		t.Errorf("the next call: sent %v, %v", sent, err)
	}
	if held := c.partial.Load(); held != 0 {
		t.Errorf("%d bytes are kept", held)
	}
	if _, _, err := other.Do(t.Context(), ample, ample, random(1)); err != nil {
		t.Errorf("another session: %v", err)
	}
}

// What ends a call, its context or its alarm, and comes too late for it, does not end the
// next one on that stream.
func TestTheEndOfACallIsNotTheNextOnes(t *testing.T) {
	var s *session
	late := func() {}
	host := hostFunc{random: func(context.Context, *wire.GenerateRandom) pkcs11.RV { late(); return pkcs11.CKR_OK }}
	ours, theirs := loopback(t)
	go Serve(theirs, host)
	c := New(ours)
	defer c.Close()
	s = open(t, c).(*session)
	if _, _, err := s.Do(t.Context(), ample, ample, random(1)); err != nil {
		t.Fatal(err)
	}
	late = func() {
		s.abandon(1, context.Canceled)
		s.expire()
	}
	if _, _, err := s.Do(t.Context(), ample, ample, random(1)); err != nil {
		t.Error(err)
	}
	late()
	if _, _, err := s.Do(t.Context(), ample, ample, random(1)); err != nil {
		t.Errorf("between two calls: %v", err)
	}
}

// A call ends with its context, also while it is under way.
func TestACallEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	over := make(chan struct{})
	defer close(over)
	ours, theirs := loopback(t)
	go Serve(theirs, hostFunc{random: func(context.Context, *wire.GenerateRandom) pkcs11.RV { cancel(); <-over; return pkcs11.CKR_OK }})
	c := New(ours)
	defer c.Close()
	if _, sent, err := open(t, c).Do(ctx, ample, ample, random(1)); !errors.Is(err, context.Canceled) || !sent {
		t.Errorf("sent %v, %v", sent, err)
	}
	if _, sent, err := open(t, c).Do(ctx, ample, ample, random(1)); !errors.Is(err, context.Canceled) || sent {
		t.Errorf("the next: sent %v, %v", sent, err)
	}
}

// slowToOpen is a host whose sessions open when they are told to.
type slowToOpen struct {
	hostFunc
	open <-chan struct{}
}

func (h slowToOpen) Open(wire.View) (wire.HostSession, error) { <-h.open; return h, nil }

// until reads frames until the pong, and returns those before it by kind.
func until(t *testing.T, in *reader) (kinds []kind) {
	t.Helper()
	for {
		k, _, _, err := in.next()
		if err != nil {
			t.Fatal(err)
		}
		if k == pong {
			return kinds
		}
		kinds = append(kinds, k)
	}
}

// A message whose stream has ended before it was begun is not acted on (K5): the engine
// may have looked already what became of it.
func TestAMessageOfAStreamThatHasEnded(t *testing.T) {
	ours, theirs := net.Pipe()
	defer ours.Close()
	in := newReader(ours)
	var ran atomic.Int32
	opens, closed := make(chan struct{}), make(chan struct{}, 1)
	go Serve(theirs, slowToOpen{hostFunc{closed: closed, random: func(context.Context, *wire.GenerateRandom) pkcs11.RV {
		ran.Add(1)
		return pkcs11.CKR_OK
	}}, opens})
	ours.Write(frames(frame(opening, 1, "group"), frame(message, 1, asking(1)), frame(closing, 1, ""), frame(ping, 0, "")))
	until(t, in)
	close(opens)
	<-closed
	if n := ran.Load(); n != 0 {
		t.Errorf("%d calls ran", n)
	}
}

// An answer of a stream that has ended takes nobody's time on a slow link, whether it was
// complete before or after.
func TestTheAnswerOfAStreamThatHasEnded(t *testing.T) {
	for what, begun := range map[string]bool{"under way": true, "not begun": false} {
		synctest.Test(t, func(t *testing.T) {
			ours, theirs := net.Pipe()
			in := newReader(ours)
			answer, closed, over := make(chan struct{}), make(chan struct{}, 1), make(chan struct{})
			go func() {
				defer close(over)
				Serve(theirs, hostFunc{closed: closed, random: func(ctx context.Context, c *wire.GenerateRandom) pkcs11.RV {
					<-answer
					return echo{}.GenerateRandom(ctx, c)
				}})
			}()
			ours.Write(frames(frame(opening, 1, "group"), frame(message, 1, asking(4<<20))))
			if begun {
				close(answer)
				synctest.Wait()
			}
			ours.Write(frame(closing, 1, ""))
			synctest.Wait()
			if !begun {
				close(answer)
			}
			<-closed
			ours.Write(frame(ping, 0, ""))
			if got := until(t, in); len(got) > 1 || !begun && len(got) > 0 {
				t.Errorf("%s: %d frames of it came", what, len(got))
			}
			ours.Close()
			<-over
		})
	}
}

// A client knows no PIN any more when the call is over (docs: a PIN is kept nowhere).
func TestNothingOfARequestIsKept(t *testing.T) {
	secret := strings.Repeat("secret", 20)
	call := &wire.Digest{Data: wire.Data([]byte(secret)), DigestRoom: wire.Room{Capacity: 32}}
	ours, theirs := loopback(t)
	go Serve(theirs, digesting{})
	c := New(ours)
	defer c.Close()
	s := open(t, c).(*session)
	if _, _, err := s.Do(t.Context(), ample, ample, call); err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(s.out.buf[:cap(s.out.buf)], []byte("secret")) {
		t.Error("it is kept")
	}
}

// A connection has numbers for so many streams: before they end its owner is asked for
// another one, and none begins that would have the number of one before.
func TestNumbersEnd(t *testing.T) {
	ours, theirs := loopback(t)
	go Serve(theirs, echo{})
	c := New(ours).(*client)
	defer c.Close()
	call := func() {
		t.Helper()
		if _, _, err := open(t, c).Do(t.Context(), ample, ample, random(1)); err != nil {
			t.Error(err)
		}
	}
	c.last = manyStreams - 2
	call()
	select {
	case <-c.Draining():
		t.Error("it drains early")
	default:
	}
	call()
	select {
	case <-c.Draining():
	case <-time.After(ample):
		t.Error("it does not drain")
	}
	c.last = mostStreams - 1
	call()
	if _, err := c.Open(wire.GroupView); !errors.Is(err, errUsedUp) {
		t.Errorf("one more: %v", err)
	}
}

// F1: a member that answers all sessions at once with what never ends fills so much
// memory of the engine's, and no more.
func TestIncompleteAnswersAreLimited(t *testing.T) {
	ours, theirs := loopback(t)
	defer theirs.Close()
	c := New(ours).(*client)
	defer c.Close()
	piece := strings.Repeat("x", maxPart)
	first, second := open(t, c).(*session), open(t, c).(*session)
	ended := make(chan error, 2)
	ask := func(s *session) {
		_, _, err := s.Do(t.Context(), ample, ample, random(1))
		ended <- err
	}
	in := newReader(theirs)
	go ask(first)
	order(t, in, 2)
	theirs.Write(frames(frame(part, 1, piece), frame(ping, 0, "")))
	order(t, in, 1)
	if held := c.partial.Load(); held != maxPart {
		t.Errorf("%d bytes are held", held)
	}
	first.Close() // what is given up counts no more
	<-ended
	if held := c.partial.Load(); held != 0 {
		t.Errorf("%d bytes are held of nothing", held)
	}
	order(t, in, 1)
	c.partial.Store(maxPartial - 2*maxPart) // of others
	go ask(second)
	order(t, in, 2)
	theirs.Write(frames(frame(part, 2, piece), frame(part, 2, piece), frame(ping, 0, "")))
	order(t, in, 1)
	theirs.Write(frame(part, 2, "x"))
	if err := <-ended; !errors.Is(err, wire.ErrMalformed) || c.Err() == nil {
		t.Errorf("ended with %v", err)
	}
}
