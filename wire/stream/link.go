// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"errors"
	"net"
	"slices"
	"sync"
)

// A link is the sending half of a connection: it cuts the messages of many streams into
// frames, which take turns. Nobody waits to send: as long as the connection takes nothing
// messages queue, and each leaves with its caller.
type link struct {
	conn net.Conn
	out  *outlet
	most int         // outgoing messages in the queue; 0: no limit
	lost func(error) // called by a goroutine of its own when writing failed

	mu     sync.Mutex // guards what follows, and writing
	queue  []*outgoing
	full   bool     // what was written last waits for the kernel
	ponged outgoing // the answer to a ping
	broken error    // why nothing is sent any more
}

// outgoing is a message that is sent. Its memory is lent to the link until it is done, or
// taken back.
type outgoing struct {
	buf     []byte // what is before the first frame's header is frames that go out with it
	from    int    // where the payload of the next frame begins, headerSize behind its header
	stream  uint32
	control bool          // buf is a whole frame
	begun   bool          // some of it is written
	done    bool          // all of it is
	left    chan struct{} // closed when it is done or taken out; nil: nobody waits
}

// errFlood is why a connection ends whose peer takes no answers and goes on asking.
var errFlood = errors.New("the peer asks without taking answers")

func newLink(conn net.Conn, most int, lost func(error)) *link {
	l := &link{most: most, lost: lost}
	l.conn, l.out = outletOf(conn)
	l.out.release(l.resume)
	return l
}

// send sends a message, at once or when its turn comes. prepare, which may be nil, runs
// when its place among the others is certain. left is nil if it is done; else it is
// closed when it is, or was taken out.
func (l *link) send(m *outgoing, prepare func()) (left <-chan struct{}, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.broken != nil:
		return nil, l.broken
	case l.most > 0 && len(l.queue) >= l.most:
		return nil, errFlood
	}
	if prepare != nil {
		prepare()
	}
	m.begun, m.done, m.left = false, false, nil
	if m.control {
		l.queue = slices.Insert(l.queue, 0, m)
	} else {
		l.queue = append(l.queue, m)
	}
	l.pump()
	if !m.done && l.broken == nil {
		m.left = make(chan struct{})
	}
	return m.left, l.broken
}

// tell sends a frame ahead of all messages.
func (l *link) tell(k kind, stream uint32, payload string) error {
	_, err := l.send(&outgoing{buf: appendFrame(nil, k, stream, payload), control: true}, nil)
	return err
}

// answerPing answers a ping. One answer is enough for all that have come.
func (l *link) answerPing() {
	l.mu.Lock()
	waits := slices.Contains(l.queue, &l.ponged)
	l.mu.Unlock()
	if !waits { // only the reader calls this
		l.ponged.buf, l.ponged.control = appendFrame(l.ponged.buf[:0], pong, 0, ""), true
		l.send(&l.ponged, nil)
	}
}

// pump writes frames until there are none or the connection takes no more. l.mu must be
// held.
func (l *link) pump() {
	for len(l.queue) > 0 && !l.full && l.broken == nil {
		m := l.queue[0]
		l.queue = slices.Delete(l.queue, 0, 1)
		piece := m.next()
		if _, err := l.conn.Write(piece); err != nil {
			l.stop(err)
			m.leave()
			go l.lost(err)
			return
		}
		l.full = l.out.backlog()
		if m.done {
			m.leave()
		} else {
			l.queue = append(l.queue, m)
		}
	}
}

// resume goes on when the connection has taken all that was written.
func (l *link) resume() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.full = l.out.backlog() // it may have written since, and left some behind
	l.pump()
}

// next returns the next bytes to be written, and moves on.
func (m *outgoing) next() []byte {
	begin := m.from - headerSize
	if !m.begun {
		begin = 0
	}
	m.begun = true
	if m.control {
		m.done = true
		return m.buf
	}
	size := min(len(m.buf)-m.from, maxPart)
	m.done = m.from+size == len(m.buf)
	k := part
	if m.done {
		k = message
	}
	putHeader(m.buf[m.from-headerSize:], k, m.stream, size)
	m.from += size
	return m.buf[begin:m.from]
}

// leave tells who waits for the message. l.mu must be held.
func (m *outgoing) leave() {
	if m.left != nil {
		close(m.left)
		m.left = nil
	}
}

// take takes a message back, so that its memory is its owner's again, and says whether
// all of it was written.
func (l *link) take(m *outgoing) (done bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if i := slices.Index(l.queue, m); i >= 0 {
		l.queue = slices.Delete(l.queue, i, i+1)
		m.leave()
	}
	return m.done
}

// stop sends nothing more. l.mu must be held.
func (l *link) stop(why error) {
	if l.broken == nil {
		l.broken = why
	}
	for _, m := range l.queue {
		m.leave()
	}
	l.queue = nil
}

// end is stop for who does not hold the lock.
func (l *link) end(why error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stop(why)
}
