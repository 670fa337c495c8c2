// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"crypto/tls"
	"net"
	"sync"
	"time"

	"oneslot.dev/oneslot/wire"
)

// An outlet is a connection to which nobody waits to write, once it is told so: what the
// kernel does not take at once is written in the background. So a caller whose time is
// over is not held by a peer that takes nothing, and who has the lock of a link never
// waits. How much is left behind is bounded by who writes: no more while there is some.
// What TLS writes on its own is bounded here.
type outlet struct {
	net.Conn
	try func([]byte) (int, error) // writes what is taken at once; nil: leave all behind

	mu     sync.Mutex // guards what follows
	free   func()     // nil: Write waits
	rest   []byte     // left behind
	failed error
}

// maxRest is how much may be left behind, in bytes: more than who writes and waits for
// free ever leaves.
const maxRest = 64 << 10

// Prepare makes a connection one to speak TLS and streams over.
func Prepare(conn *net.TCPConn) (net.Conn, error) {
	quiet, err := wire.Quiet(conn)
	if err != nil {
		return nil, err
	}
	return &outlet{Conn: quiet, try: quiet.TryWrite}, nil
}

// outletOf is the outlet below TLS, or one around what has none.
func outletOf(conn net.Conn) (net.Conn, *outlet) {
	below := conn
	if secure, ok := conn.(*tls.Conn); ok {
		below = secure.NetConn()
	}
	if o, ok := below.(*outlet); ok {
		return conn, o
	}
	o := &outlet{Conn: conn}
	return o, o
}

// release has Write wait for nothing from now on. What it gets is called whenever
// nothing is left behind any more.
func (o *outlet) release(free func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.free = free
}

// Read reads. When the connection was ended for what its peer does not take, that is why.
func (o *outlet) Read(b []byte) (int, error) {
	n, err := o.Conn.Read(b)
	if err != nil {
		o.mu.Lock()
		defer o.mu.Unlock()
		if o.failed == errFlood {
			err = errFlood
		}
	}
	return n, err
}

// backlog says whether something is left behind.
func (o *outlet) backlog() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.rest) > 0
}

// Write writes all, at once or later. An error of what was left behind is the next one's.
func (o *outlet) Write(b []byte) (n int, err error) {
	o.mu.Lock()
	switch {
	case o.free == nil:
		o.mu.Unlock()
		return o.Conn.Write(b)
	case o.failed != nil:
		err = o.failed
	case len(o.rest)+len(b) > maxRest:
		// Not by who writes: TLS answers its peer by itself when that changes keys.
		o.failed, err = errFlood, errFlood
		o.Conn.SetDeadline(time.Unix(1, 0))
	case len(o.rest) > 0:
		o.rest = append(o.rest, b...)
	default:
		if o.try != nil {
			n, err = o.try(b)
		}
		if err == nil && n < len(b) {
			o.rest = append(o.rest, b[n:]...)
			go o.flush()
		}
	}
	o.mu.Unlock()
	if err != nil {
		return n, err
	}
	return len(b), nil
}

// flush writes what was left behind.
func (o *outlet) flush() {
	o.mu.Lock()
	for len(o.rest) > 0 {
		rest := o.rest
		o.mu.Unlock()
		n, err := o.Conn.Write(rest)
		o.mu.Lock()
		o.rest = o.rest[n:]
		if err != nil {
			o.rest = nil
			if o.failed == nil {
				o.failed = err
			}
		}
	}
	o.rest = nil // gives the memory back
	free := o.free
	o.mu.Unlock()
	free()
}
