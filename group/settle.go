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
	entries, idle, err := g.journals(members)
	if err == nil {
		g.sweep(idle, members, which)
	}
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
	for _, b := range batches(entries, which) {
		var done bool
		done, err = g.settleBatch(b, members, joining, dead, &budget)
		did = did || done
		if err = g.dropFailed(err, joining); err != nil {
			return did, err
		}
	}
	if which == nil {
		mended, err := g.mendClaims(entries, members)
		did = did || mended
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

// lacking are those events that a member has done with, of whose objects it showed none
// that was meant. It has not while the object may be on its way there as it was before:
// from who fills the member, or has just created it.
func (g *Group) lacking(l *link, jobs []*job, login uint64) (done []*job, err error) {
	if login != g.loginOf(l) {
		return nil, nil
	}
	if filled, err := g.isBeingFilled(l); err != nil || filled {
		return nil, failureOf(l, err)
	}
	for _, j := range jobs {
		if j.Op == opChange && !j.ended() { // else what comes under its name later is another object
			n, err := g.count(l, &j.Identity)
			if err != nil {
				return done, failureOf(l, err)
			}
			// Some of it may be there by another name, or a later change counts; or
			// it was destroyed since, or its creation is over.
			if n == 0 && g.anyHas(j.entry, l) {
				if j.age() < fillPatience {
					continue
				}
				still, err := g.lacksInformed(l, j)
				if err != nil {
					return done, failureOf(l, err)
				}
				if !still {
					continue
				}
			}
		}
		if g.shows(l, &j.Identity, login) {
			done = append(done, j)
		}
	}
	return done, nil
}

// lacksInformed says whether a member lacks the object of a change also when it holds the
// record: who fills it from one that has not followed either, and knows nothing of the
// change, hears of it from now on. Who began before is seen.
func (g *Group) lacksInformed(l *link, j *job) (bool, error) {
	if !slices.ContainsFunc(j.at, func(c copyOf) bool { return c.link == l }) {
		mine := g.remainder(j.entry, j.entry.left)
		rv, err := g.writeRaw(l, []byte(mine))
		if err != nil {
			return false, err
		}
		if rv == pkcs11.CKR_OK && !g.look([]*job{j}).stands(j.entry, mine) {
			g.eraseRaw(l, []byte(mine)) // others have settled it meanwhile
			return false, nil
		}
		if rv == pkcs11.CKR_OK {
			copied := copyOf{link: l, raw: []byte(mine)}
			j.at, j.informed = append(j.at, copied), append(j.informed, copied)
		}
	}
	if filled, err := g.isBeingFilled(l); err != nil || filled {
		return false, err
	}
	n, err := g.count(l, &j.Identity)
	return n == 0, err
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
// now. A member that has lost its login without a word is in the error.
func (g *Group) sees(l *link, id *wire.Identity, login uint64) (bool, error) {
	if login != 0 && login == g.loginOf(l) {
		if _, _, err := g.readRecords(l); err != nil {
			return false, &errJournal{l, err}
		}
	}
	return g.shows(l, id, login), nil
}

// shows is sees after the journal was read: without a login private objects seem not to
// be there. A member that does not show its roster either is blind, or was wiped: it says
// nothing until it has one (field-G8).
func (g *Group) shows(l *link, id *wire.Identity, login uint64) bool {
	switch {
	case login != g.loginOf(l):
		return false
	case login == 0:
		return id.Flags&wire.Private == 0
	}
	return g.showsRoster(l)
}
