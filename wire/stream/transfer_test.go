// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"oneslot.dev/oneslot/test/trickle"
	"oneslot.dev/oneslot/wire"
)

// frame is one of HTTP/2.
func frame(kind, flags byte, stream byte, payload string) string {
	n := len(payload)
	return string([]byte{byte(n >> 16), byte(n >> 8), byte(n), kind, flags, 0, 0, 0, stream}) + payload
}

// Wherever reading stops and however a message is cut into frames, it is known which
// streams are in the middle of one.
func TestUnfinishedMessagesAreFound(t *testing.T) {
	const whole, five = "\x00\x00\x00\x00\x03abc", "\x00\x00\x00\x00\x05"
	for _, c := range []struct {
		what, sent string
		want       []uint32
	}{
		{"nothing", "", nil},
		{"a whole message", frame(0, 0, 1, whole), nil},
		{"two of them", frame(0, 0, 1, whole+whole), nil},
		{"an empty one", frame(0, 0, 1, "\x00\x00\x00\x00\x00"), nil},
		{"a header", frame(0, 0, 1, "\x00\x00"), []uint32{1}},
		{"a part", frame(0, 0, 1, five+"ab"), []uint32{1}},
		{"a part of a frame", frame(0, 0, 1, whole)[:12], []uint32{1}},
		{"its rest", frame(0, 0, 1, five+"ab") + frame(0, 0, 1, "cde"), nil},
		{"its rest, and the next", frame(0, 0, 1, five+"ab") + frame(0, 0, 1, "cde\x00"), []uint32{1}},
		{"parts of two", frame(0, 0, 1, five) + frame(0, 0, 3, five) + frame(0, 0, 1, "abcde"), []uint32{3}},
		{"no data in between", frame(0, 0, 1, five) + frame(6, 0, 0, "pingping") + frame(8, 0, 1, "more") + frame(0, 0, 1, ""), []uint32{1}},
		{"the padding is none of it", frame(0, 8, 1, "\x06"+five+"ab"+"abcdef"), []uint32{1}},
		{"nor does it follow", frame(0, 8, 1, "\x03"+whole+"abc"), nil},
		{"nothing but padding", frame(0, 8, 1, "\x02ab") + frame(0, 8, 3, "\xffab") + frame(0, 8, 5, ""), nil},
		{"the stream ends", frame(0, 0, 1, five) + frame(0, 1, 1, "a"), nil},
		{"by a header", frame(0, 0, 1, five) + frame(1, 1, 1, "head"), nil},
		{"it is reset", frame(0, 0, 1, five) + frame(3, 0, 1, "code"), nil},
	} {
		for _, piece := range []int{1, 2, 7, 1 << 10} {
			transfers := newTransfers(time.Hour, func() { t.Error("late") })
			r := newReader(transfers)
			r.read([]byte("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"))
			for part := range slices.Chunk([]byte(c.sent), piece) {
				r.read(part)
			}
			var got []uint32
			for stream := range transfers.since {
				got = append(got, stream.(uint32))
			}
			if slices.Sort(got); !slices.Equal(got, c.want) || len(r.parts) > len(c.want) {
				t.Errorf("%s, by %d bytes: %v and %v, not %v", c.what, piece, got, r.parts, c.want)
			}
			transfers.stop()
		}
	}
}

// bubble makes a connection whose client's end is given to between, in fake time.
func bubble(t *testing.T, s Service, client, host func(net.Conn) net.Conn) (wire.Client, <-chan error) {
	t.Helper()
	ours, theirs := net.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(host(theirs)) }()
	c, err := New(client(ours))
	if err != nil {
		t.Fatal(err)
	}
	return c, ended
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
		c, ended := bubble(t, Service{Host: echo{}, Message: most}, same, same)
		defer c.Close()
		s := open(t, c)
		if _, _, err := s.Do(t.Context(), ample, ample, random(1)); err != nil {
			t.Fatal(err)
		}
		begin := time.Now()
		for range 3 {
			if err := s.(*grpcStream).stream.SendMsg(&packet{wire.AppendRequest(nil, []wire.Call{random(4 << 20)})}); err != nil {
				t.Fatal(err)
			}
		}
		if err := <-ended; !errors.Is(err, ErrUnfinished) {
			t.Errorf("the connection ended with %v", err)
		}
		if took := time.Since(begin); took < most || took > most+time.Second {
			t.Errorf("it took %v", took)
		}
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

// An appliance takes no more streams, and says so or not. Opening a session waits for
// nothing, and the first message no longer than it may; it was not sent.
func TestAMemberThatTakesNoMoreSessions(t *testing.T) {
	const silence = 20 * time.Second
	synctest.Test(t, func(t *testing.T) {
		c, ended := bubble(t, Service{Host: echo{}, Streams: 2}, same, same)
		first := open(t, c) // one is for notices
		if _, _, err := first.Do(t.Context(), ample, ample, random(1)); err != nil {
			t.Fatal(err)
		}
		begin := time.Now()
		_, sent, err := open(t, c).Do(t.Context(), silence, time.Hour, random(1))
		if took := time.Since(begin); err == nil || sent || took != silence || !strings.Contains(err.Error(), "no sign of life") {
			t.Errorf("after %v: sent %v, %v", took, sent, err)
		}
		if _, _, err := first.Do(t.Context(), ample, ample, random(1)); err != nil {
			t.Errorf("a session that there was: %v", err)
		}
		c.Close()
		<-ended
	})
}

// Small requests have large answers, which nobody takes: memory is limited for them, too.
func TestMemoryOfAnswersIsLimited(t *testing.T) {
	const size, most = 8 << 20, 128 << 20
	ours, theirs := pair(t, syscall.SOCK_STREAM)
	ended := make(chan error, 1)
	go func() { ended <- Service{Host: echo{}, Memory: most}.Serve(theirs) }()
	client, err := New(ours)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	for range 2 * most / size {
		s := open(t, client).(*grpcStream)
		if s.stream, err = client.(*streamClient).grpc.NewStream(s.ctx, &streamDesc, fmt.Sprintf("/%s/%s", serviceName, methodName)); err == nil {
			err = s.stream.SendMsg(&packet{wire.AppendRequest(nil, []wire.Call{random(size)})})
		}
		if err != nil {
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
