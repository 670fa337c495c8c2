// SPDX-License-Identifier: Apache-2.0

package group

import (
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"oneslot.dev/oneslot/wire"
)

// Changes of one object take turns, those of other threads, processes and hosts
// too. Else two of them could reach two members in two orders, and leave the
// members different for good (H5, field-C16). Whoever is at it has a record on
// its primary that waits for that member, too. So a change looks into all
// journals after it has written its record: of two that begin at the same time at
// least one sees the other then, takes its record back and waits. So it does if
// something is still to be carried out on some member. A token that keeps no records
// has no turns.

const (
	// turnPatience is how long a change waits for another one of the same
	// object. One that takes longer has died, or does not see the members that
	// this one sees: what its record says is carried out.
	turnPatience = 2 * time.Second

	// turnPause is the longest pause before the journals are looked into again.
	// It is drawn by lot, so that two that took their records back do not
	// write them again together.
	turnPause = 20 * time.Millisecond
)

// underWay says whether somebody is at work on what the event is about.
func (g *Group) underWay(e *entry) bool {
	switch e.Op {
	case opCreate:
		return e.Open
	case opChange, opDestroy:
		// Once one that has confirmed holds the record, the change is over: those who
		// are left did not have the object, or were away.
		return len(e.left) > 1 && len(e.at) > 0 && !slices.ContainsFunc(e.at, func(c copyOf) bool {
			return !slices.ContainsFunc(e.left, func(name string) bool { return g.called(c.link.seat, name) })
		})
	}
	return false
}

// letFinish waits for the changes that the journals show under way. Those that
// do not end are taken for dead. What is begun meanwhile is not waited for.
func (g *Group) letFinish(entries []*entry, err error, members []*link) (now []*entry, dead map[string]bool, failed error) {
	busy := make(map[string]bool)
	for _, e := range entries {
		busy[e.event()] = e.Op != opCreate && g.underWay(e)
	}
	for end := time.Now().Add(turnPatience); err == nil; {
		dead = make(map[string]bool)
		for _, e := range entries {
			if busy[e.event()] && g.underWay(e) {
				dead[e.event()] = true
			}
		}
		if len(dead) == 0 || time.Now().After(end) || g.ctx.Err() != nil {
			break
		}
		g.turnPause()
		entries, err = g.journal(members)
	}
	return entries, dead, err
}

// mustWait says whether a change whose record was just written has to wait: the
// journals say something of the object that is to be carried out first (again, where
// somebody was just writing what was over), or somebody else is changing it, or has
// done so since they were looked into.
func (g *Group) mustWait(c *change) bool {
	if g.alone() || c.settled && !c.written {
		return false
	}
	ready := g.readyBut(nil)
	entries, err := g.journal(ready)
	g.dropFailed(err, nil)
	late := c.settled && !time.Now().Before(c.until)
	c.over = c.record.Op == opDestroy && c.written &&
		!slices.ContainsFunc(entries, func(e *entry) bool { return e.event() == c.intent.event() }) && g.isGone(c)
	if c.behind = g.behind(c, entries, late); late || c.over {
		return false
	}
	return slices.ContainsFunc(entries, func(e *entry) bool {
		return g.isClaimed(e, c.intent.Identity) || e.event() != c.intent.event() && e.concerns(&c.intent.Identity) &&
			(!c.settled || g.underWay(e) || !e.Time.Before(c.intent.Time) || slices.ContainsFunc(ready, func(l *link) bool { return e.asks(g, l) }))
	})
}

// behind are those who are to follow a change by the journal, though they are told of
// it now. Who did not follow an older one of the object that is overtaken follows both
// in their order. And who is being filled may get back what is destroyed: it may have been
// exported before. Who fills from now on meets the record of the destruction, or comes
// after it.
func (g *Group) behind(c *change, entries []*entry, overtakes bool) (seats []*seat) {
	for _, e := range entries {
		if e.Op == opFill && c.record.Op == opDestroy {
			for _, mark := range e.at {
				if !g.abandoned(mark) {
					seats = append(seats, mark.link.seat)
				}
			}
		}
		if !overtakes || e.Op != opChange || e.event() == c.intent.event() || !e.concerns(&c.intent.Identity) {
			continue
		}
		for _, l := range e.among {
			if e.asks(g, l) {
				seats = append(seats, l.seat)
			}
		}
	}
	return seats
}

// awaitRivals waits until nobody is changing the object of an event, or has done
// so for too long. It returns what the journals of the members say then.
func (g *Group) awaitRivals(e *entry, members []*link) (entries []*entry) {
	for end := time.Now().Add(turnPatience); ; g.turnPause() {
		entries, _ = g.journal(members) // who cannot tell is not waited for
		if time.Now().After(end) || g.ctx.Err() != nil || !slices.ContainsFunc(entries, func(other *entry) bool {
			return other.event() != e.event() && other.concerns(&e.Identity) && g.underWay(other)
		}) {
			return entries
		}
	}
}

// pauseForRival waits a little for a change that another one makes. Nobody need
// wait for this one meanwhile.
func (g *Group) pauseForRival() {
	g.exit()
	defer g.reenter()
	g.turnPause()
}

func (g *Group) turnPause() {
	pause := time.NewTimer(turnPause/4 + time.Duration(rand.Int64N(int64(turnPause*3/4))))
	defer pause.Stop()
	select {
	case <-pause.C:
	case <-g.ctx.Done():
	}
}

// settleFor carries out, before an object is changed, what the journals say of it
// among the members that are ready: an older record that is carried out later
// must not undo the change. What somebody is just doing it lets him do until
// the time given is over. It returns the time of the last such record, and whether a
// destruction is left.
func (g *Group) settleFor(end time.Time, ids ...wire.Identity) (last time.Time, left bool) {
	if g.alone() {
		return last, false
	}
	var before map[string]bool
	for {
		busy, destroyed := false, make(map[string]bool)
		_, err := g.settleAmong(g.readyBut(nil), func(e *entry) bool {
			about := slices.ContainsFunc(ids, func(id wire.Identity) bool { return e.concerns(&id) })
			if about && e.Time.After(last) {
				last = e.Time
			}
			if about && e.Op == opDestroy {
				destroyed[e.event()] = true
			}
			if time.Now().Before(end) && (g.isClaimed(e, ids...) || about && g.underWay(e)) {
				busy = true
				return false
			}
			return about
		}, nil)
		// What was settled just now may have been written down once more since the
		// journals were read (vouch.go).
		anew := slices.ContainsFunc(slices.Collect(maps.Keys(destroyed)), func(event string) bool { return !before[event] })
		switch before = destroyed; {
		case err != nil || g.ctx.Err() != nil:
			return last, true // whoever failed was dropped, and syncs before it serves again
		case busy:
			g.pauseForRival()
		case !anew:
			return last, len(destroyed) > 0
		}
	}
}
