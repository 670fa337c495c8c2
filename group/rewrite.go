// SPDX-License-Identifier: Apache-2.0

package group

import (
	"errors"
	"slices"

	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/wire"
)

// Several hosts rewrite the records of one event at once. What keeps them from taking
// each other's away: on each member one record of the present state is enough, whoever
// wrote it; a process writes none but its own; and of several everybody keeps the same.

// rewrite puts the record of an event into its present state on every member,
// or removes it when all have confirmed and all are there to see that: one that
// is not may hold an older state of it, which must not count when it returns.
func (g *Group) rewrite(e *entry, left []string, members []*link) error {
	if left == nil {
		left = []string{}
	}
	stays := len(left) > 0 || len(members) < g.size() || g.rests(e)
	if stays && len(left) == 0 && g.restsOn(e, members) {
		g.paid(e)
		return nil
	}
	var failed error
	kept := make(map[*link]string) // what stays, by member
	if stays {
		kept = e.standing(left)
		mine := g.remainder(e, left)
		written, fresh := 0, []*link(nil)
		for _, l := range members {
			if kept[l] != "" {
				written++
				continue
			}
			rv, err := g.writeRaw(l, []byte(mine))
			switch {
			case err != nil:
				failed = errors.Join(failed, &errJournal{l, err})
			case rv != pkcs11.CKR_OK:
				g.untaken(l, e, rv)
			default:
				written++
				fresh = append(fresh, l)
			}
		}
		if written == 0 {
			return failed // the old records stay
		}
		if len(fresh) > 0 && !g.stands(e, mine) {
			for _, l := range fresh {
				g.eraseRaw(l, []byte(mine)) // others have settled it meanwhile
			}
			return failed
		}
	}
	g.paid(e)
	for _, c := range e.at {
		if string(c.raw) == kept[c.link] {
			continue
		}
		erase := wire.Unrecord{Record: c.raw}
		err := c.link.spare(g.ctx, g.limits(nil), &erase)
		if err == nil && erase.RV != pkcs11.CKR_OK {
			err = errRefused(erase.Number(), erase.RV) // what stays would later undo what comes after it
		}
		if err != nil {
			failed = errors.Join(failed, &errJournal{c.link, err})
		}
	}
	return failed
}

// remainder is this process's record of an event that waits for those who are left. It
// is its own, so that one who finds that he wrote too late takes back his own record,
// and not the same of another process that is in time.
func (g *Group) remainder(e *entry, left []string) string {
	mine := e.pending(left)
	mine.Open, mine.By = false, g.by
	if len(left) == 0 {
		mine.Settled = e.settledAt()
	}
	return string(mine.encode())
}

// standing is the record of an event in its present state that each member has, if it
// has one. Of several it is the first in the order of their bytes, so that all who see
// them keep the same: the order in which members and records are read is not.
func (e *entry) standing(left []string) map[*link]string {
	has := make(map[*link]string)
	for _, c := range e.at {
		r, _ := decodeRecord(c.raw)
		if r.Open || !slices.Equal(r.Pending, left) || len(left) == 0 && r.Settled.IsZero() {
			continue
		}
		if first := has[c.link]; first == "" || string(c.raw) < first {
			has[c.link] = string(c.raw)
		}
	}
	return has
}

// untaken says, once for a member, that the journal of a member does not take a
// record. It is tried again, since the token may get room.
func (g *Group) untaken(l *link, e *entry, rv pkcs11.RV) {
	if l.seat.first(g, e) {
		g.say(ChangeMissed, l.seat, rv, "its journal does not take the record: "+e.String())
	}
}

// stale says, once for a member, that a member has an attribute as it was before a
// change that this client may not carry out.
func (g *Group) stale(e *entry, members []*link) {
	for _, l := range members {
		if e.Op == opChange && e.waits(g, l) && l.seat.first(g, e) {
			g.say(ChangeMissed, l.seat, nil, e.String()+": this client may not manage keys on all members, so the member keeps what it has: it follows when a host connects that may (oneslot sync there)")
		}
	}
}

// first says whether an event is met for the first time on a member.
func (s *seat) first(g *Group, e *entry) bool {
	event := e.event()
	g.mu.Lock()
	defer g.mu.Unlock()
	if s.told[event] {
		return false
	}
	if s.told == nil || len(s.told) >= mostTold {
		s.told = make(map[string]bool)
	}
	s.told[event] = true
	return true
}

// mostTold bounds what is remembered of a journal that this client cannot settle.
const mostTold = 1000
