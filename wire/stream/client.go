// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"oneslot.dev/oneslot/wire"
)

// client is a wire.Client whose streams share one connection: the carrier for networks.
type client struct {
	wire.Life
	link    *link
	drains  chan struct{} // closed when the member asks for it
	drained sync.Once

	table   sync.Mutex // guards what follows
	streams map[uint32]*session
	last    uint32 // stream that was begun last
}

// New speaks streams on the connection, which it closes with Close. The connection is
// used until it breaks and never made again.
func New(conn net.Conn) wire.Client {
	c := &client{Life: wire.NewLife(), drains: make(chan struct{}), streams: map[uint32]*session{}}
	c.link = newLink(conn, 0, func(err error) { c.fail(fmt.Errorf("connection lost: %w", err)) })
	go c.read()
	return c
}

// Close ends the connection and every stream on it, at once.
func (c *client) Close() { c.fail(wire.ErrClosed) }

// fail marks the connection as gone.
func (c *client) fail(cause error) {
	if !c.End(cause) {
		return
	}
	// Whatever hangs in a write to a peer that takes nothing ends now.
	c.link.conn.SetDeadline(time.Unix(1, 0))
	c.link.end(cause)
	c.table.Lock()
	defer c.table.Unlock()
	for _, s := range c.streams {
		s.giveUp(cause)
	}
	go c.link.conn.Close() // TLS says goodbye, if it can
}

// Draining is closed when the member asked for its work to be taken elsewhere.
func (c *client) Draining() <-chan struct{} { return c.drains }

// read takes what the member sends until the connection ends.
func (c *client) read() {
	in := newReader(c.link.conn)
	for {
		k, id, payload, err := in.next()
		if err == nil {
			err = c.hear(k, id, payload)
		} else {
			err = fmt.Errorf("connection lost: %w", err)
		}
		if err != nil {
			c.fail(err)
			return
		}
	}
}

// hear takes a frame. It may be for a stream that has ended here and not yet there.
func (c *client) hear(k kind, id uint32, payload []byte) error {
	switch k {
	case ping:
		c.link.answerPing()
		return nil
	case draining:
		c.drained.Do(func() { close(c.drains) })
		return nil
	case part, message, ended:
	default:
		return fmt.Errorf("%w: a member does not send frames of kind %d", wire.ErrMalformed, k)
	}
	c.table.Lock()
	s, known := c.streams[id], id <= c.last
	c.table.Unlock()
	switch {
	case !known:
		return fmt.Errorf("%w: there is no stream %d", wire.ErrMalformed, id)
	case s == nil:
		return nil
	case k == ended:
		return s.endedBy(payload)
	}
	return s.hear(k, payload)
}

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
	begin   time.Time  // of waiting
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
	s := &session{client: c, view: view, wake: make(chan struct{}, 1)}
	s.late.Ring = func() { s.giveUp(s.limit.Exceeded()) }
	return s, nil
}

// begins gives the stream its number. Streams begin on the connection in that order.
func (s *session) begins() {
	c := s.client
	c.table.Lock()
	c.last++
	id := c.last
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
			s.late.Set(now.Add(s.limit.Next(s.silence, s.stuck-now.Sub(s.begin), s.stuck)))
		}
		return nil
	}
	if !s.waiting || s.answer != nil || len(payload) == 0 {
		return fmt.Errorf("%w: an answer that is empty, or that nobody waits for", wire.ErrMalformed)
	}
	if s.partial, err = gather(s.partial, payload); err != nil || k == part {
		return err
	}
	s.client.Heard(time.Now())
	s.answer, s.partial = s.partial, nil
	s.signal()
	return nil
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
	if ctx.Done() != nil {
		if err := ctx.Err(); err != nil {
			return 0, false, err
		}
		stop := context.AfterFunc(ctx, func() { s.giveUp(ctx.Err()) })
		defer stop()
	}
	begin := time.Now()
	s.limit.Begin()
	s.mu.Lock()
	over := s.cause
	s.waiting, s.begin, s.silence, s.stuck = true, begin, silence, stuck
	s.mu.Unlock()
	if over != nil {
		return 0, false, s.fail(over)
	}
	s.late.Set(begin.Add(min(silence, stuck)))
	defer s.late.Clear()

	if err := s.send(calls); err != nil {
		return 0, false, s.fail(err)
	}
	answer := s.await()
	done := s.client.link.take(&s.out)
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

// send hands the calls to the link.
func (s *session) send(calls []wire.Call) error {
	m := &s.out
	m.buf, m.lead = m.buf[:0], 0
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
