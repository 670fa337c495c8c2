// SPDX-License-Identifier: Apache-2.0

package group

import (
	"errors"
	"slices"
	"time"

	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/wire"
)

// Several hosts rewrite the records of one event at once. What keeps them from taking
// each other's away: on each member one record of the present state is enough, whoever
// wrote it; a process writes none but its own; and of several everybody keeps the same.
// Who wrote one may still find that he was too late, and take it back: until it is firm
// nobody relies on it but he, and nobody removes it.

// A rewriting is the record of an event on its way to its present state.
type rewriting struct {
	*job
	stays bool             // it is not over
	kept  map[*link]string // what stays, by member
	mine  string
	fresh []*link // that mine was just written on

	unsure []*link // those of them where it does not count
}

// rewrite puts the records of events into their present state on every member,
// or removes them when all have confirmed and all are there to see that: one that
// is not may hold an older state of it, which must not count when it returns.
func (g *Group) rewrite(jobs []*job, members []*link) (failed error) {
	lost := make(map[*link]bool) // to be dropped
	fail := func(l *link, err error) {
		lost[l] = lost[l] || isFault(err)
		failed = errors.Join(failed, &errJournal{l, err})
	}
	var all []*rewriting
	var unsure []*job
	for _, j := range jobs {
		if j.lost() {
			continue // what came of it since, those say who are left
		}
		if j.left == nil {
			j.left = []string{}
		}
		if len(j.left) == 0 && j.shielded() {
			continue // until it is known that no older destruction is left
		}
		w := &rewriting{job: j, kept: make(map[*link]string)}
		if len(j.left) > 0 || len(members) < g.size() || g.rests(j.entry) {
			if len(j.left) == 0 && g.restsOn(j.entry, members) {
				g.paid(j.entry)
				continue
			}
			if !g.put(w, members, lost, fail) {
				continue // the old records stay
			}
		}
		if all = append(all, w); len(w.fresh) > 0 {
			unsure = append(unsure, j)
		}
	}
	var now *sight
	if len(unsure) > 0 {
		now = g.look(unsure)
	}
	all = slices.DeleteFunc(all, func(w *rewriting) bool {
		late := len(w.fresh) > 0 && !now.stands(w.entry, w.mine)
		if late {
			for _, l := range w.fresh {
				g.eraseRaw(l, []byte(w.mine)) // others have settled it meanwhile
			}
			for _, c := range w.informed {
				g.eraseRaw(c.link, c.raw) // nobody else takes it away
			}
		}
		return late
	})
	g.vouchAll(all, fail)
	for _, w := range all {
		if w.stays && len(w.kept)+len(w.fresh) == 0 {
			continue // the old records stay
		}
		g.paid(w.entry)
		g.eraseOlder(w, lost, fail)
	}
	return failed
}

// vouchAll has the fresh records count. Where one does not, the older ones stay, too.
func (g *Group) vouchAll(all []*rewriting, fail func(*link, error)) {
	var raws []string
	var on [][]*link
	for _, w := range all {
		raws, on = append(raws, w.mine), append(on, w.fresh)
	}
	for i, counts := range g.vouch(raws, on, fail) {
		w := all[i]
		for _, l := range w.fresh {
			if !slices.Contains(counts, l) {
				w.unsure = append(w.unsure, l)
			}
		}
		w.fresh = counts
	}
}

// lost says whether nobody can tell any more who had a record of the event.
func (e *entry) lost() bool {
	return len(e.at) > 0 && !slices.ContainsFunc(e.at, func(c copyOf) bool { return c.link.conn.Err() == nil })
}

// put writes the present record of an event on the members that do not have it. It is
// false if none has it then.
func (g *Group) put(w *rewriting, members []*link, lost map[*link]bool, fail func(*link, error)) bool {
	w.stays, w.kept, w.mine = true, g.standing(w.entry, w.left), g.remainder(w.entry, w.left)
	written := 0
	for _, l := range members {
		if w.kept[l] != "" {
			written++
			continue
		}
		if lost[l] {
			continue
		}
		rv, err := g.writeRaw(l, []byte(w.mine))
		switch {
		case err != nil:
			fail(l, err)
		case rv != pkcs11.CKR_OK:
			g.untaken(l, w.entry, rv)
		default:
			written++
			w.fresh = append(w.fresh, l)
		}
	}
	return written > 0
}

// eraseOlder removes the records of an event that say what is over.
func (g *Group) eraseOlder(w *rewriting, lost map[*link]bool, fail func(*link, error)) {
	for _, c := range w.at {
		if string(c.raw) == w.kept[c.link] || lost[c.link] || w.stays && g.isFresh(c, w.left) || slices.Contains(w.unsure, c.link) {
			continue
		}
		if err := g.unrecord(c); err != nil {
			fail(c.link, err)
		}
	}
	for _, c := range w.hearsay {
		if !w.stays && !lost[c.link] {
			g.eraseRaw(c.link, c.raw)
		}
	}
}

// unrecord removes a record from a member, with what vouches for it.
func (g *Group) unrecord(c copyOf) error {
	for _, raw := range [][]byte{c.raw, c.voucher} {
		if raw == nil {
			continue
		}
		erase := wire.Unrecord{Record: raw}
		if err := c.link.spare(g.ctx, g.limits(nil), &erase); err != nil {
			return err
		}
		if erase.RV != pkcs11.CKR_OK {
			return errRefused(erase.Number(), erase.RV) // what stays would later undo what comes after it
		}
	}
	return nil
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
	if mine.needsVoucher() {
		mine = mine.unvouched()
	}
	return string(mine.encode())
}

// standing is the record of an event in its present state that each member has, if it
// has one that is firm. Of several it is the first in the order of their bytes, so that all
// who see them keep the same: the order in which members and records are read is not.
func (g *Group) standing(e *entry, left []string) map[*link]string {
	has := make(map[*link]string)
	for _, c := range e.at {
		if r, _ := decodeRecord(c.raw); !r.isPresent(left) || !g.isFirm(c, &r) {
			continue
		}
		if first := has[c.link]; first == "" || string(c.raw) < first {
			has[c.link] = string(c.raw)
		}
	}
	return has
}

// isPresent says whether a record is of the state in which those who are left have not
// confirmed.
func (r *record) isPresent(left []string) bool {
	return !r.Open && slices.Equal(r.Pending, left) && (len(left) > 0 || !r.Settled.IsZero())
}

// isFresh says whether a record is of that state, and not firm.
func (g *Group) isFresh(c copyOf, left []string) bool {
	r, _ := decodeRecord(c.raw)
	return r.isPresent(left) && !g.isFirm(c, &r)
}

// isFirm says whether a record stays until somebody has reason to remove it: it is this
// process's own, or stands for so long that its writer has looked whether he was in time.
func (g *Group) isFirm(c copyOf, r *record) bool {
	if r.By == "" || r.By == g.by || c.voucher != nil {
		return true
	}
	return g.stoodFor(c, claimPatience)
}

// stoodFor says whether this process has seen a record for so long.
func (g *Group) stoodFor(c copyOf, patience time.Duration) bool {
	where := c.link.seat.serialNow(g) + " " + string(c.raw)
	g.mu.Lock()
	defer g.mu.Unlock()
	since, known := g.fresh[where]
	switch {
	case known:
		return time.Since(since) >= patience
	case g.fresh == nil || len(g.fresh) >= mostTold:
		g.fresh = make(map[string]time.Time) // those in it have to stand as long once more
	}
	g.fresh[where] = time.Now()
	return false
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
