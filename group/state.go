// SPDX-License-Identifier: Apache-2.0

package group

import (
	"fmt"
	"time"
)

// State is where a member is in its life; doc.go draws it.
type State uint8

// The states of a member.
const (
	Connecting  State = iota // an attempt to connect is under way
	Syncing                  // connected; login and objects are being brought up to date
	Ready                    // may get work
	Down                     // not reachable; the next attempt is waited for
	Quarantined              // an operator must act before it is tried again
	Draining                 // asked to be left alone: gets nothing new, finishes what it has
)

var stateNames = [...]string{"connecting", "syncing", "ready", "down", "quarantined", "draining"}

func (s State) String() string { return stateNames[s] }

// mayFollow is the drawing in doc.go as data.
var mayFollow = map[State][]State{
	Connecting:  {Syncing, Down, Quarantined},
	Syncing:     {Ready, Down, Quarantined},
	Ready:       {Syncing, Down, Quarantined, Draining},
	Draining:    {Down, Quarantined},
	Down:        {Connecting, Quarantined},
	Quarantined: {Connecting},
}

// move changes a member's state: the only function that does. It wakes whoever
// waits for a change and returns the event to report once g.mu is released.
// g.mu must be held.
func (g *Group) move(s *seat, to State, cause error) Event {
	from := s.state
	legal := false
	for _, next := range mayFollow[from] {
		legal = legal || next == to
	}
	if !legal {
		panic(fmt.Sprintf("group %s: member %s: %v to %v", g.name, s.member.Name(), from, to))
	}
	s.state, s.since = to, time.Now()
	switch {
	case to == Syncing && from == Connecting:
		s.connected = s.since
	case to == Down && from != Connecting && s.since.Sub(s.connected) > steadyTime:
		s.inRow = 1
	case to == Down:
		s.inRow++
	}
	if cause != nil {
		s.cause, s.causeAt = cause, s.since
		if (to == Down || to == Quarantined) && cause != errDrained && cause != errLeft {
			s.failures++
		}
	}
	g.arrived()
	g.broadcast()
	again := to == Ready && s.announced
	s.announced = to == Ready || to == Syncing && s.announced
	return Event{Again: again, Time: s.since, Code: codeOf(to), Group: g.name, Member: s.member.Name(), Serial: s.serial, From: from, To: to, Cause: cause}
}
