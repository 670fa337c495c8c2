// SPDX-License-Identifier: Apache-2.0

package group

import (
	"errors"
	"slices"
	"time"

	"oneslot.dev/oneslot/config"
	"oneslot.dev/oneslot/member"
)

// errLeft is the cause of leaving a member that the configuration no longer
// names. It is no failure.
var errLeft = errors.New("removed from the group by the configuration")

// leavePatience is how long a member that was removed may take to finish what
// it has. Sessions that are held longer, by an operation between two calls, move
// away or end as if the member had failed.
const leavePatience = 30 * time.Second

// Member returns the member of this name, nil if the group has none.
func (g *Group) Member(name string) member.Member {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, s := range g.seats {
		if s.member.Name() == name {
			return s.member
		}
	}
	return nil
}

// Reconfigure gives the group other options and members, in this order, while it
// works (R5). A member that it has already, the same value, stays as it is. One that it
// has no longer gets nothing new, finishes what it has, and is left. A new one is
// synced before it serves. Changes are recorded for a member that was removed (roster.go):
// should it ever come back, what was destroyed does not.
func (g *Group) Reconfigure(options config.Group, members []member.Member) {
	before := g.option().KeyExport
	g.present.Store(&options)
	g.mu.Lock()
	var anew []*link
	if before != options.KeyExport {
		anew = g.exporters()
	}
	old := g.seats
	g.seats = nil
	var fresh []*seat
	for _, m := range members {
		i := slices.IndexFunc(old, func(s *seat) bool { return s.member == m })
		if i >= 0 {
			old[i].standby = options.IsStandby(m.Name())
			g.seats = append(g.seats, old[i])
			continue
		}
		s := g.newSeat(m)
		fresh = append(fresh, s)
		g.seats = append(g.seats, s)
	}
	g.last = len(g.seats) - 1
	g.told.Add(1)
	g.reassure()          // it may be alone no longer
	g.moment.admissions++ // who is just becoming ready compares once more
	var leaving []*seat
	for _, s := range old {
		if !slices.Contains(g.seats, s) {
			leaving = append(leaving, s)
		}
	}
	if g.started && g.ctx.Err() == nil {
		for _, s := range fresh {
			g.lives.Go(func() { g.keep(s) })
		}
	}
	g.broadcast()
	g.mu.Unlock()
	for _, s := range leaving {
		g.dismiss(s)
	}
	for _, l := range anew {
		g.drop(l, errPermission)
	}
	if options.Recovery != config.RecoverManual {
		g.wakeDown() // the interval or the attempts may be other ones now
	}
}

func (g *Group) wakeDown() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, s := range g.seats {
		if s.state == Down {
			s.summon()
		}
	}
}

// dismiss has a seat's keeper end its life.
func (g *Group) dismiss(s *seat) {
	close(s.left)
	g.mu.Lock()
	l, busy := s.link, s.state == Ready || s.state == Draining
	g.mu.Unlock()
	if l != nil && !busy {
		g.drop(l, errLeft)
	}
}

// hasLeft says whether the member is no longer of the group.
func (s *seat) hasLeft() bool {
	select {
	case <-s.left:
		return true
	default:
		return false
	}
}

// vacate ends the life of a member that left while it was being connected.
func (g *Group) vacate(l *link) {
	if l != nil {
		g.drop(l, errLeft)
	}
}
