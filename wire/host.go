// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"context"
	"fmt"
	"sync"
	"time"

	"oneslot.dev/oneslot/pkcs11"
)

// A Host is the token behind a connection.
type Host interface {
	// Open opens a session on the token. A pkcs11.RV as error is what the
	// token answered, and the answer to the first call of the session. Any
	// other error says in words why there is no token; it ends the stream.
	Open(view View) (HostSession, error)
}

// A HostSession answers the calls of one session, one at a time. What a call
// holds is valid until the method returns; a reply must stay valid until the
// next call.
type HostSession interface {
	Cryptoki
	Token
	Close()
}

// A Guard is a HostSession that sees each call before it is answered: it calls
// answer, once, or Refuse.
type Guard interface {
	Around(ctx context.Context, c Call, answer func())
}

// A DirectSession is a HostSession that can answer plain requests on its socket
// by itself, which is faster. What it does not know it leaves to the caller.
type DirectSession interface {
	// Direct answers requests that come on one socket on another, which may be
	// the same. It returns what it read of one that it does not answer, nothing
	// if none came for a while, and an error when the session is over.
	Direct(in, out uintptr) (pending []byte, err error)
}

// plain says whether a request is of the kind that a DirectSession answers, so
// that the next may be, too.
func plain(calls []Call) bool {
	switch calls[0].Number() {
	case NumberEncryptInit, NumberDecryptInit, NumberDigestInit, NumberSignInit, NumberVerifyInit:
		return len(calls) == 2
	case NumberGenerateRandom:
		return len(calls) == 1
	}
	return false
}

// Refuse answers a call without doing anything.
func Refuse(c Call, rv pkcs11.RV) { c.setResult(rv) }

// run has the session answer the calls in order until one fails.
func run(ctx context.Context, session HostSession, calls []Call) (int, error) {
	guard, guarded := session.(Guard)
	for i, c := range calls {
		var known bool
		if guarded {
			guard.Around(ctx, c, func() { known = dispatch(ctx, session, c) })
			known = known || c.Result() != pkcs11.CKR_OK
		} else {
			known = dispatch(ctx, session, c)
		}
		if !known {
			return 0, fmt.Errorf("%w: a member does not answer %v", ErrMalformed, c.Number())
		}
		if c.Result() != pkcs11.CKR_OK {
			return i + 1, nil
		}
	}
	return len(calls), nil
}

func dispatch(ctx context.Context, session HostSession, c Call) bool {
	return DispatchCryptoki(ctx, session, c) || DispatchToken(ctx, session, c)
}

// ServeMessages answers the messages of one session on a carrier that delivers
// whole ones, until there are no more. What receive returns it wipes. What send gets has
// room in front, so many bytes for the carrier's own, and is free again when it returns.
// An error is send's, or ErrMalformed. Without a session the first is answered by the
// refusal.
func ServeMessages(ctx context.Context, session HostSession, refusal pkcs11.RV, room int, receive func() ([]byte, error), send func([]byte) error) error {
	framed := func(buf []byte, fill func([]byte) []byte) []byte { return fill(append(buf, make([]byte, room)...)) }
	answers := newAnswers(func(p *packet) error { return send(p.data) }, framed)
	defer answers.stop()
	var message []byte
	defer func() { clear(message) }() // it may have held a PIN
	for {
		var err error
		if message, err = receive(); err != nil {
			return nil // the engine closed the session, or is gone
		}
		calls, err := parseRequest(message)
		if err != nil {
			return err
		}
		if session == nil {
			return answers.send(func(buf []byte) []byte { return appendRefusal(buf, refusal) })
		}
		answers.begin()
		n, err := run(ctx, session, calls)
		if err != nil {
			return err
		}
		if err := answers.send(func(buf []byte) []byte { return appendAnswers(buf, calls[:n]) }); err != nil {
			return err
		}
		clear(message)
	}
}

// A packet is a message as bytes, in memory that is used again.
type packet struct{ data []byte }

// trim drops a buffer that grew beyond what a session should hold on to.
func (p *packet) trim() {
	if cap(p.data) > keptBuffer {
		p.data = nil
	}
}

// answers sends what goes back on a stream: replies, and signs of life while
// one is worked on.
type answers struct {
	write func(*packet) error
	frame func([]byte, func([]byte) []byte) []byte // what the carrier puts around
	out   packet
	alive packet

	mu      sync.Mutex // guards sending, and working
	working bool
	pulse   Alarm
}

func newAnswers(write func(*packet) error, frame func([]byte, func([]byte) []byte) []byte) *answers {
	a := &answers{write: write, frame: frame}
	a.alive.data = frame(nil, func(buf []byte) []byte { return append(buf, messageAlive) })
	a.pulse.Ring = a.beat
	return a
}

func (a *answers) begin() {
	a.mu.Lock()
	a.working = true
	a.mu.Unlock()
	a.pulse.Set(time.Now().Add(Heartbeat))
}

func (a *answers) stop() {
	a.mu.Lock()
	a.working = false
	a.mu.Unlock()
	a.pulse.Stop()
}

func (a *answers) send(fill func([]byte) []byte) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.working = false
	a.pulse.Clear()
	a.out.data = a.frame(a.out.data[:0], fill)
	err := a.write(&a.out)
	a.out.trim()
	return err
}

func (a *answers) beat() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.working {
		a.write(&a.alive)
		a.pulse.Set(time.Now().Add(Heartbeat))
	}
}
