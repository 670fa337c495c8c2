// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// A Client is the engine's side of a connection with a member process. It is
// used until it breaks and never made again behind the engine's back. There are
// two carriers: sockets on one host (NewSockets), streams over a network
// (package stream).
type Client interface {
	// Open opens a session on the member's token. It waits for nothing.
	Open(View) (Stream, error)

	// LastSign is when the member was last heard of.
	LastSign() time.Time

	// Done is closed when the connection is gone. Err then says why.
	Done() <-chan struct{}
	Err() error

	// Close ends the connection and every stream on it, at once.
	Close()
}

// A Stream is a session on the member's token. It serves one caller at a time.
type Stream interface {
	// Do sends calls as one message and waits for the answer, at most silence
	// without a sign of life and stuck in all. It returns how many calls were
	// answered; their replies are the caller's to keep. After an error the
	// stream is closed; sent tells whether the member may have seen the calls.
	Do(ctx context.Context, silence, stuck time.Duration, calls ...Call) (n int, sent bool, err error)

	// Close ends the session.
	Close()
}

// ErrClosed is the cause of a connection that its owner closed.
var ErrClosed = errors.New("connection closed")

// The causes of what ended without the engine's doing.
var (
	ErrEnded        = errors.New("the member closed the session")
	ErrProcessEnded = errors.New("the member process ended")
)

// errSilent is the cause of a stream whose member gave no sign of life.
var errSilent = errors.New("no sign of life in time")

// A Limit is what the wait for an answer will have exceeded when it ends.
type Limit struct {
	stuck atomic.Int64 // the time in all, once the member has beaten and it ends next; 0: silence
}

// Begin begins a call.
func (l *Limit) Begin() { l.stuck.Store(0) }

// Next returns how long to wait on for a member that beat, with left of the time
// in all.
func (l *Limit) Next(silence, left, stuck time.Duration) time.Duration {
	if left > silence {
		l.stuck.Store(0)
		return silence
	}
	l.stuck.Store(int64(stuck))
	return left
}

// Exceeded says what was.
func (l *Limit) Exceeded() error {
	if stuck := l.stuck.Load(); stuck > 0 {
		return fmt.Errorf("still at work after %v", time.Duration(stuck))
	}
	return errSilent
}

// A Moment is when something was last. It stands on the clock that nobody sets: after the
// time of day was, a peer would seem to have been silent for as long as the clock was put
// forward, or not to be, however long it is (F3).
type Moment struct {
	begin time.Time
	after atomic.Int64 // begin, in nanoseconds
}

// NewMoment is now.
func NewMoment() *Moment { return &Moment{begin: time.Now()} }

// Set moves it.
func (m *Moment) Set(at time.Time) { m.after.Store(int64(at.Sub(m.begin))) }

// At is when it was.
func (m *Moment) At() time.Time { return m.begin.Add(time.Duration(m.after.Load())) }

// Life is what every carrier knows of its connection.
type Life struct {
	lastSign *Moment
	done     chan struct{}
	once     *sync.Once
	cause    *error // written before done is closed
}

func NewLife() Life {
	return Life{NewMoment(), make(chan struct{}), new(sync.Once), new(error)}
}

func (l *Life) Heard(at time.Time) { l.lastSign.Set(at) }

// End marks the connection as gone. The first cause stays; true for that one.
func (l *Life) End(cause error) (first bool) {
	l.once.Do(func() {
		*l.cause = cause
		close(l.done)
		first = true
	})
	return first
}

func (l *Life) LastSign() time.Time   { return l.lastSign.At() }
func (l *Life) Done() <-chan struct{} { return l.done }

func (l *Life) Err() error {
	select {
	case <-l.done:
		return *l.cause
	default:
		return nil
	}
}
