// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"oneslot.dev/oneslot/wire"
)

// client is a wire.Client whose streams share one connection: the carrier for networks.
type client struct {
	wire.Life
	link    *link
	drains  chan struct{} // closed when the member asks for it
	drained sync.Once

	partial atomic.Int64 // bytes of incomplete answers

	table   sync.Mutex // guards what follows
	streams map[uint32]*session
	last    uint32 // stream that was begun last
}

// Each stream of a connection has a number of its own. After manyStreams the owner is
// asked to connect anew; beyond mostStreams none begins.
const (
	manyStreams = 1 << 31
	mostStreams = 1<<32 - 1<<20
)

var errUsedUp = errors.New("no further session can begin on this connection, on which billions have")

// maxPartial is how much the incomplete answers on one connection may take together, in
// bytes: as much as the memory that an appliance has for one, if nothing else is set.
const maxPartial = 512 << 20

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

// Draining is closed when the member asked for its work to be taken elsewhere, and when
// so many streams have begun that another connection has to take over.
func (c *client) Draining() <-chan struct{} { return c.drains }

func (c *client) drain() { c.drained.Do(func() { close(c.drains) }) }

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
		c.drain()
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
