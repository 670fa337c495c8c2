// SPDX-License-Identifier: Apache-2.0

package group

import (
	"errors"
	"time"

	"oneslot.dev/oneslot/member"
	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/wire"
)

// A seat is a member's place in the group.
type seat struct {
	index   int
	member  member.Member
	standby bool
	kick    chan struct{} // wakes the keeper: there is something to do
	left    chan struct{} // closed when the member is no longer of the group
	warned  time.Time     // when it was told that something ends; the keeper's

	// Guarded by Group.mu.
	state       State
	due         bool // somebody wants an attempt now, whatever the keeper waits for
	announced   bool // that it is ready was said, and holds but for a login that it is given
	since       time.Time
	cause       error // of the last failure
	causeAt     time.Time
	failures    uint64
	inRow       int       // failures without steadyTime between them
	connected   time.Time // when the present or last connection was made
	outstanding int
	answered    uint64
	link        *link  // the connection; nil without one
	serial      string // of the token, once it was seen
	about       *wire.Description
	objects     int             // in sync, at the last count
	sole        Sole            // what another member does not get; see sole.go
	owing       bool            // it has objects for another member that could not take them yet
	login       uint64          // the group's login that this member has; see login.go
	padAsked    uint64          // the login for which its own PIN pad was asked last; see pad.go
	doubt       *pinDoubt       // a PIN that it may have; see pin.go
	told        map[string]bool // events that could not be settled on it, and that was said
}

func (s *seat) serialNow(g *Group) string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return s.serial
}

func (s *seat) hasFailed(g *Group) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return s.failures > 0
}

// wake tells the keeper that there is something to do. It never blocks.
func (s *seat) wake() {
	select {
	case s.kick <- struct{}{}:
	default:
	}
}

// drop gives a connection up. Whoever waits on it is told at once, and nobody
// else is sent there; the keeper does the rest.
func (g *Group) drop(l *link, cause error) { g.part(l, Down, cause) }

// part gives a connection up and leaves its member in a state, if it was the present one.
func (g *Group) part(l *link, left State, cause error) {
	s := l.seat
	var event Event
	g.mu.Lock()
	current := s.link == l && (s.state == Ready || s.state == Syncing || s.state == Draining)
	if current {
		event = g.move(s, left, cause)
		s.link, s.login, s.sole = nil, 0, nil
	}
	g.mu.Unlock()
	if cause == errDrained || cause == errLeft {
		l.leave()
	} else {
		l.close()
	}
	if current {
		g.report(event)
	}
}

// quarantine leaves a member out until an operator acts.
func (g *Group) quarantine(s *seat, l *link, cause error) {
	g.mu.Lock()
	event := g.move(s, Quarantined, cause)
	s.link, s.login, s.sole = nil, 0, nil
	g.mu.Unlock()
	if l != nil {
		l.close()
	}
	g.report(event)
}

// errRefused is the cause of dropping a member for its answer.
func errRefused(number wire.Number, rv pkcs11.RV) error {
	return errors.New(number.String() + " answered " + rv.String())
}
