// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"sync"
	"time"
)

// An Alarm rings when something takes longer than it should. It is made for
// calls, which nearly never do: setting and clearing it touch no timer of the
// runtime, whose changes wake threads. The timer that once was set goes off,
// finds the due time moved on, and follows it.
type Alarm struct {
	Ring func() // called without a lock when the due time has passed

	mu    sync.Mutex // guards what follows
	timer *time.Timer
	due   time.Time // zero: nothing is due
	fires time.Time // when the timer goes off; zero: it is not set
}

// Set makes the alarm ring at the due time, unless it is set anew or cleared.
func (a *Alarm) Set(due time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.due = due
	if a.fires.IsZero() || a.fires.After(due) {
		a.follow()
	}
}

// follow sets the timer to the due time. a.mu must be held.
func (a *Alarm) follow() {
	a.fires = a.due
	if a.timer == nil {
		a.timer = time.AfterFunc(time.Until(a.due), a.fire)
	} else {
		a.timer.Reset(time.Until(a.due))
	}
}

// Clear keeps the alarm from ringing.
func (a *Alarm) Clear() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.due = time.Time{}
}

// Stop clears the alarm for good and gives its timer back.
func (a *Alarm) Stop() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.due, a.fires = time.Time{}, time.Time{}
	if a.timer != nil {
		a.timer.Stop()
	}
}

func (a *Alarm) fire() {
	a.mu.Lock()
	a.fires = time.Time{}
	switch {
	case a.due.IsZero():
		a.mu.Unlock()
		return
	case time.Now().Before(a.due):
		a.follow()
		a.mu.Unlock()
		return
	}
	a.due = time.Time{}
	a.mu.Unlock()
	a.Ring()
}
