// SPDX-License-Identifier: Apache-2.0

package group

import (
	"context"
	"fmt"
	"time"

	"oneslot.dev/oneslot/member"
	"oneslot.dev/oneslot/wire"
)

// A member that hangs says nothing, or answers from memory what needs no token. Probes
// find that before a call of an application does.

// probe asks a member that does no work for a sign of life until its connection is gone.
// The question makes the token work (field-G4). A member that has given no
// sign for the probe timeout is dropped (F3).
func (g *Group) probe(l *link) {
	ticker := time.NewTicker(g.option().ProbeInterval)
	defer ticker.Stop()
	var session member.Session
	answered, _ := g.worksFor(l)
	for {
		select {
		case <-ticker.C:
		case <-l.conn.Done():
			return
		}
		silent := time.Since(l.conn.LastSign())
		now, works := g.worksFor(l)
		works = works || now > answered
		answered = now
		// What is asked behind the scenes may come at the same interval, and be answered
		// from memory: only applications' calls do for a probe.
		if works && silent < g.option().ProbeInterval/2 {
			continue
		}
		if session == nil {
			var err error
			if session, err = l.conn.Open(l.view); err != nil {
				g.drop(l, err)
				return
			}
		}
		left := max(g.option().ProbeTimeout-silent, g.option().ProbeTimeout/2)
		if err := g.ask(l, session, left); err != nil {
			g.drop(l, err)
			return
		}
	}
}

// worksFor is how many calls of applications a member has answered, and whether it is
// at one.
func (g *Group) worksFor(l *link) (answered uint64, busy bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return l.seat.answered, l.seat.outstanding > 0
}

// ask probes once. A token that answers it cannot just now is alive: its
// answers to real calls are judged elsewhere.
func (g *Group) ask(l *link, session member.Session, silence time.Duration) error {
	var call wire.Probe
	_, err := session.Do(context.Background(), member.Limits{Silence: silence, Stuck: g.option().StuckTimeout}, &call)
	if err != nil {
		return fmt.Errorf("probe: %w", err)
	}
	if blame(call.RV, false) == device {
		return fmt.Errorf("probe: the token answered %w", call.RV)
	}
	return nil
}
