// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"errors"
	"net"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"oneslot.dev/oneslot/test/trickle"
	"oneslot.dev/oneslot/wire"
)

// bubble makes a connection whose client's end is given to between, in fake time.
func bubble(t *testing.T, s Service, client, host func(net.Conn) net.Conn) (wire.Client, <-chan error) {
	t.Helper()
	ours, theirs := net.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(host(theirs)) }()
	return New(client(ours)), ended
}

func same(c net.Conn) net.Conn { return c }

// slowly sends a byte of each longer message now and then, for ever.
func slowly(c net.Conn) net.Conn { return trickle.Conn(c, 100, 7*time.Second) }

// field-L4: a client begins a request, sends a byte now and then, and gives every sign of
// life that it is asked for. Its connection ends when its time is over.
func TestARequestThatNeverEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const most = 2 * time.Minute
		c, ended := bubble(t, Service{Host: digesting{}, Message: most}, slowly, same)
		defer c.Close()
		s := open(t, c)
		if _, _, err := s.Do(t.Context(), ample, ample, random(1)); err != nil {
			t.Fatal(err) // a small one goes through
		}
		time.Sleep(time.Hour) // nothing is begun: nothing is late
		begin := time.Now()
		call := &wire.Digest{Data: wire.Data(make([]byte, 1000)), DigestRoom: wire.Room{Capacity: 32}}
		if _, _, err := s.Do(t.Context(), 24*time.Hour, 24*time.Hour, call); err == nil {
			t.Error("it was answered")
		}
		if err := <-ended; !errors.Is(err, ErrUnfinished) {
			t.Errorf("the connection ended with %v", err)
		}
		if took := time.Since(begin); took < most || took > most+time.Second {
			t.Errorf("it took %v", took)
		}
	})
}

// A client asks for more than it takes, and asks again: the session does not wait for it
// for ever.
func TestAnswersThatNobodyTakes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const most = 2 * time.Minute
		ours, theirs := net.Pipe()
		defer ours.Close()
		ended := make(chan error, 1)
		go func() { ended <- Service{Host: echo{}, Message: most}.Serve(theirs) }()
		begin := time.Now()
		ours.Write(frames(frame(opening, 1, "group"), frame(message, 1, asking(4<<20))))
		alive := make(chan struct{})
		go func() { // it gives every sign of life
			defer close(alive)
			for err := error(nil); err == nil; time.Sleep(pingAfter / 2) {
				_, err = ours.Write(frame(pong, 0, ""))
			}
		}()
		if err := <-ended; !errors.Is(err, ErrUnfinished) {
			t.Errorf("the connection ended with %v", err)
		}
		if took := time.Since(begin); took < most || took > most+time.Second {
			t.Errorf("it took %v", took)
		}
		<-alive
	})
}

// The same from an appliance: whatever does not end, a record, a frame or a message, the
// client gives it up as a silent one, also while pings are answered (F1).
func TestAnAnswerThatNeverEnds(t *testing.T) {
	const silence = 20 * time.Second
	synctest.Test(t, func(t *testing.T) {
		c, ended := bubble(t, Service{Host: echo{}}, same, slowly)
		s := open(t, c)
		begin := time.Now()
		_, sent, err := s.Do(t.Context(), silence, time.Hour, random(1000))
		if took := time.Since(begin); err == nil || !sent || took != silence {
			t.Errorf("after %v: sent %v, %v", took, sent, err)
		}
		c.Close()
		<-ended
	})
}

// Small requests have large answers, which nobody takes: memory is limited for them, too.
func TestMemoryOfAnswersIsLimited(t *testing.T) {
	const size, most = 4 << 20, 64 << 20
	ours, theirs := pair(t, syscall.SOCK_STREAM)
	defer ours.Close()
	ended := make(chan error, 1)
	go func() { ended <- Service{Host: echo{}, Memory: most}.Serve(theirs) }()
	for id := range uint32(2 * most / size) {
		if _, err := ours.Write(frames(frame(opening, id+1, "group"), frame(message, id+1, asking(size)))); err != nil {
			break // ended already
		}
	}
	select {
	case err := <-ended:
		if !errors.Is(err, ErrMemory) {
			t.Errorf("ended with %v", err)
		}
	case <-time.After(ample):
		t.Errorf("it goes on with %d MiB", heap()>>20)
	}
}
