// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/wire"
)

// Serve answers a connection with an engine until it ends.
func Serve(conn net.Conn, host wire.Host) error { return Service{Host: host}.Serve(conn) }

// A Service answers engines.
type Service struct {
	Host wire.Host

	// Streams is how many streams a connection may have; 0: no limit. An
	// engine is told so where it would have more. The limit is for peers that
	// mean harm: the number of sessions is the Host's to refuse.
	Streams uint32

	// Memory is how many bytes of this process's heap may be in use while what came
	// on the connection is worked on; 0: no limit. Beyond it the connection ends.
	Memory uint64

	// Message is how long a request may take from its first byte to its last, and an
	// answer until the peer has taken it; 0: no limit. Beyond it the connection ends.
	Message time.Duration

	// Draining is closed when engines shall take their work elsewhere. They
	// are told, and served until they go. Nil: never.
	Draining <-chan struct{}
}

// A silent peer is asked for a sign of life after pingAfter, and given up when
// there is none for pingTimeout.
const (
	pingAfter   = 10 * time.Second
	pingTimeout = 20 * time.Second
)

// Serve answers a connection until it ends. What the vendor's module is at then it
// finishes first, within wire.LastCalls. It is an error if this end ended it.
func (s Service) Serve(conn net.Conn) error { return s.serve(conn, wire.LastCalls) }

func (s Service) serve(conn net.Conn, patience time.Duration) error {
	h := newHosting(conn, s)
	over := make(chan struct{})
	go h.announce(over)
	err := h.read()
	close(over)
	h.stop(err)
	h.underway.Finish(patience)
	if cause := h.meter.ended(); cause != nil {
		return cause
	}
	if errors.Is(err, wire.ErrMalformed) || errors.Is(err, errFlood) {
		return err
	}
	return nil // the peer is gone
}

// hosting is a connection that is answered.
type hosting struct {
	Service
	link  *link
	meter *meter
	heard *wire.Moment // when the last frame came

	underway wire.Underway

	table   sync.Mutex // guards what follows
	pings   *time.Timer
	streams map[uint32]*served
	running uint32 // streams that are served, those that the peer has ended included
	last    uint32 // stream that began last
	over    bool
}

// served is a stream of a hosting.
type served struct {
	id      uint32
	ctx     context.Context
	cancel  context.CancelFunc
	partial []byte      // of a message; the reader's
	whole   chan []byte // messages, one at a time; closed by the reader
	spare   chan []byte // memory for the next one
	out     outgoing
}

func newHosting(conn net.Conn, s Service) *hosting {
	h := &hosting{Service: s, meter: newMeter(conn, s), heard: wire.NewMoment(), streams: map[uint32]*served{}}
	most := 0
	if s.Streams > 0 {
		most = 2*int(s.Streams) + 64
	}
	h.link = newLink(conn, most, func(error) { h.cut() })
	h.table.Lock()
	defer h.table.Unlock()
	h.pings = time.AfterFunc(pingAfter, h.watch)
	return h
}

// stop ends all that is done for the connection.
func (h *hosting) stop(why error) {
	h.link.end(why)
	h.meter.stop()
	h.table.Lock()
	h.over = true
	h.pings.Stop()
	for id, s := range h.streams {
		h.drop(id, s)
	}
	h.table.Unlock()
	h.link.conn.Close()
}

// drop ends a stream for its session, which may still be at work. The reader calls it.
// h.table must be held.
func (h *hosting) drop(id uint32, s *served) {
	delete(h.streams, id)
	s.cancel()
	clear(s.partial)
	close(s.whole)
}

// watch asks a silent peer for a sign of life, and gives up one that gives none.
func (h *hosting) watch() {
	h.table.Lock()
	defer h.table.Unlock()
	switch silent := time.Since(h.heard.At()); {
	case h.over:
	case silent < pingAfter:
		h.pings.Reset(pingAfter - silent)
	case silent < pingAfter+pingTimeout:
		h.link.tell(ping, 0, "")
		h.pings.Reset(pingAfter + pingTimeout - silent)
	default:
		h.cut()
	}
}

// cut ends the connection: reading and writing, under way or not, fail.
func (h *hosting) cut() { h.link.conn.SetDeadline(time.Unix(1, 0)) }

// announce tells the engine when it has to go.
func (h *hosting) announce(over <-chan struct{}) {
	select {
	case <-h.Draining:
		h.link.tell(draining, 0, "")
	case <-over:
	}
}

// read takes what the engine sends until the connection ends.
func (h *hosting) read() error {
	in := newReader(h.meter)
	for {
		k, id, payload, err := in.next()
		if err != nil {
			return err
		}
		h.heard.Set(time.Now())
		switch k {
		case opening:
			err = h.open(id, wire.View(payload))
		case part, message:
			err = h.take(k, id, payload)
		case closing:
			h.close(id)
		case pong:
		case ping:
			h.link.answerPing()
		default:
			err = fmt.Errorf("%w: an engine does not send frames of kind %d", wire.ErrMalformed, k)
		}
		if err != nil {
			return err
		}
	}
}

// open begins a stream.
func (h *hosting) open(id uint32, view wire.View) error {
	h.table.Lock()
	defer h.table.Unlock()
	if id <= h.last {
		return fmt.Errorf("%w: stream %d begins after %d", wire.ErrMalformed, id, h.last)
	}
	h.last = id
	if h.Streams > 0 && h.running >= h.Streams {
		return h.link.tell(ended, id, "\x00"+fmt.Sprintf("there are %d sessions on this connection, as many as it may have", h.running))
	}
	h.running++
	s := &served{id: id, whole: make(chan []byte, 1), spare: make(chan []byte, 1)}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	h.streams[id] = s
	go h.serve(s, view)
	return nil
}

// take takes a part of a message.
func (h *hosting) take(k kind, id uint32, payload []byte) (err error) {
	h.table.Lock()
	s, known := h.streams[id], id <= h.last
	h.table.Unlock()
	defer clear(payload) // it may have held a PIN
	switch {
	case !known:
		return fmt.Errorf("%w: there is no stream %d", wire.ErrMalformed, id)
	case s == nil:
		return nil // it has ended, which the engine did not know yet
	}
	if s.partial == nil {
		select {
		case s.partial = <-s.spare:
		default:
			s.partial = make([]byte, 0, len(payload))
		}
		if k == part {
			h.meter.begin(id)
		}
	}
	s.partial, err = gather(s.partial, payload)
	if err != nil || k == part {
		return err
	}
	h.meter.done(id)
	select {
	case s.whole <- s.partial:
		s.partial = nil
		if s.ctx.Err() != nil { // it ended meanwhile
			s.wipe()
		}
		return nil
	default:
		return fmt.Errorf("%w: messages before the last was answered", wire.ErrMalformed)
	}
}

// wipe is for the message of a stream that has ended: it may hold a PIN.
func (s *served) wipe() {
	select {
	case message := <-s.whole:
		clear(message)
	default:
	}
}

// close ends a stream that the engine has ended.
func (h *hosting) close(id uint32) {
	h.meter.done(id)
	h.table.Lock()
	defer h.table.Unlock()
	if s := h.streams[id]; s != nil {
		h.drop(id, s)
	}
}

// serve answers the messages of a stream.
func (h *hosting) serve(s *served, view wire.View) {
	acted, err := h.answer(s, view)
	s.cancel()
	s.wipe()
	h.meter.done(s.id)
	h.table.Lock()
	h.running--
	_, there := h.streams[s.id]
	delete(h.streams, s.id)
	h.table.Unlock()
	if there {
		why := "the session ended"
		if err != nil {
			why = err.Error()
		}
		h.link.tell(ended, s.id, string([]byte{acted})+wire.OneLine(why, maxReason))
	}
}

// answer is serve without the end. acted is 1 if the token may have acted on a message
// that is not answered.
func (h *hosting) answer(s *served, view wire.View) (acted byte, err error) {
	if !view.Known() {
		return 0, fmt.Errorf("there is no view %.16q", string(view))
	}
	if !h.underway.Begin() {
		return 0, nil
	}
	session, err := h.Host.Open(view)
	h.underway.End()
	var refusal pkcs11.RV
	switch {
	case err == nil:
		defer session.Close()
	case !errors.As(err, &refusal):
		return 0, err
	}
	var message []byte
	working := false
	rest := func() {
		if working {
			working = false
			h.underway.End()
		}
	}
	defer rest()
	receive := func() ([]byte, error) {
		rest()
		if cap(message) > 0 && cap(message) <= keptBuffer {
			select {
			case s.spare <- message[:0]:
			default:
			}
		}
		var more bool
		if message, more = <-s.whole; !more || s.ctx.Err() != nil || !h.underway.Begin() {
			clear(message) // nobody waits for its answer any more: it is not begun
			return nil, io.EOF
		}
		working = true
		return message, nil
	}
	return 1, wire.ServeMessages(s.ctx, session, refusal, headerSize, receive, func(answer []byte) error { return h.send(s, answer) })
}

// send sends an answer, which it waits for: its memory is used again.
func (h *hosting) send(s *served, answer []byte) error {
	if s.ctx.Err() != nil {
		return nil // nobody listens
	}
	h.meter.count(len(answer))
	s.out.buf, s.out.from, s.out.stream = answer, headerSize, s.id
	left, err := h.link.send(&s.out, nil)
	if left != nil {
		h.meter.begin(s)
		select {
		case <-left:
		case <-s.ctx.Done():
			h.link.take(&s.out) // the rest is of no use to anybody
		}
		h.meter.done(s)
	}
	return err
}
