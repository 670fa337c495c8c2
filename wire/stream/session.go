// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"oneslot.dev/oneslot/wire"
)

// session is a stream of a client.
type session struct {
	client *client
	view   wire.View
	out    outgoing
	begun  bool // the member knows of it
	late   wire.Alarm
	limit  wire.Limit    // that the alarm rings for
	wake   chan struct{} // there is something new below

	mu      sync.Mutex // guards what follows
	id      uint32     // 0: not begun
	waiting bool       // for an answer
	call    uint64     // which call it is
	begin   time.Time  // of waiting
	due     time.Time  // when it is given up
	silence time.Duration
	stuck   time.Duration
	partial []byte // of an answer
	answer  []byte
	cause   error // why the stream is over
	unheard bool  // the member has not acted on what was sent
}

// Open makes a session, whose stream begins with its first message. It waits for nothing.
func (c *client) Open(view wire.View) (wire.Stream, error) {
	if err := c.Err(); err != nil {
		return nil, err
	}
	c.table.Lock()
	used := c.last
	c.table.Unlock()
	if used >= mostStreams {
		return nil, errUsedUp
	}
	s := &session{client: c, view: view, wake: make(chan struct{}, 1)}
	s.late.Ring = s.expire
	return s, nil
}

// begins gives the stream its number. Streams begin on the connection in that order.
func (s *session) begins() {
	c := s.client
	c.table.Lock()
	c.last++
	id := c.last
	if id == manyStreams {
		c.drain()
	}
	c.streams[id] = s
	c.table.Unlock()
	s.mu.Lock()
	s.id = id
	s.mu.Unlock()
	s.out.stream = id
	putHeader(s.out.buf, opening, id, len(s.view))
}

// giveUp ends the stream. The first cause stays.
func (s *session) giveUp(cause error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over(cause)
}

// expire ends a call that has waited too long. An alarm that was set for the call before
// may ring in this one.
func (s *session) expire() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.waiting && !time.Now().Before(s.due) {
		s.over(s.limit.Exceeded())
	}
}

// abandon ends a call whose context ended, and not the next one.
func (s *session) abandon(call uint64, cause error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.waiting && s.call == call {
		s.over(cause)
	}
}

// over is giveUp for who holds s.mu.
func (s *session) over(cause error) {
	if s.cause == nil {
		s.cause = cause
	}
	s.signal()
}

func (s *session) signal() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// hear takes a part of an answer, or a sign of life.
func (s *session) hear(k kind, payload []byte) (err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if k == message && s.partial == nil && wire.IsAlive(payload) {
		if now := time.Now(); s.waiting {
			s.client.Heard(now)
			s.due = now.Add(s.limit.Next(s.silence, s.stuck-now.Sub(s.begin), s.stuck))
			s.late.Set(s.due)
		}
		return nil
	}
	if s.cause != nil {
		return nil // its caller has given up, and the member may not know yet
	}
	if !s.waiting || s.answer != nil || len(payload) == 0 {
		return fmt.Errorf("%w: an answer that is empty, or that nobody waits for", wire.ErrMalformed)
	}
	if s.partial, err = gather(s.partial, payload); err != nil {
		return err
	}
	if held := s.client.partial.Add(int64(len(payload))); held > maxPartial {
		return fmt.Errorf("%w: incomplete answers of %d bytes", wire.ErrMalformed, held)
	}
	if k == part {
		return nil
	}
	s.client.Heard(time.Now())
	s.answer = s.partial
	s.forget()
	s.signal()
	return nil
}

// forget lets go of a part of an answer. s.mu must be held.
func (s *session) forget() {
	s.client.partial.Add(-int64(len(s.partial)))
	s.partial = nil
}

// maxReason bounds what a peer can have this end log and show, in bytes.
const maxReason = 1 << 10

// endedBy takes why the member ended the stream.
func (s *session) endedBy(payload []byte) error {
	if len(payload) == 0 || payload[0] > 1 {
		return fmt.Errorf("%w: the end of a stream", wire.ErrMalformed)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cause == nil {
		s.unheard = payload[0] == 0
	}
	s.over(errors.New(wire.OneLine(string(payload[1:]), maxReason)))
	return nil
}

// Close ends the session.
func (s *session) Close() {
	s.late.Stop()
	s.giveUp(wire.ErrClosed)
	s.client.link.take(&s.out)
	s.mu.Lock()
	s.forget()
	id := s.id
	s.mu.Unlock()
	c := s.client
	c.table.Lock()
	_, there := c.streams[id]
	delete(c.streams, id)
	c.table.Unlock()
	if there {
		c.link.tell(closing, id, "")
	}
}

// Do sends the calls as one message and waits for the answer, at most silence
// without a sign of life and stuck in all. It returns how many calls were
// answered. After an error the stream is closed; sent tells whether the
// member may have seen the calls.
func (s *session) Do(ctx context.Context, silence, stuck time.Duration, calls ...wire.Call) (n int, sent bool, err error) {
	if err := ctx.Err(); err != nil {
		return 0, false, err
	}
	call, due, over := s.waits(silence, stuck)
	if over != nil {
		return 0, false, s.fail(over)
	}
	if ctx.Done() != nil {
		stop := context.AfterFunc(ctx, func() { s.abandon(call, ctx.Err()) })
		defer stop()
	}
	s.late.Set(due)
	defer s.late.Clear()

	if err := s.send(calls); err != nil {
		clear(s.out.buf)
		return 0, false, s.fail(err)
	}
	answer := s.await()
	done := s.client.link.take(&s.out)
	clear(s.out.buf) // it may have held a PIN
	switch {
	case answer == nil:
		return 0, done && !s.unheard, s.fail(nil)
	case !done:
		err := fmt.Errorf("%w: an answer before the question was complete", wire.ErrMalformed)
		s.client.fail(err)
		return 0, true, s.fail(err)
	}
	s.begun = true
	if cap(s.out.buf) > keptBuffer {
		s.out.buf = nil
	}
	if n, err = wire.ParseAnswers(answer, calls); err != nil {
		return 0, true, s.fail(err)
	}
	return n, true, nil
}

// waits begins the wait for an answer, unless the stream is over.
func (s *session) waits(silence, stuck time.Duration) (call uint64, due time.Time, over error) {
	s.limit.Begin()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.begin = time.Now()
	s.silence, s.stuck, s.due = silence, stuck, s.begin.Add(min(silence, stuck))
	s.waiting = s.cause == nil
	s.call++
	return s.call, s.due, s.cause
}

// send hands the calls to the link.
func (s *session) send(calls []wire.Call) error {
	m := &s.out
	m.buf = m.buf[:0]
	var prepare func()
	if !s.begun {
		m.buf = appendFrame(m.buf, opening, 0, string(s.view))
		prepare = s.begins
	}
	m.from = len(m.buf) + headerSize
	m.buf = wire.AppendRequest(append(m.buf, make([]byte, headerSize)...), calls)
	_, err := s.client.link.send(m, prepare)
	return err
}

// await waits for the answer, which is the caller's to keep, or the end of the stream:
// then it is nil.
func (s *session) await() (answer []byte) {
	for {
		s.mu.Lock()
		answer, s.answer = s.answer, nil
		over := s.cause != nil
		if answer != nil || over {
			s.waiting = false
			s.mu.Unlock()
			return answer
		}
		s.mu.Unlock()
		<-s.wake
	}
}

// fail closes the stream and returns the best explanation.
func (s *session) fail(err error) error {
	if err != nil {
		s.giveUp(err)
	}
	s.Close()
	if cause := s.client.Err(); cause != nil {
		return cause
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cause
}
