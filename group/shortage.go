// SPDX-License-Identifier: Apache-2.0

package group

import (
	"slices"
	"time"

	"oneslot.dev/oneslot/pkcs11"
)

// shortage is who waits because every member is short of sessions (H6).
type shortage struct {
	waiting int
	freed   chan struct{} // closed and replaced when a session may have become free
}

// tell wakes whoever waits. g.mu must be held.
func (s *shortage) tell() {
	if s.waiting > 0 {
		close(s.freed)
		s.freed = make(chan struct{})
	}
}

// awaitSession waits a little for a session of one of the members that had none,
// and lets them be tried again. False: the time is up.
func (g *Group) awaitSession(r *run) bool {
	begin := time.Now()
	timer := time.NewTimer(g.option().ProbeTimeout - r.waited)
	defer timer.Stop()
	g.mu.Lock()
	if g.shortage.freed == nil {
		g.shortage.freed = make(chan struct{})
	}
	g.shortage.waiting++
	freed := g.shortage.freed
	g.mu.Unlock()
	woken := false
	select {
	case <-freed:
		woken = true
	case <-timer.C:
	case <-g.ctx.Done():
	}
	g.mu.Lock()
	g.shortage.waiting--
	g.mu.Unlock()
	r.waited += time.Since(begin)
	if woken {
		r.tried = slices.DeleteFunc(r.tried, func(l *link) bool { return slices.Contains(r.short, l) })
		r.short, r.shortage = nil, pkcs11.CKR_OK
	}
	return woken
}
