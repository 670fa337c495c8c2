// SPDX-License-Identifier: Apache-2.0

package group

import (
	"errors"
	"fmt"
	"slices"
	"time"

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
	return g.settleEntries(entries, err, members, which, joining)
}

// settleEntries is settleAmong for what was just read of the journals.
func (g *Group) settleEntries(entries []*entry, err error, members []*link, which func(*entry) bool, joining *link) (did bool, _ error) {
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
		g.stale(e, members)
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
// the event. It has not while the object may be on its way there as it was before: from
// who fills the member, or has just created it.
func (g *Group) lacks(l *link, e *entry, login uint64) (bool, error) {
	sees, err := g.sees(l, &e.Identity, login)
	if err != nil || !sees {
		return false, err
	}
	if filled, err := g.isBeingFilled(l); err != nil || filled {
		return false, failureOf(l, err)
	}
	if e.Op != opChange || e.ended() {
		return true, nil // what comes under its name later is another object
	}
	if n, err := g.count(l, &e.Identity); err != nil || n > 0 {
		return true, failureOf(l, err) // it is called otherwise by now, or a later change counts
	}
	// It was destroyed since, or its creation is over.
	return !g.anyHas(e, l) || e.age() >= fillPatience, nil
}

// anyHas says whether a member beside l has the object of an event. One that cannot tell
// may have it.
func (g *Group) anyHas(e *entry, l *link) bool {
	return slices.ContainsFunc(e.among, func(m *link) bool {
		if m == l {
			return false
		}
		n, err := g.count(m, &e.Identity)
		return err != nil || n > 0
	})
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
