// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/wire"
)

// The frames are part of the protocol.
func TestFrames(t *testing.T) {
	for want, got := range map[string][]byte{
		"0a00000003070000006772 6f7570": frame(opening, 7, "group"),
		"0500000004 07000000":           frame(closing, 7, ""),
		"0800000005 07000000 00 6e6f":   frame(ended, 7, "\x00no"),
		"0500000006 00000000":           frame(draining, 0, ""),
		"0500000007 00000000":           frame(ping, 0, ""),
		"0500000008 00000000":           frame(pong, 0, ""),
		"0700000002 07000000 6869":      frame(message, 7, "hi"),
		"0700000001 07000000 6869":      frame(part, 7, "hi"),
		"0600000001 ffffffff 00":        frame(part, 1<<32-1, "\x00"),
	} {
		if s := strings.ReplaceAll(want, " ", ""); hex.EncodeToString(got) != s {
			t.Errorf("%x, not %s", got, s)
		}
	}
}

// A message is cut into frames, in the memory that it is in, and is put together again.
func TestMessagesInFrames(t *testing.T) {
	for _, size := range []int{0, 1, maxPart - 1, maxPart, maxPart + 1, 3*maxPart + 17} {
		want := bytes.Repeat([]byte("message "), size/8+1)[:size]
		lead := frame(opening, 3, "group")
		m := &outgoing{buf: append(append(bytes.Clone(lead), make([]byte, headerSize)...), want...), stream: 3}
		m.from = len(lead) + headerSize
		var wired bytes.Buffer
		for !m.done {
			wired.Write(m.next())
		}
		in := newReader(&wired)
		k, id, payload, err := in.next()
		if k != opening || id != 3 || string(payload) != "group" || err != nil {
			t.Fatalf("%v %d %q %v", k, id, payload, err)
		}
		var got []byte
		for k = part; k == part; {
			if k, id, payload, err = in.next(); id != 3 || err != nil || len(payload) > maxPart {
				t.Fatalf("%d bytes: %v %d %v", size, k, id, err)
			}
			got, _ = gather(got, payload)
		}
		if !bytes.Equal(got, want) || k != message || wired.Len() != 0 {
			t.Errorf("%d bytes became %d", size, len(got))
		}
	}
	if _, err := gather(make([]byte, maxMessage), []byte{1}); !errors.Is(err, wire.ErrMalformed) {
		t.Errorf("a message that is too long: %v", err)
	}
}

// queued is a message of a stream in the queue of a link.
func queued(stream uint32, payload string) *outgoing {
	return &outgoing{buf: append(make([]byte, headerSize), payload...), from: headerSize, stream: stream}
}

// order reads frames and returns the streams that they are of.
func order(t *testing.T, in *reader, n int) (ids []uint32) {
	t.Helper()
	for range n {
		_, id, _, err := in.next()
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
	}
	return ids
}

// What is long and what is short take turns, and a frame that is no message goes first.
func TestMessagesTakeTurns(t *testing.T) {
	ours, theirs := net.Pipe()
	defer theirs.Close()
	l := newLink(ours, 0, func(error) {})
	l.send(queued(1, strings.Repeat("x", 3*maxPart)), nil) // its first frame is on its way
	l.send(queued(2, strings.Repeat("x", 2*maxPart)), nil)
	l.send(queued(3, "x"), nil)
	l.tell(closing, 4, "")
	got := order(t, newReader(theirs), 7)
	for i, want := range []uint32{1, 4, 1, 2, 3, 1, 2} {
		if got[i] != want {
			t.Fatalf("the frames are of %v", got)
		}
	}
	ours.Close()
}

// A message that is taken back does not go out, and nobody waits for it. What was
// written is not taken back.
func TestAMessageIsTakenBack(t *testing.T) {
	ours, theirs := net.Pipe()
	defer theirs.Close()
	l := newLink(ours, 0, func(error) {})
	first, second := queued(1, "x"), queued(2, "x")
	if left, err := l.send(first, nil); left != nil || err != nil {
		t.Errorf("the first: %v, %v", left, err)
	}
	left, err := l.send(second, nil)
	if left == nil || err != nil {
		t.Errorf("the second: %v, %v", left, err)
	}
	l.send(queued(3, "x"), nil)
	if !l.take(first) || l.take(second) {
		t.Error("what was sent is not told")
	}
	<-left
	if got := order(t, newReader(theirs), 2); got[0] != 1 || got[1] != 3 {
		t.Errorf("the frames are of %v", got)
	}
	ours.Close()
}

// A call whose time is over before its message was written has not been sent: it may be
// made elsewhere, whatever it does.
func TestACallThatWasNotSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ours, theirs := net.Pipe() // nobody reads
		defer theirs.Close()
		client := New(ours)
		defer client.Close()
		first := open(t, client)
		go first.Do(context.Background(), time.Hour, time.Hour, random(1))
		synctest.Wait()
		begin := time.Now()
		_, sent, err := open(t, client).Do(t.Context(), 3*time.Second, time.Hour, random(1))
		if err == nil || sent || time.Since(begin) != 3*time.Second {
			t.Errorf("sent %v after %v: %v", sent, time.Since(begin), err)
		}
		// The first one's was written as far as this end can tell.
		client.Close()
		if _, sent, err := first.Do(t.Context(), time.Hour, time.Hour, random(1)); err == nil || sent {
			t.Errorf("on a stream that is over: sent %v, %v", sent, err)
		}
	})
}

// An engine that wants more sessions than a connection may have is told so at once, and
// knows that nothing was done; its other sessions go on.
func TestAMemberThatTakesNoMoreSessions(t *testing.T) {
	client, _ := serve(t, Service{Host: echo{}, Streams: 2})
	var open2 []wire.Stream
	for range 2 {
		s := open(t, client)
		if _, _, err := s.Do(t.Context(), ample, ample, random(1)); err != nil {
			t.Fatal(err)
		}
		open2 = append(open2, s)
	}
	_, sent, err := open(t, client).Do(t.Context(), ample, ample, random(1))
	if err == nil || sent || !strings.Contains(err.Error(), "2 sessions") {
		t.Errorf("sent %v, %v", sent, err)
	}
	if _, _, err := open2[0].Do(t.Context(), ample, ample, random(1)); err != nil {
		t.Errorf("a session that there was: %v", err)
	}
	// One that ends makes room.
	open2[1].Close()
	for begin := time.Now(); ; {
		_, _, err = open(t, client).Do(t.Context(), ample, ample, random(1))
		if err == nil || time.Since(begin) > ample {
			break
		}
	}
	if err != nil {
		t.Error(err)
	}
}

// Both ends give their goroutines and timers back.
func TestNothingIsLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ours, theirs := net.Pipe()
		closed := make(chan struct{}, 3)
		over := make(chan error, 1)
		go func() { over <- Serve(theirs, hostFunc{closed: closed, random: echo{}.GenerateRandom}) }()
		client := New(ours)
		for range 3 {
			if _, _, err := open(t, client).Do(t.Context(), ample, ample, random(1)); err != nil {
				t.Error(err)
			}
		}
		client.Close()
		if err := <-over; err != nil {
			t.Error(err)
		}
		for range 3 {
			<-closed
		}
		// Goroutines that are left make the bubble fail.
	})
}

// The end of a stream says whether the token may have acted: what could not be read may
// have been read in part.
func TestTheEndSaysWhatWasDone(t *testing.T) {
	for what, c := range map[string]struct {
		sent []byte
		want byte
	}{
		"no such view":     {frame(opening, 1, "everyone"), 0},
		"a broken message": {frames(frame(opening, 1, "group"), frame(message, 1, "\x01\x00\x00\x00?")), 1},
	} {
		ours, theirs := net.Pipe()
		go Serve(theirs, echo{})
		go ours.Write(c.sent)
		k, id, payload, err := newReader(ours).next()
		if k != ended || id != 1 || err != nil || len(payload) < 2 || payload[0] != c.want {
			t.Errorf("%s: kind %d, stream %d, %q, %v", what, k, id, payload, err)
		}
		ours.Close()
	}
}

// A sign of life is one of the member (F2): while it beats it was heard of.
func TestASignOfLifeIsHeard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ours, theirs := net.Pipe()
		over := make(chan struct{})
		go Serve(theirs, hostFunc{random: func(context.Context, *wire.GenerateRandom) pkcs11.RV { <-over; return pkcs11.CKR_OK }})
		client := New(ours)
		done := make(chan error, 1)
		s := open(t, client)
		go func() {
			_, _, err := s.Do(context.Background(), ample, ample, random(0))
			done <- err
		}()
		time.Sleep(10*wire.Heartbeat + time.Second)
		if silent := time.Since(client.LastSign()); silent > wire.Heartbeat {
			t.Errorf("not heard of for %v", silent)
		}
		close(over)
		if err := <-done; err != nil {
			t.Error(err)
		}
		client.Close()
	})
}
