// SPDX-License-Identifier: Apache-2.0

package group

import (
	"errors"
	"slices"
	"time"

	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/wire"
)

// A change that is carried out too late is mended (late.go). Should the process die in
// between, no record would say that the member has an older value. So before it carries
// out changes on a member it leaves a claim there: a record of what it is about to do.
// Whoever finds one whose process has died mends what that did too late. Who is about to
// make a later change sees it, and waits: it comes before the journals are read once
// more, so either its process sees that the record is settled, or the other one the claim.

const (
	// claimPatience is the age at which the process of a claim is taken for dead. It has
	// a few calls to make, each of which ends with stuck_timeout.
	claimPatience = 5 * time.Minute

	// claimEvents is how many changes one claim names at most: tokens may bound the size
	// of an object.
	claimEvents = 8
)

// leaveClaims leaves claims for those changes of a batch that a member seems to have to follow.
// A token that takes no record goes without.
func (g *Group) leaveClaims(b *batch, l *link) error {
	if l.useOnly() {
		return nil
	}
	var todo []record
	for _, j := range b.jobs {
		if find := b.seen[at{l, j.entry}]; j.Op == opChange && find != nil && len(find.Found) > 0 {
			todo = append(todo, j.record.pending(nil))
		}
	}
	for part := range slices.Chunk(todo, claimEvents) {
		c := record{Op: opClaim, Time: after(time.Time{}), By: g.by, Doing: part}.pending([]string{})
		g.claims(c.event(), true)
		rv, err := g.writeRecord(l, c)
		if err != nil || rv == pkcs11.CKR_OK { // of a lost answer nobody knows
			b.claims = append(b.claims, copyOf{link: l, raw: c.encode()})
		} else {
			g.claims(c.event(), false)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// hasClaim says whether a claim about an event stands on a member.
func (b *batch) hasClaim(l *link, e *entry) bool {
	return slices.ContainsFunc(b.claims, func(c copyOf) bool {
		r, _ := decodeRecord(c.raw)
		return c.link == l && slices.ContainsFunc(r.Doing, func(r record) bool { return r.event() == e.event() })
	})
}

// takeClaims removes the claims of a batch from a member. What could not be mended is left to
// who finds them.
func (g *Group) takeClaims(b *batch, l *link, done bool) {
	for _, c := range b.claims {
		if c.link != l {
			continue
		}
		r, _ := decodeRecord(c.raw)
		g.claims(r.event(), false)
		if done && l.conn.Err() == nil {
			g.eraseRaw(l, c.raw)
		}
	}
}

// claims notes whether this process is at what a claim of its own says.
func (g *Group) claims(event string, is bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.claimed == nil {
		g.claimed = make(map[string]bool)
	}
	if g.claimed[event] = is; !is {
		delete(g.claimed, event)
	}
}

// isClaimed says whether a record is the claim of a process that is about to change one of
// the objects.
func (g *Group) isClaimed(e *entry, about ...wire.Identity) bool {
	return e.Op == opClaim && !g.isOver(e) && slices.ContainsFunc(e.Doing, func(r record) bool {
		return slices.ContainsFunc(about, func(id wire.Identity) bool { return r.concerns(&id) })
	})
}

// isOver says whether nobody is at what a claim says.
func (g *Group) isOver(e *entry) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return e.age() > claimPatience || e.By == g.by && !g.claimed[e.event()]
}

// mendClaims does away with the claims of processes that died. What one of them may have
// carried out too late is compared with those who are up to date.
func (g *Group) mendClaims(entries []*entry, members []*link) (did bool, failed error) {
	for _, e := range entries {
		if e.Op != opClaim || !g.isOver(e) {
			continue
		}
		for _, c := range e.at {
			if c.link.useOnly() {
				continue // it is for who may change it
			}
			mended, err := g.mend(e, c.link, entries, members)
			failed = errors.Join(failed, err)
			if mended {
				g.eraseRaw(c.link, c.raw)
				did = true
			}
		}
	}
	return did, failed
}

// mend compares what a claim says with those who are up to date. It is false if there is
// nobody to compare with.
func (g *Group) mend(e *entry, l *link, entries []*entry, members []*link) (bool, error) {
	for i := range e.Doing {
		r := entry{record: e.Doing[i], among: members}
		event := r.event()
		if slices.ContainsFunc(entries, func(n *entry) bool { return n.event() == event && n.waits(g, l) }) {
			continue // it is still to be carried out there
		}
		from := g.upToDate(l, &r, members)
		if len(from) == 0 {
			return false, nil
		}
		if err := g.undoLate(l, &r, from); err != nil {
			return false, err
		}
	}
	return true, nil
}
