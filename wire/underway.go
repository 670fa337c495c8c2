// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"sync"
	"time"
)

// LastCalls is how long calls may go on that are with a vendor's module when whoever
// asked for them is gone. It bounds the life of a process whose module hangs.
const LastCalls = 10 * time.Second

// Underway counts what is with a vendor's module for one connection. When the engine is
// gone it comes to its end before the process does: a call that is cut off may leave half
// an object, or no token at all. SoftHSM's C_Login empties token.object and writes it anew.
type Underway struct {
	mu      sync.Mutex // guards what follows
	running int
	last    chan struct{} // closed when nothing runs any more; nil: more may begin
}

// Begin counts a message that is acted on from now on. It is false when none may be.
func (u *Underway) Begin() bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.last != nil {
		return false
	}
	u.running++
	return true
}

// End is after each Begin that was true.
func (u *Underway) End() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.running--
	if u.last != nil && u.running == 0 {
		close(u.last)
	}
}

// Finish lets nothing more begin, and waits for what has, but no longer than that. It is
// called once.
func (u *Underway) Finish(patience time.Duration) {
	u.mu.Lock()
	u.last = make(chan struct{})
	if u.running == 0 {
		close(u.last)
	}
	u.mu.Unlock()
	late := time.NewTimer(patience)
	defer late.Stop()
	select {
	case <-u.last:
	case <-late.C:
	}
}
