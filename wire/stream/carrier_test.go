// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"context"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/wire"
)

// echo is a host whose session answers with as many bytes as it is asked for.
type echo struct {
	wire.NoCryptoki
	wire.NoToken
}

func (e echo) Open(wire.View) (wire.HostSession, error) { return e, nil }
func (echo) Close()                                     {}

func (echo) GenerateRandom(_ context.Context, c *wire.GenerateRandom) pkcs11.RV {
	c.Random = wire.Data(make([]byte, c.RandomRoom.Capacity))
	return pkcs11.CKR_OK
}

// carriers makes a connected client on each carrier.
var carriers = map[string]func(testing.TB, wire.Host) wire.Client{
	"sockets": func(tb testing.TB, h wire.Host) wire.Client {
		ours, theirs := pair(tb, syscall.SOCK_SEQPACKET)
		go wire.ServeSockets(theirs, h)
		return wire.NewSockets(ours)
	},
	"streams": func(tb testing.TB, h wire.Host) wire.Client {
		ours, theirs := loopback(tb)
		go Serve(theirs, h)
		return New(ours)
	},
}

func pair(tb testing.TB, kind int) (ours, theirs *net.UnixConn) {
	tb.Helper()
	ours, file, err := wire.SocketPair(kind)
	if err != nil {
		tb.Fatal(err)
	}
	defer file.Close()
	conn, err := net.FileConn(file)
	if err != nil {
		tb.Fatal(err)
	}
	return ours, conn.(*net.UnixConn)
}

// loopback is a connection as between hosts, without TLS.
func loopback(tb testing.TB) (ours, theirs net.Conn) {
	tb.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	defer ln.Close()
	dialed, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		tb.Fatal(err)
	}
	accepted, err := ln.Accept()
	if err != nil {
		tb.Fatal(err)
	}
	return prepared(tb, dialed), prepared(tb, accepted)
}

func prepared(tb testing.TB, conn net.Conn) net.Conn {
	tb.Helper()
	p, err := Prepare(conn.(*net.TCPConn))
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

// hostFunc is a host whose sessions do what the function says.
type hostFunc struct {
	echo
	random func(context.Context, *wire.GenerateRandom) pkcs11.RV
	closed chan<- struct{}
}

func (h hostFunc) Open(wire.View) (wire.HostSession, error) { return h, nil }

func (h hostFunc) GenerateRandom(ctx context.Context, c *wire.GenerateRandom) pkcs11.RV {
	return h.random(ctx, c)
}

func (h hostFunc) Close() {
	if h.closed != nil {
		h.closed <- struct{}{}
	}
}

type deadHost struct{ err error }

func (h deadHost) Open(wire.View) (wire.HostSession, error) { return nil, h.err }

// onEach runs a test on every carrier.
func onEach(t *testing.T, test func(t *testing.T, connect func(wire.Host) wire.Client)) {
	for name, connect := range carriers {
		t.Run(name, func(t *testing.T) {
			test(t, func(h wire.Host) wire.Client {
				c := connect(t, h)
				t.Cleanup(c.Close)
				return c
			})
		})
	}
}

func open(t *testing.T, c wire.Client) wire.Stream {
	t.Helper()
	s, err := c.Open(wire.GroupView)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

const ample = time.Minute

func random(n uint64) *wire.GenerateRandom {
	return &wire.GenerateRandom{RandomRoom: wire.Room{Capacity: n}}
}

func TestMessageStopsAtTheFirstFailure(t *testing.T) {
	onEach(t, func(t *testing.T, connect func(wire.Host) wire.Client) {
		ran := 0
		s := open(t, connect(hostFunc{random: func(context.Context, *wire.GenerateRandom) pkcs11.RV {
			if ran++; ran == 2 {
				return pkcs11.CKR_RANDOM_NO_RNG
			}
			return pkcs11.CKR_OK
		}}))
		calls := []wire.Call{random(1), random(1), random(1)}
		n, sent, err := s.Do(t.Context(), ample, ample, calls...)
		if n != 2 || !sent || err != nil || ran != 2 {
			t.Errorf("%d answered, %d ran, sent %v: %v", n, ran, sent, err)
		}
		if rv := calls[1].Result(); rv != pkcs11.CKR_RANDOM_NO_RNG {
			t.Errorf("the second answered %v", rv)
		}
	})
}

func TestLargeAndSmallReplies(t *testing.T) {
	onEach(t, func(t *testing.T, connect func(wire.Host) wire.Client) {
		s := open(t, connect(echo{}))
		for _, n := range []uint64{0, 1, 4075, 4076, 4077, 4096, 70_000, 4 << 20, 3} {
			call := random(n)
			if _, _, err := s.Do(t.Context(), ample, ample, call); err != nil || uint64(len(call.Random.Data)) != n {
				t.Errorf("%d bytes: got %d: %v", n, len(call.Random.Data), err)
			}
		}
	})
}

// What kind of failure it is says whether the member may have acted.
func TestOutcomes(t *testing.T) {
	onEach(t, func(t *testing.T, connect func(wire.Host) wire.Client) {
		t.Run("silent", func(t *testing.T) {
			stop := make(chan struct{})
			defer close(stop)
			c := connect(hostFunc{random: func(context.Context, *wire.GenerateRandom) pkcs11.RV { <-stop; return pkcs11.CKR_OK }})
			_, sent, err := open(t, c).Do(t.Context(), 50*time.Millisecond, ample, random(1))
			if err == nil || !sent {
				t.Errorf("sent %v: %v", sent, err)
			}
			if c.Err() != nil {
				t.Errorf("one session took the connection with it: %v", c.Err())
			}
		})
		t.Run("closed under way", func(t *testing.T) {
			stop := make(chan struct{})
			defer close(stop)
			begun := make(chan struct{})
			c := connect(hostFunc{random: func(context.Context, *wire.GenerateRandom) pkcs11.RV { close(begun); <-stop; return pkcs11.CKR_OK }})
			go func() { <-begun; c.Close() }()
			_, sent, err := open(t, c).Do(t.Context(), ample, ample, random(1))
			if !errors.Is(err, wire.ErrClosed) || !sent {
				t.Errorf("sent %v: %v", sent, err)
			}
		})
		t.Run("closed before", func(t *testing.T) {
			c := connect(echo{})
			s := open(t, c)
			c.Close()
			if _, sent, err := s.Do(t.Context(), ample, ample, random(1)); !errors.Is(err, wire.ErrClosed) || sent {
				t.Errorf("sent %v: %v", sent, err)
			}
			if _, err := c.Open(wire.GroupView); !errors.Is(err, wire.ErrClosed) {
				t.Errorf("open: %v", err)
			}
		})
		t.Run("no token", func(t *testing.T) {
			_, _, err := open(t, connect(deadHost{errors.New("no token there")})).Do(t.Context(), ample, ample, random(1))
			if err == nil || err.Error() != "no token there" {
				t.Errorf("%v", err)
			}
		})
		t.Run("no session", func(t *testing.T) {
			call := random(1)
			n, _, err := open(t, connect(deadHost{pkcs11.CKR_SESSION_COUNT})).Do(t.Context(), ample, ample, call)
			if n != 1 || err != nil || call.RV != pkcs11.CKR_SESSION_COUNT {
				t.Errorf("%d answered, %v: %v", n, call.RV, err)
			}
		})
	})
}

// A session ends with its stream, and so do the objects in it.
func TestCloseEndsTheSession(t *testing.T) {
	onEach(t, func(t *testing.T, connect func(wire.Host) wire.Client) {
		closed := make(chan struct{}, 1)
		s := open(t, connect(hostFunc{closed: closed, random: func(context.Context, *wire.GenerateRandom) pkcs11.RV { return pkcs11.CKR_OK }}))
		if _, _, err := s.Do(t.Context(), ample, ample, random(1)); err != nil {
			t.Fatal(err)
		}
		s.Close()
		select {
		case <-closed:
		case <-time.After(ample):
			t.Error("the member's session is still open")
		}
	})
}

// F2: a member that only ever beats is given up, and the reason is that, not
// silence.
func TestAMemberThatOnlyBeats(t *testing.T) {
	onEach(t, func(t *testing.T, connect func(wire.Host) wire.Client) {
		t.Parallel()
		over := make(chan struct{})
		defer close(over)
		c := connect(hostFunc{random: func(ctx context.Context, _ *wire.GenerateRandom) pkcs11.RV {
			<-over
			return pkcs11.CKR_OK
		}})
		// There are two beats in that time.
		_, sent, err := open(t, c).Do(t.Context(), ample, 3*wire.Heartbeat-time.Second, random(1))
		if err == nil || err.Error() != "still at work after 5s" || !sent {
			t.Errorf("sent %v, %v", sent, err)
		}
	})
}

// TestFrozenMember is a member that reads nothing more: 200 callers with large
// requests, of whom none may stay blocked (design: test before building on it).
func TestFrozenMember(t *testing.T) {
	for name, freeze := range map[string]func(*testing.T) wire.Client{
		"sockets": func(t *testing.T) wire.Client {
			ours, theirs := pair(t, syscall.SOCK_SEQPACKET)
			t.Cleanup(func() { theirs.Close() })
			return wire.NewSockets(ours)
		},
		"streams": func(t *testing.T) wire.Client {
			ours, theirs := loopback(t)
			host := &freezing{Conn: theirs}
			go Serve(host, echo{})
			client := New(ours)
			if _, _, err := open(t, client).Do(t.Context(), ample, ample, random(1)); err != nil {
				t.Fatal(err)
			}
			host.frozen.Store(true)
			return client
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := freeze(t)
			defer c.Close()
			data := make([]byte, 1<<20)
			var callers sync.WaitGroup
			for range 200 {
				callers.Go(func() {
					s, err := c.Open(wire.GroupView)
					if err != nil {
						return
					}
					call := &wire.Digest{Data: wire.Data(data), DigestRoom: wire.Room{Capacity: 32}}
					if _, _, err := s.Do(t.Context(), 500*time.Millisecond, ample, call); err == nil {
						t.Error("a frozen member answered")
					}
				})
			}
			callers.Wait() // hangs, and so fails by go test's time limit, if one is stuck
		})
	}
}

// freezing is a connection that stops being read.
type freezing struct {
	net.Conn
	frozen atomic.Bool
}

func (f *freezing) Read(b []byte) (int, error) {
	for f.frozen.Load() {
		time.Sleep(10 * time.Millisecond)
	}
	return f.Conn.Read(b)
}

// BenchmarkCarrier measures a round trip between engine and member, both in
// this process.
func BenchmarkCarrier(b *testing.B) {
	for name, connect := range carriers {
		b.Run(name, func(b *testing.B) {
			client := connect(b, echo{})
			defer client.Close()
			b.RunParallel(func(pb *testing.PB) {
				s, err := client.Open(wire.GroupView)
				if err != nil {
					b.Error(err)
					return
				}
				defer s.Close()
				for pb.Next() {
					call := wire.GenerateRandom{RandomRoom: wire.Room{Capacity: 32}}
					if _, _, err := s.Do(context.Background(), time.Minute, time.Minute, &call); err != nil {
						b.Error(err)
						return
					}
				}
			})
		})
	}
}
