// SPDX-License-Identifier: Apache-2.0

package group

import (
	"errors"
	"fmt"
	"time"

	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/wire"
)

// What an event of the journal says is done on one member here; settle.go decides on
// which, and who has confirmed.

// obey carries out an event on a member, unless a later one makes it pointless.
func (g *Group) obey(b *batch, l *link, e *entry, budget *int) (acted bool, err error) {
	if e.Op == opChange {
		left, winners := g.remaining(l, e)
		for _, n := range winners {
			g.say(ChangeConflict, l.seat, nil, fmt.Sprintf("%v: of two changes the one of %v counts, the one of %v does not",
				e, n.Time.Format(time.RFC3339Nano), e.Time.Format(time.RFC3339Nano)))
		}
		if len(left) == 0 {
			return false, nil
		}
	}
	rv, acted, err := g.carryOut(b, l, e, budget)
	if rv == pkcs11.CKR_OBJECT_HANDLE_INVALID && err == nil {
		// Another process has carried it out in between, or the token gives a
		// changed object another handle: it is looked for anew (field-B5).
		b = &batch{jobs: []*job{{entry: e, only: l}}}
		if err = b.look(g, l); err == nil {
			rv, acted, err = g.carryOut(b, l, e, budget)
		}
	}
	switch {
	case errors.Is(err, errBound), errors.Is(err, errRestless):
		return false, err
	case err != nil:
		return acted, &errJournal{l, err}
	case rv != pkcs11.CKR_OK && (e.Op == opDestroy || blame(rv, true) != request):
		// What it still has after a destruction must neither serve nor be copied
		// back (K5). Whoever may manage keys there carries it out.
		return true, &errJournal{l, fmt.Errorf("journal: %v: %w", e, rv)}
	case rv != pkcs11.CKR_OK:
		g.say(ChangeMissed, l.seat, rv, e.String())
	}
	return acted, nil
}

// carryOut does on a member what an event says, if it has the object: acted.
//
// The journals were read a while ago, and what the member shows may have been made by
// somebody who had carried it out before. His record was in a journal before the object
// could be seen: so they are read once more after that, and say whether it is meant.
func (g *Group) carryOut(b *batch, l *link, e *entry, budget *int) (rv pkcs11.RV, acted bool, err error) {
	find := b.seen[at{l, e}]
	if find.RV != pkcs11.CKR_OK {
		return 0, false, fmt.Errorf("journal: %v: %w", e, find.RV)
	}
	target, err := g.meant(l, e, find.Found)
	if err != nil {
		return 0, false, err
	}
	if target == nil {
		g.absent(l, e, find.Found)
		return pkcs11.CKR_OK, false, nil
	}
	now, err := b.reread(g, e)
	if err != nil || now == nil {
		return pkcs11.CKR_OK, false, err
	}
	if target, err = g.meant(l, now, find.Found); err != nil || target == nil {
		return pkcs11.CKR_OK, false, err
	}
	changes := e.Changes
	if e.Op == opChange {
		if changes, _ = g.remaining(l, now); len(changes) == 0 {
			return pkcs11.CKR_OK, false, nil
		}
		if changes, err = b.latest(g, l, now, changes); err != nil {
			return pkcs11.CKR_OK, false, err
		}
	}
	var call wire.Call = &wire.SetAttributeValue{Object: target.Object, Template: changes}
	if e.Op == opDestroy {
		if *budget <= 0 {
			return 0, false, errBound
		}
		call = &wire.DestroyObject{Object: target.Object}
	}
	_, err = l.background(g.ctx, g.limits(nil), call)
	if e.Op == opDestroy && err == nil && call.Result() == pkcs11.CKR_OK {
		*budget--
	}
	return call.Result(), true, err
}

// absent is what to make of a member that does not have the object of an event:
// it never had it, or has lost it already. Several that could be meant are
// nobody's guess.
func (g *Group) absent(l *link, e *entry, found []wire.Identity) {
	if len(found) > 1 && e.Twins == nil {
		g.say(ChangeMissed, l.seat, nil, fmt.Sprintf("%v: it has %d such objects with other labels or IDs", e, len(found)))
	}
}

// remaining is what of a change is not set again by a later one that the member has
// made already, a winner: of two writers that did not see each other the later one
// wins, on every member (field-C16).
func (g *Group) remaining(l *link, e *entry) (left pkcs11.Template, winners []*entry) {
	left = e.Changes
	for _, n := range e.later {
		if n.Op != opChange || n.waits(g, l) || !e.contends(&n.record) {
			continue
		}
		kept := pkcs11.Template{}
		for i := range left {
			if n.Changes.Find(left[i].Type) == nil {
				kept = append(kept, left[i])
			}
		}
		if len(kept) < len(left) {
			winners = append(winners, n)
		}
		left = kept
	}
	return left, winners
}

// choose picks among objects of one identity the one with the label and ID
// that are wanted, or the only one there is.
func choose(found []wire.Identity, wanted *wire.Identity) *wire.Identity {
	var token []*wire.Identity
	for i := range found {
		if !found[i].Same(wanted) || found[i].Flags&wire.OnToken == 0 {
			continue
		}
		if string(found[i].Label) == string(wanted.Label) && string(found[i].ID) == string(wanted.ID) {
			return &found[i]
		}
		token = append(token, &found[i])
	}
	if len(token) == 1 {
		return token[0]
	}
	return nil
}
