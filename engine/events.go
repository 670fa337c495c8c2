// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"sync"

	"oneslot.dev/oneslot/group"
	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/wire"
)

// slotEvents are the slots whose token came or went since anybody asked.
type slotEvents struct {
	mu      sync.Mutex // guards what follows
	here    map[uint64]bool
	pending []uint64
	news    chan struct{} // closed and replaced when something becomes pending
}

func newSlotEvents() *slotEvents {
	return &slotEvents{here: make(map[uint64]bool), news: make(chan struct{})}
}

// begin says whether a slot's token is there when C_Initialize returns. What
// comes later is an event.
func (e *slotEvents) begin(slot uint64, here bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.here[slot] = here
}

// note says whether a slot's token is there now.
func (e *slotEvents) note(slot uint64, here bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	before, known := e.here[slot]
	if !known || before == here {
		return
	}
	e.here[slot] = here
	for _, p := range e.pending {
		if p == slot {
			return
		}
	}
	e.pending = append(e.pending, slot)
	close(e.news)
	e.news = make(chan struct{})
}

// next takes an event, or returns what to wait for.
func (e *slotEvents) next() (slot uint64, ok bool, news <-chan struct{}) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.pending) == 0 {
		return 0, false, e.news
	}
	slot = e.pending[0]
	e.pending = e.pending[1:]
	return slot, true, nil
}

// watchPresence notes, at each change of a member, whether its group serves.
func (a *application) watchPresence(e group.Event) {
	for _, s := range a.allSlots() {
		if s.virtual != nil && s.virtual.Name == e.Group {
			a.events.note(s.id, s.group.Serving())
		}
	}
}

// WaitForSlotEvent is C_WaitForSlotEvent: a virtual slot lost its last member or
// got one back. C_Finalize ends the wait (field-H6).
func (a *application) WaitForSlotEvent(ctx context.Context, c *wire.WaitForSlotEvent) pkcs11.RV {
	for {
		slot, ok, news := a.events.next()
		if ok {
			c.Slot = slot
			return pkcs11.CKR_OK
		}
		if c.Flags&pkcs11.CKF_DONT_BLOCK != 0 {
			return pkcs11.CKR_NO_EVENT
		}
		select {
		case <-news:
		case <-ctx.Done():
			return pkcs11.CKR_CRYPTOKI_NOT_INITIALIZED
		}
	}
}
