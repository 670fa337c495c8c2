// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"encoding/binary"
	"errors"
	"sync"
	"time"
)

// ErrUnfinished is why a connection ends whose peer does not complete what it began: it
// sent a part of a request, or took a part of an answer, and then at most signs of life.
var ErrUnfinished = errors.New("the peer has not completed a request that it began, or not taken an answer, in time")

// transfers are the messages that are under way on a connection, each with the time when
// it began. One that takes too long ends the connection, however often the peer answers
// pings meanwhile (field-L4). A frame of HTTP/2 or a record of TLS that is not completed
// needs no such limit: whoever is in the middle of one cannot answer pings.
type transfers struct {
	most time.Duration
	late func() // called once, without the lock

	mu    sync.Mutex // guards what follows
	since map[any]time.Time
	timer *time.Timer
	armed bool // the timer is set; it looks by itself who is next
	over  bool
}

func newTransfers(most time.Duration, late func()) *transfers {
	return &transfers{most: most, late: late, since: make(map[any]time.Time)}
}

// begin notes that a message has begun.
func (t *transfers) begin(which any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.since[which] = time.Now()
	if !t.armed && !t.over {
		t.armed = true
		if t.timer == nil {
			t.timer = time.AfterFunc(t.most, t.look)
		} else {
			t.timer.Reset(t.most)
		}
	}
}

// end notes that a message is complete, or given up.
func (t *transfers) end(which any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.since, which)
}

// stop ends the watch.
func (t *transfers) stop() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.over = true
	if t.timer != nil {
		t.timer.Stop()
	}
}

// look finds out whether one takes too long, and comes again when the next one would.
func (t *transfers) look() {
	t.mu.Lock()
	left := t.most
	for _, since := range t.since {
		left = min(left, t.most-time.Since(since))
	}
	late := left <= 0 && !t.over
	switch {
	case t.over:
	case late:
		t.over = true
	case len(t.since) > 0:
		t.timer.Reset(left)
	default:
		t.armed = false
	}
	t.mu.Unlock()
	if late {
		t.late()
	}
}

// Of HTTP/2 (RFC 9113) this is all that has to be known to see where gRPC's messages
// begin and end.
const (
	prefaceSize = 24
	frameHeader = 9 // u24 length, u8 type, u8 flags, u32 stream, big endian

	frameData      = 0
	frameHeaders   = 1
	frameRSTStream = 3
	flagEndStream  = 1
	flagPadded     = 8

	messageHeader = 5 // u8 compressed, u32 length, big endian
)

// A reader follows the messages in what a client sends. It judges nothing: what is not
// HTTP/2 gRPC refuses.
type reader struct {
	transfers *transfers

	skip   int               // bytes of no interest that come next, the rest of a frame among them
	header [frameHeader]byte // of the frame that is being read
	have   int               // bytes of it
	data   int               // bytes of messages that come next in the frame
	padded bool              // but first the length of the padding

	part  part // of the message that the frame's stream is at
	ended bool // a message did in this frame
	noted bool // that one began, before the end of the frame
	parts map[uint32]part
}

// A part is what came of a message.
type part struct {
	header [messageHeader]byte
	have   int // bytes of it
	left   int // bytes that are to follow the header
}

func newReader(t *transfers) *reader {
	return &reader{transfers: t, skip: prefaceSize, parts: make(map[uint32]part)}
}

func (r *reader) stream() uint32 { return binary.BigEndian.Uint32(r.header[5:]) &^ (1 << 31) }

// read follows some bytes.
func (r *reader) read(b []byte) {
	for len(b) > 0 {
		switch {
		case r.padded:
			r.padded = false
			r.skip = min(int(b[0]), r.data)
			r.data -= r.skip
			b = b[1:]
			r.endFrame()
		case r.data > 0:
			n := min(r.data, len(b))
			r.ended = r.part.take(b[:n]) || r.ended
			r.data -= n
			b = b[n:]
			r.endFrame()
		case r.skip > 0:
			n := min(r.skip, len(b))
			r.skip -= n
			b = b[n:]
		default:
			n := copy(r.header[r.have:], b)
			r.have += n
			b = b[n:]
			if r.have == frameHeader {
				r.have = 0
				r.beginFrame()
			}
		}
	}
	if _, begun := r.parts[r.stream()]; r.data > 0 && !begun && !r.noted {
		r.noted = true
		r.transfers.begin(r.stream())
	}
}

func (r *reader) beginFrame() {
	length, kind, flags := int(binary.BigEndian.Uint32(r.header[:])>>8), r.header[3], r.header[4]
	if kind != frameData {
		r.skip = length
		if kind == frameRSTStream || kind == frameHeaders && flags&flagEndStream != 0 {
			r.forget(r.stream())
		}
		return
	}
	r.data = length
	if r.padded = flags&flagPadded != 0 && length > 0; r.padded {
		r.data--
	}
	r.part, r.ended, r.noted = r.parts[r.stream()], false, false
	r.endFrame()
}

// endFrame notes what is known of a message when there is no more of it in the frame.
func (r *reader) endFrame() {
	if r.data > 0 || r.padded {
		return
	}
	stream := r.stream()
	_, begun := r.parts[stream]
	switch {
	case r.part.have == 0 || r.header[4]&flagEndStream != 0:
		if begun || r.noted {
			r.forget(stream)
		}
	default:
		r.parts[stream] = r.part
		if !begun && !r.noted || r.ended {
			r.transfers.begin(stream)
		}
	}
}

func (r *reader) forget(stream uint32) {
	delete(r.parts, stream)
	r.transfers.end(stream)
}

// take takes what comes next of a stream's messages, and says whether one ended. Nothing
// is left of that.
func (p *part) take(b []byte) (ended bool) {
	for len(b) > 0 {
		if p.have < messageHeader {
			n := copy(p.header[p.have:], b)
			p.have += n
			b = b[n:]
			if p.have == messageHeader {
				p.left = int(binary.BigEndian.Uint32(p.header[1:]))
			}
		} else {
			n := min(p.left, len(b))
			p.left -= n
			b = b[n:]
		}
		if p.have == messageHeader && p.left == 0 {
			*p = part{}
			ended = true
		}
	}
	return ended
}
