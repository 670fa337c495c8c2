// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/wire"
)

// digesting answers requests with data when it is told to.
type digesting struct {
	echo
	wait <-chan struct{}
}

func (d digesting) Open(wire.View) (wire.HostSession, error) { return d, nil }

func (d digesting) Digest(_ context.Context, c *wire.Digest) pkcs11.RV {
	if d.wait != nil {
		<-d.wait
	}
	c.Digest = wire.Data(make([]byte, 32))
	return pkcs11.CKR_OK
}

// serve makes a connection, and tells how it ends at the host.
func serve(t *testing.T, s Service) (wire.Client, <-chan error) {
	ours, theirs := loopback(t)
	over := make(chan error, 1)
	go func() { over <- s.Serve(theirs) }()
	c := New(ours)
	t.Cleanup(c.Close)
	return c, over
}

// A peer fills memory with requests that are each within the limits: its connection
// ends, and says why. One that is only busy is no such peer.
func TestMemoryIsLimited(t *testing.T) {
	const size, most = 1 << 20, 24 << 20
	data := wire.Data(make([]byte, size))
	digest := func(s wire.Stream) error {
		_, _, err := s.Do(t.Context(), ample, ample, &wire.Digest{Data: data, DigestRoom: wire.Room{Capacity: 32}})
		return err
	}

	client, over := serve(t, Service{Host: digesting{}, Memory: most})
	s := open(t, client)
	for range 3 * most / size {
		if err := digest(s); err != nil {
			t.Fatalf("one after the other: %v", err)
		}
	}
	client.Close()
	if err := <-over; err != nil {
		t.Errorf("a connection that its client closed: %v", err)
	}

	answer := make(chan struct{})
	client, over = serve(t, Service{Host: digesting{wait: answer}, Memory: most})
	var all sync.WaitGroup
	for range 2 * most / size {
		s := open(t, client)
		all.Go(func() { digest(s) })
	}
	if err := <-over; !errors.Is(err, ErrMemory) {
		t.Errorf("ended with %v", err)
	}
	close(answer)
	all.Wait()
}

// What a peer has to say why there is no answer reaches logs and terminals as one line.
func TestReasonsAreOneLine(t *testing.T) {
	told := errors.New("no\nevent=\x1b[31m\u202etoken" + strings.Repeat("!", 4000))
	client := carriers["streams"](t, deadHost{told})
	defer client.Close()
	_, sent, err := open(t, client).Do(t.Context(), ample, ample, random(1))
	if err == nil || sent || !strings.Contains(err.Error(), "token!!!") || strings.ContainsAny(err.Error(), "\n\x1b\u202e") || len(err.Error()) > maxReason {
		t.Errorf("sent %v: %q", sent, err)
	}
}

// frames are frames one after the other.
func frames(each ...[]byte) []byte {
	var all []byte
	for _, f := range each {
		all = append(all, f...)
	}
	return all
}

func frame(k kind, stream uint32, payload string) []byte { return appendFrame(nil, k, stream, payload) }

// asking is a message that asks for so many random bytes.
func asking(n uint64) string { return string(wire.AppendRequest(nil, []wire.Call{random(n)})) }

// Whatever breaks the protocol ends the connection, and what does not, does not.
func TestFramesThatBreakTheProtocol(t *testing.T) {
	begun := frame(opening, 1, "group")
	short := binary.LittleEndian.AppendUint32(nil, headerSize-lengthSize-1)
	for _, c := range []struct {
		what string
		sent []byte
		fine bool
	}{
		{"a frame shorter than its header", append(short, 0, 0, 0, 0, 0, 0), false},
		{"a frame that is too long", frame(part, 1, strings.Repeat("x", maxPart+1))[:headerSize], false},
		{"a frame that lies about its length", append(binary.LittleEndian.AppendUint32(nil, 1<<31), 0, 0, 0, 0, 0), false},
		{"an unknown kind", frame(99, 0, ""), false},
		{"what only a member says", frame(draining, 0, ""), false},
		{"a message before its stream", frame(message, 1, asking(1)), false},
		{"a stream that begins twice", frames(begun, begun), false},
		{"streams out of order", frames(frame(opening, 2, "group"), begun), false},
		{"three messages at once", frames(begun, frame(message, 1, asking(1<<20)), frame(message, 1, asking(1)), frame(message, 1, asking(1)), frame(message, 1, asking(1))), false},
		{"signs of life", frames(frame(ping, 0, ""), frame(pong, 0, "")), true},
		{"a message of a stream that has ended", frames(begun, frame(closing, 1, ""), frame(message, 1, asking(1)), frame(part, 1, "x")), true},
		{"the end of one that has", frames(begun, frame(closing, 1, ""), frame(closing, 1, "")), true},
		{"the end of one that never was", frame(closing, 7, ""), true},
		{"a message in parts", frames(begun, frame(part, 1, asking(1)[:3]), frame(part, 1, ""), frame(message, 1, asking(1)[3:])), true},
		{"a message that is none", frames(begun, frame(message, 1, "")), true}, // its stream ends
		{"a stream of no view", frame(opening, 1, "everyone"), true},
	} {
		ours, theirs := pair(t, syscall.SOCK_STREAM)
		over := make(chan error, 1)
		hold := make(chan struct{})
		host := hostFunc{random: func(_ context.Context, c *wire.GenerateRandom) pkcs11.RV {
			if c.RandomRoom.Capacity > 1 {
				<-hold
			}
			return pkcs11.CKR_OK
		}}
		go func() { over <- Serve(theirs, host) }()
		ours.Write(c.sent)
		if c.fine {
			// Then it still answers.
			ours.Write(frame(ping, 0, ""))
			in := newReader(ours)
			for {
				k, _, _, err := in.next()
				if err != nil {
					t.Errorf("%s: %v", c.what, err)
				}
				if err != nil || k == pong {
					break
				}
			}
			ours.Close()
			if err := <-over; err != nil {
				t.Errorf("%s: ended with %v", c.what, err)
			}
		} else if err := <-over; !errors.Is(err, wire.ErrMalformed) {
			t.Errorf("%s: ended with %v", c.what, err)
		}
		close(hold)
		ours.Close()
	}
}

// The same from a member: the client gives the connection up, and says why.
func TestAMemberThatBreaksTheProtocol(t *testing.T) {
	for what, sent := range map[string][]byte{
		"an unknown kind":             frame(99, 0, ""),
		"what only an engine says":    frame(opening, 1, "group"),
		"an answer on no stream":      frame(message, 2, "x"),
		"an answer that is none":      frame(message, 1, ""),
		"an answer that does not fit": frame(message, 1, "\x01\x07"),
		"no reason":                   frame(ended, 1, ""),
		"a reason of no kind":         frame(ended, 1, "\x02because"),
	} {
		ours, theirs := pair(t, syscall.SOCK_STREAM)
		client := New(ours)
		go func() {
			in := newReader(theirs)
			for {
				if k, _, _, err := in.next(); err != nil {
					return
				} else if k == message {
					theirs.Write(sent)
				}
			}
		}()
		_, asked, err := open(t, client).Do(t.Context(), ample, ample, random(1))
		if !errors.Is(err, wire.ErrMalformed) || !asked {
			t.Errorf("%s: sent %v, %v", what, asked, err)
		}
		client.Close()
		theirs.Close()
	}
}

// One answer is all that a question has.
func TestAMemberThatAnswersTwice(t *testing.T) {
	ours, theirs := pair(t, syscall.SOCK_STREAM)
	defer theirs.Close()
	client := New(ours)
	defer client.Close()
	go func() {
		call := random(0)
		answer := binary.LittleEndian.AppendUint32([]byte{1, 1, 0, 0, 0}, uint32(call.Number()))
		answer = append(answer, 6, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0) // CKR_FUNCTION_FAILED has no reply
		in := newReader(theirs)
		for {
			if k, _, _, err := in.next(); err != nil {
				return
			} else if k == message {
				theirs.Write(frames(frame(message, 1, string(answer)), frame(message, 1, string(answer))))
			}
		}
	}()
	if _, _, err := open(t, client).Do(t.Context(), ample, ample, random(1)); err != nil && !errors.Is(err, wire.ErrMalformed) {
		t.Error(err)
	}
	if <-client.Done(); !errors.Is(client.Err(), wire.ErrMalformed) {
		t.Errorf("the connection ended with %v", client.Err())
	}
}

// An answer cannot come before the question is complete: whoever sends one would have
// the engine take it for that of a call that was not executed.
func TestAnAnswerBeforeTheQuestion(t *testing.T) {
	ours, theirs := net.Pipe()
	client := New(ours)
	defer client.Close()
	go func() {
		in := newReader(theirs)
		for {
			if k, id, _, err := in.next(); err != nil || k == part {
				theirs.Write(frame(message, id, "\x01\x01\x00\x00\x00"))
				return // the rest of the question is not taken
			}
		}
	}()
	_, _, err := open(t, client).Do(t.Context(), ample, ample, &wire.Digest{Data: wire.Data(make([]byte, 1<<20))})
	if !errors.Is(err, wire.ErrMalformed) || client.Err() == nil {
		t.Errorf("%v, and the connection %v", err, client.Err())
	}
}

// A client asks and asks and takes nothing that it is told: its connection ends before
// that fills memory.
func TestAClientThatOnlyAsks(t *testing.T) {
	for what, ask := range map[string]func(id uint32) []byte{
		"sessions": func(id uint32) []byte { return frame(opening, id, "group") },
		"views":    func(id uint32) []byte { return frames(frame(opening, id, "everyone"), frame(closing, id, "")) },
		"answers":  func(id uint32) []byte { return frames(frame(opening, id, "group"), frame(message, id, asking(4<<10))) },
	} {
		ours, theirs := pair(t, syscall.SOCK_STREAM)
		over := make(chan error, 1)
		go func() { over <- Service{Host: echo{}, Streams: 50, Message: time.Hour}.Serve(theirs) }()
		for id := uint32(1); ; id++ {
			if _, err := ours.Write(ask(id)); err != nil || id > 200_000 {
				break
			}
		}
		if what == "views" { // which leave nothing behind
			ours.Close()
		}
		select {
		case err := <-over:
			if what != "views" && !errors.Is(err, errFlood) {
				t.Errorf("%s: ended with %v", what, err)
			}
		case <-time.After(ample):
			t.Errorf("%s: it goes on", what)
		}
		ours.Close()
	}
}

// Pings that nobody wants to hear the answers of cost one answer.
func TestPingsDoNotQueue(t *testing.T) {
	ours, theirs := net.Pipe()
	defer ours.Close()
	defer theirs.Close()
	l := newLink(ours, 0, func(error) {})
	for range 1000 {
		l.answerPing()
	}
	l.mu.Lock()
	if n := len(l.queue); n > 1 {
		t.Errorf("%d answers wait", n)
	}
	l.mu.Unlock()
	in := newReader(theirs)
	for range 2 { // the one that was on its way, and the one that waited
		if k, _, _, err := in.next(); k != pong || err != nil {
			t.Errorf("%v: %v", k, err)
		}
	}
	l.answerPing()
	if k, _, _, err := in.next(); k != pong || err != nil {
		t.Errorf("the next one: %v, %v", k, err)
	}
}

// A client stops in the middle of a frame, or says nothing, and answers no ping: it is
// given up.
func TestAClientStopsInAFrame(t *testing.T) {
	said := string(frames(frame(opening, 1, "group"), frame(message, 1, asking(8))))
	for _, much := range []int{0, 3, headerSize, len(said) / 2, len(said) - 1, len(said)} {
		synctest.Test(t, func(t *testing.T) {
			ours, theirs := net.Pipe()
			defer ours.Close()
			go io.Copy(io.Discard, ours)
			begin := time.Now()
			go io.WriteString(ours, said[:much])
			Serve(theirs, echo{})
			if took := time.Since(begin); took != pingAfter+pingTimeout {
				t.Errorf("after %d bytes it was given up after %v", much, took)
			}
		})
	}
}

// A client that answers pings stays, as long as it has nothing to ask.
func TestAnIdleClientStays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ours, theirs := net.Pipe()
		over := make(chan error, 1)
		go func() { over <- Serve(theirs, echo{}) }()
		client := New(ours)
		time.Sleep(24 * time.Hour)
		if _, _, err := open(t, client).Do(t.Context(), ample, ample, random(1)); err != nil {
			t.Error(err)
		}
		client.Close()
		if err := <-over; err != nil {
			t.Error(err)
		}
	})
}
