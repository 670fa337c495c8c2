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

const (
	// deleteBound is how many objects one sync destroys at most. More than
	// that is a fault somewhere, for an operator to look at (field-D4).
	deleteBound = 256

	// creationPatience is how old the record of an open creation is when its
	// process is taken for dead. Generating is over when the record is
	// written; what follows takes seconds.
	creationPatience = 5 * time.Minute
)

// errBound stops a sync that would destroy too much.
var errBound = &mismatch{fmt.Sprintf("its journal asks for more than %d deletions at once: look at it with `oneslot sync --dry-run`; each `oneslot group recover` carries out as many", deleteBound)}

// settleJournal carries out what the journals of a member that joins and of
// those that are ready say that one of them has missed, and takes whoever has
// confirmed off the records. It returns whether there was anything to do.
func (g *Group) settleJournal(joining *link) (did bool, err error) {
	return g.settleAmong(append(g.readyBut(joining.seat), joining), nil, joining)
}

// settleAmong settles those records that which names among members. Whoever
// fails is dropped, but for the one that is joining: its failure is returned.
func (g *Group) settleAmong(members []*link, which func(*entry) bool, joining *link) (did bool, err error) {
	entries, err := g.journal(members)
	if g.isFilled(joining, entries) {
		return false, errFilling // what he is copying there may be what is to be destroyed
	}
	dead := make(map[string]bool)
	if joining != nil {
		entries, dead, err = g.letFinish(entries, err, members)
	}
	if err = g.dropFailed(err, joining); err != nil {
		return false, err
	}
	budget := deleteBound
	for _, e := range entries {
		if e.Op == opFill || which != nil && !which(e) {
			continue
		}
		var done bool
		if joining != nil && e.Op != opCreate && g.underWay(e) && !dead[e.event()] {
			done, err = g.join(joining, e, members, &budget)
		} else {
			done, err = g.settle(e, members, &budget)
		}
		did = did || done
		if err = g.dropFailed(err, joining); err != nil {
			return did, err
		}
	}
	if budget < deleteBound && joining != nil {
		g.say(ObjectsDestroyed, joining.seat, nil, fmt.Sprintf("%d objects that were destroyed while a member was away", deleteBound-budget))
	}
	return did, nil
}

// dropFailed drops the members that an error of the journal is about. What is
// left of it is the joining member's, or that of one that is only short of
// sessions (H6): it stays, and the work is to be done again.
func (g *Group) dropFailed(err error, joining *link) (left error) {
	if err == nil {
		return nil
	}
	if many, ok := err.(interface{ Unwrap() []error }); ok {
		for _, one := range many.Unwrap() {
			if mine := g.dropFailed(one, joining); mine != nil {
				left = mine
			}
		}
		return left
	}
	var failure *errJournal
	switch {
	case !errors.As(err, &failure):
		return err
	case failure.link == joining:
		return failure.err
	case joining != nil && isShort(failure.err):
		return errShort(failure.link, failure.err)
	}
	g.drop(failure.link, failure.err)
	return nil
}

// join has a member that joins follow a change that is under way. The others are
// told by who is at it.
func (g *Group) join(joining *link, e *entry, members []*link, budget *int) (did bool, err error) {
	did, err = g.obey(joining, e, budget)
	if did && err == nil && e.Op == opChange && !g.waitsFor(joining, e) {
		err = g.undoLate(joining, e, members)
	}
	return did, err
}

// settle has those of the members that an event waits for follow it, and
// rewrites its records.
func (g *Group) settle(e *entry, members []*link, budget *int) (did bool, err error) {
	if slices.ContainsFunc(members, (*link).useOnly) {
		return g.heed(e, members, budget)
	}
	if e.Op == opCreate && e.Open {
		over, err := g.closeCreation(e, members)
		if !over || err != nil {
			return false, err
		}
	}
	left := e.left
	var failed error
	for _, l := range members {
		waiting := func(name string) bool { return g.called(l.seat, name) }
		pending := slices.ContainsFunc(left, waiting)
		if !pending && e.Op != opDestroy {
			continue // a destroyed object may have come back from who did not know; nothing else does
		}
		login := g.loginOf(l)
		if e.Op == opCreate {
			coming, err := g.coming(e, l, members)
			if err != nil {
				failed = errors.Join(failed, err)
			}
			if coming || err != nil {
				continue
			}
		}
		acted, err := g.obey(l, e, budget)
		if err == nil && !acted && pending && e.Op != opCreate {
			var lacks bool
			if lacks, err = g.lacks(l, e, login); err == nil && !lacks {
				continue // that it does not show the object says nothing
			}
		}
		did = did || acted || pending
		if err != nil {
			failed = errors.Join(failed, err) // the others follow all the same
			continue
		}
		if acted && e.Op == opChange && !g.waitsFor(l, e) {
			return did, errors.Join(failed, g.undoLate(l, e, members))
		}
		left = slices.DeleteFunc(slices.Clone(left), waiting)
	}
	return did, errors.Join(failed, g.rewrite(e, left, members))
}

// heed keeps what was destroyed from serving where this client may not rewrite the
// journal of some member, which answers its attempt with an error. The event is
// settled by whoever may manage keys on all of them.
func (g *Group) heed(e *entry, members []*link, budget *int) (did bool, failed error) {
	if e.Op != opDestroy {
		return false, nil
	}
	for _, l := range members {
		acted, err := g.obey(l, e, budget)
		did = did || acted && err == nil
		failed = errors.Join(failed, err)
	}
	return did, failed
}

// lacks says whether a member that does not show the object of an event has done with
// the event. It has not done with a change while the object may be on its way there as
// it was before: from who fills the member, or has just created it. What was destroyed
// they take back.
func (g *Group) lacks(l *link, e *entry, login uint64) (bool, error) {
	if sees, err := g.sees(l, &e.Identity, login); err != nil || !sees || e.Op != opChange {
		return sees, err
	}
	if n, err := g.count(l, &e.Identity); err != nil || n > 0 {
		return true, failureOf(l, err) // it is called otherwise by now, or a later change counts
	}
	if e.age() < fillPatience {
		return false, nil
	}
	filling, err := g.fillers(l)
	return len(filling) == 0, failureOf(l, err)
}

// sees says whether a member showed such an object while it had the login that it has
// now: without one private objects seem not to be there. One that does not show its
// roster either is blind, or was wiped: it says nothing until it has one (field-G8). A
// member that has lost its login without a word is in the error.
func (g *Group) sees(l *link, id *wire.Identity, login uint64) (bool, error) {
	switch {
	case login != g.loginOf(l):
		return false, nil
	case login == 0:
		return id.Flags&wire.Private == 0, nil
	}
	if _, _, err := g.readRecords(l); err != nil {
		return false, &errJournal{l, err}
	}
	return login == g.loginOf(l) && g.showsRoster(l), nil
}

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
	raw := g.remainder(e, left, members)
	var failed error
	if stays {
		written, fresh := 0, []*link(nil)
		for _, l := range members {
			if slices.ContainsFunc(e.at, func(c copyOf) bool { return c.link == l && string(c.raw) == raw }) {
				written++
				continue
			}
			rv, err := g.writeRaw(l, []byte(raw))
			switch {
			case err != nil:
				failed = errors.Join(failed, &errJournal{l, err})
			case rv != pkcs11.CKR_OK:
				g.say(ChangeMissed, l.seat, rv, "its journal does not take the record: "+e.String())
			default:
				written++
				fresh = append(fresh, l)
			}
		}
		if written == 0 {
			return failed // the old records stay
		}
		if len(fresh) > 0 && !g.stands(e, raw) {
			for _, l := range fresh {
				g.eraseRaw(l, []byte(raw)) // others have settled it meanwhile
			}
			return failed
		}
	}
	g.paid(e)
	for _, c := range e.at {
		if stays && string(c.raw) == raw {
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

// remainder is the record of an event that waits for those who are left. If all of
// the members have such a one it is that, whoever wrote it; else it is this
// group's own, so that one who finds that he wrote too late takes back his own
// record, and not the same of another process that is in time.
func (g *Group) remainder(e *entry, left []string, members []*link) string {
	count, first := make(map[string]int), ""
	for _, c := range e.at {
		r, _ := decodeRecord(c.raw)
		if raw := string(c.raw); !r.Open && slices.Equal(r.Pending, left) && slices.Contains(members, c.link) {
			if count[raw]++; count[raw] == len(members) && (first == "" || raw < first) {
				first = raw // of several everybody keeps the same one
			}
		}
	}
	if first != "" {
		return first
	}
	mine := e.pending(left)
	mine.Open, mine.By = false, g.by
	if len(left) == 0 {
		mine.Settled = e.settledAt()
	}
	return string(mine.encode())
}
