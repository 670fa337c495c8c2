// SPDX-License-Identifier: Apache-2.0

package group

import (
	"errors"
	"fmt"
	"slices"

	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/wire"
)

// Two processes may carry out one record at once. Whoever makes a later change
// first settles the older ones, so a record that still stands after it was
// carried out, or rewritten, had no successor before that. One that does not was
// settled by another process, and what came after may have been undone.

// stands says whether a record of the event still stands where it was read, in
// another state than mine. A member that cannot tell says nothing against it.
func (g *Group) stands(e *entry, mine []byte) bool {
	if len(e.at) == 0 {
		return true // it was never written
	}
	event := e.event()
	for _, c := range e.at {
		copies, records, err := g.readRecords(c.link)
		if err != nil {
			return true
		}
		for i, r := range records {
			if r.event() == event && (mine == nil || string(copies[i].raw) != string(mine)) {
				return true
			}
		}
	}
	return false
}

// lateTries is how often undoLate looks again for whether another change came in
// between.
const lateTries = 3

// undoLate gives a member the present values of attributes that were set there by
// a change which another process had settled already.
func (g *Group) undoLate(l *link, e *entry) error {
	i := slices.IndexFunc(e.at, func(c copyOf) bool { return c.link != l })
	if i < 0 {
		return &errJournal{l, fmt.Errorf("%v: it was settled by another process at the same time: it is compared anew", e)}
	}
	for range lateTries {
		// The late one first: what it has from a later change, the other has, too.
		object, has, err := g.holds(l, e)
		if err != nil {
			return err
		}
		_, wanted, err := g.holds(e.at[i].link, e)
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
	return nil
}

// holds reads the attributes that an event changes as a member has them now.
// The handle is 0 if it does not have the object,
// or nobody can tell which it is.
func (g *Group) holds(l *link, e *entry) (object uint64, now pkcs11.Template, err error) {
	if e.Twins != nil {
		return 0, nil, nil // what told it from the others has changed
	}
	find := wire.Resolve{Wanted: e.Identity}
	if _, err := l.background(g.ctx, g.limits(nil), &find); err != nil || find.RV != pkcs11.CKR_OK {
		return 0, nil, &errJournal{l, errors.Join(err, orNil(find.RV))}
	}
	target := choose(find.Found, &e.Identity)
	if target == nil {
		return 0, nil, nil
	}
	ask := wire.GetAttributeValue{Object: target.Object, Query: queryFor(e.Changes)}
	if _, err := l.background(g.ctx, g.limits(nil), &ask); err != nil {
		return 0, nil, &errJournal{l, err}
	}
	return target.Object, valuesOf(ask.Values), nil
}
