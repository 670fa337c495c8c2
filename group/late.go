// SPDX-License-Identifier: Apache-2.0

package group

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/wire"
)

// Two processes may carry out one record at once. Whoever makes a later change
// first settles the older ones, so a record that still waits for a member after
// it was carried out there had no successor on that member before. One that does
// not was settled by another process, and what came after may have been undone.

// A sight is what some journals say at one time, by member and event.
type sight struct {
	group *Group
	of    map[*link]map[string][]copyOf
	blind map[*link]bool // they could not tell, or had no login, without which they show none

	hearsay map[*link][]rumour // what does not count
}

// look reads the journals that events were read in, and those of others.
func (g *Group) look(jobs []*job, others ...*link) *sight {
	links := slices.Clone(others)
	for _, j := range jobs {
		for _, c := range j.at {
			if !slices.Contains(links, c.link) {
				links = append(links, c.link)
			}
		}
	}
	logins := make([]uint64, len(links))
	for i, l := range links {
		logins[i] = g.loginOf(l)
	}
	s := &sight{g, make(map[*link]map[string][]copyOf), make(map[*link]bool), make(map[*link][]rumour)}
	for i, told := range g.readAll(links) {
		of := make(map[string][]copyOf)
		for k, r := range told.records {
			of[r.event()] = append(of[r.event()], told.copies[k])
		}
		l, lookedIn := links[i], logins[i] != 0 && logins[i] == g.loginOf(links[i])
		s.hearsay[l] = told.hearsay
		s.of[l], s.blind[l] = of, told.err != nil || !lookedIn && !l.needsNone()
	}
	return s
}

// stands says whether a record of the event still stands wherever it was read, besides
// mine that was written since: one that is gone somewhere was settled by another
// process, which may not have come to the others yet. A member that cannot tell says
// nothing against it; but somebody must say that it stands.
func (s *sight) stands(e *entry, mine string) bool {
	told := len(e.at) == 0 || slices.ContainsFunc(e.at, func(c copyOf) bool { return !s.blind[c.link] })
	return told && s.everywhere(e, nil, func(now copyOf) bool {
		return string(now.raw) != mine || slices.ContainsFunc(e.at, func(c copyOf) bool { return c.link == now.link && string(c.raw) == mine })
	})
}

// waitsFor says whether the event still waits for a member, by every record of it that
// was read and by those on the member itself. A member that cannot tell says nothing
// against it.
func (s *sight) waitsFor(l *link, e *entry) bool {
	return s.everywhere(e, l, func(c copyOf) bool {
		r, _ := decodeRecord(c.raw)
		return (&entry{left: r.Pending}).waits(s.group, l)
	})
}

// everywhere says whether a record of an event that is so still stands on each member
// where one was read; and on one more, if that has any at all.
func (s *sight) everywhere(e *entry, more *link, so func(copyOf) bool) bool {
	event := e.event()
	is := func(l *link) bool { return s.blind[l] || slices.ContainsFunc(s.of[l][event], so) }
	if len(e.at) == 0 {
		return true // it was never written
	}
	return (more == nil || len(s.of[more][event]) == 0 || is(more)) &&
		!slices.ContainsFunc(e.at, func(c copyOf) bool { return !is(c.link) })
}

// lateTries is how often undoLate looks again for whether another change came in
// between.
const lateTries = 3

// undoLate gives a member the present values of attributes that were set there by
// a change which another process had settled already. No record says that it has to: so
// whoever fails as a source makes way for the next one, and that there was none is said.
func (g *Group) undoLate(l *link, e *entry, from []*link) error {
	for _, other := range from {
		err := g.copyValues(l, other, e)
		if err == nil {
			return nil
		}
		if failure := new(errJournal); errors.As(err, &failure) && failure.link == other {
			g.drop(other, err)
			continue
		}
		return err
	}
	g.say(ObjectsDiffer, l.seat, nil, fmt.Sprintf("%v: it was carried out after a later change, and no other member can tell what that was: compare them with `oneslot sync`", e))
	return &errJournal{l, fmt.Errorf("%v: it was settled by another process at the same time: it is compared anew", e)}
}

// copyValues gives a member the values of attributes that another one has now.
func (g *Group) copyValues(l, other *link, e *entry) error {
	for range lateTries {
		// The late one first: what it has from a later change, the other has, too.
		object, has, err := g.holds(l, e)
		if err != nil {
			return err
		}
		_, wanted, err := g.holds(other, e)
		if err != nil {
			return err
		}
		wanted = slices.DeleteFunc(wanted, func(a pkcs11.Attribute) bool {
			mine := has.Find(a.Type)
			return mine != nil && string(mine.Value) == string(a.Value)
		})
		if object == 0 || len(wanted) == 0 {
			return nil
		}
		call := wire.SetAttributeValue{Object: object, Template: wanted}
		if _, err := l.background(g.ctx, g.limits(nil), &call); err != nil || call.RV != pkcs11.CKR_OK {
			return &errJournal{l, errors.Join(err, orNil(call.RV))}
		}
	}
	return &errJournal{l, fmt.Errorf("%v: its object is being changed all the time: it is compared anew", e)}
}

// upToDate are the members beside l which no record about the object of an event waits
// for, nor one of the event itself, once no change of it is under way.
func (g *Group) upToDate(l *link, e *entry, members []*link) (out []*link) {
	waiting := make(map[*link]bool)
	for _, other := range g.awaitRivals(e, members) {
		for _, m := range members {
			waiting[m] = waiting[m] || other.concerns(&e.Identity) && other.waits(g, m)
		}
	}
	for _, m := range members {
		if m != l && !waiting[m] && m.conn.Err() == nil {
			out = append(out, m)
		}
	}
	return out
}

// holds reads the attributes that an event changes as a member has them now.
// The handle is 0 if it does not have the object,
// or nobody can tell which it is.
func (g *Group) holds(l *link, e *entry) (object uint64, now pkcs11.Template, err error) {
	find := wire.Resolve{Wanted: e.Identity}
	if _, err := l.background(g.ctx, g.limits(nil), &find); err != nil || find.RV != pkcs11.CKR_OK {
		return 0, nil, &errJournal{l, errors.Join(err, orNil(find.RV))}
	}
	target := e.shownAs(find.Found)
	if target == nil {
		return 0, nil, nil
	}
	ask := wire.GetAttributeValue{Object: target.Object, Query: queryFor(e.Changes)}
	if _, err := l.background(g.ctx, g.limits(nil), &ask); err != nil {
		return 0, nil, &errJournal{l, err}
	}
	return target.Object, valuesOf(ask.Values), nil
}

// restTime is how long a record stays that all have confirmed, for those who share
// some of the tokens, but not all: they have others that hold it as it was, and learn
// so that it is over. One that comes later still has what it says carried out again.
const restTime = 10 * time.Minute

// rests says whether a record stays though all have confirmed.
func (g *Group) rests(e *entry) bool {
	return len(g.removed()) > 0 && (e.Settled.IsZero() || time.Since(e.Settled) < restTime)
}

// restsOn says whether the members have it in that state already, and in no other.
func (g *Group) restsOn(e *entry, members []*link) bool {
	rest := func(c copyOf) bool {
		r, _ := decodeRecord(c.raw)
		return !r.Open && len(r.Pending) == 0 && !r.Settled.IsZero()
	}
	return !slices.ContainsFunc(e.at, func(c copyOf) bool { return !rest(c) }) && !slices.ContainsFunc(members, func(l *link) bool {
		return !slices.ContainsFunc(e.at, func(c copyOf) bool { return c.link == l })
	})
}

// paid forgets an event that no journal took: it stands in one now, or is over.
func (g *Group) paid(e *entry) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.owed = slices.DeleteFunc(g.owed, func(r record) bool { return r.event() == e.event() })
}

// settledAt is when all had confirmed.
func (e *entry) settledAt() time.Time {
	if e.Settled.IsZero() {
		return time.Now().UTC()
	}
	return e.Settled
}
