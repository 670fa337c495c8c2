// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"errors"
	"sync"
	"time"
)

// ErrUnfinished is why a connection ends whose peer does not complete what it began: it
// sent a part of a request, or took a part of an answer, and then at most signs of life.
var ErrUnfinished = errors.New("the peer has not completed a request that it began, or not taken an answer, in time")

// transfers are the messages that are under way on a connection, each with the time when
// it began. One that takes too long ends the connection, however often the peer answers
// pings meanwhile (field-L4). A frame or a record of TLS that is not completed needs no
// such limit: whoever is in the middle of one cannot answer pings.
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
