// SPDX-License-Identifier: Apache-2.0

package group

import (
	"time"

	"oneslot.dev/oneslot/wire"
)

// A Snapshot is a group at one moment, for status and for the slot's answers.
type Snapshot struct {
	Members []MemberSnapshot
	Primary int // index, -1 without one
}

// A MemberSnapshot is a member at one moment.
type MemberSnapshot struct {
	Name        string
	Standby     bool
	State       State
	Since       time.Time
	Outstanding int
	Answered    uint64
	Failures    uint64
	Cause       error // of the last failure
	CauseAt     time.Time
	Serial      string
	Objects     int
	About       *wire.Description // nil until it was connected once
	PID         int               // of a local member's process, 0 if there is none
}

// Snapshot returns the group as it is now.
func (g *Group) Snapshot() Snapshot {
	g.mu.Lock()
	defer g.mu.Unlock()
	snap := Snapshot{Primary: -1}
	candidates := make([]candidate, 0, len(g.seats))
	for _, s := range g.seats {
		m := MemberSnapshot{
			Name: s.member.Name(), Standby: s.standby, State: s.state, Since: s.since, Outstanding: s.outstanding,
			Answered: s.answered, Failures: s.failures, Cause: s.cause, CauseAt: s.causeAt, Serial: s.serial,
			Objects: s.objects, About: s.about,
		}
		if s.link != nil {
			if local, ok := s.link.conn.(interface{ PID() int }); ok {
				m.PID = local.PID()
			}
		}
		snap.Members = append(snap.Members, m)
		candidates = append(candidates, candidate{ready: s.state == Ready, standby: s.standby})
	}
	snap.Primary = pick(Primary, candidates, 0)
	return snap
}

// Name is the group's name.
func (g *Group) Name() string { return g.name }

// Connected is whether each member has been seen, and so what it offers is known.
func (s *Snapshot) Connected() bool {
	for _, m := range s.Members {
		if m.About == nil {
			return false
		}
	}
	return true
}
