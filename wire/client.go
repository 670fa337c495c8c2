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

// Life is what every carrier knows of its connection.
type Life struct {
	lastSign *atomic.Int64 // Unix nanoseconds
	done     chan struct{}
	once     *sync.Once
	cause    *error // written before done is closed
}

func NewLife() Life {
	l := Life{new(atomic.Int64), make(chan struct{}), new(sync.Once), new(error)}
	l.Heard(time.Now())
	return l
}

func (l *Life) Heard(at time.Time) { l.lastSign.Store(at.UnixNano()) }

// End marks the connection as gone. The first cause stays; true for that one.
func (l *Life) End(cause error) (first bool) {
	l.once.Do(func() {
		*l.cause = cause
		close(l.done)
		first = true
	})
	return first
}

func (l *Life) LastSign() time.Time   { return time.Unix(0, l.lastSign.Load()) }
func (l *Life) Done() <-chan struct{} { return l.done }

func (l *Life) Err() error {
	select {
	case <-l.done:
		return *l.cause
	default:
		return nil
	}
}
