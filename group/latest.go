// SPDX-License-Identifier: Apache-2.0

package group

import (
	"slices"

	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/wire"
)

// A record says what a change was, and not whether that is still so: a process may have
// written down who is left (rewrite.go, change.go) after another one had settled the change
// and a later one was made, because it stalled, and have died before it could take that
// back. So a member that follows gets the values which those have by now that followed
// before: they are the record's, if it is not late. A claim before each record of who is
// left would not do: the record counts for everybody from the moment it is written.

// latest are the values for a member that follows a change: those of who has followed, where
// somebody there can tell, else those of the record.
func (b *batch) latest(g *Group, l *link, e *entry, changes pkcs11.Template) (pkcs11.Template, error) {
	if b.values[l] == nil {
		if err := b.readLatest(g, l); err != nil {
			return nil, err
		}
	}
	now := slices.Clone(changes)
	for i := range now {
		if value := b.values[l][e.event()].Find(now[i].Type); value != nil {
			now[i] = *value
		}
	}
	return now, nil
}

// readLatest reads those values for all changes of a batch that a member is to follow. It comes
// after the journals were read again, and a claim stands on the member by then: so a later
// change of the same object is among what they say, or waits.
func (b *batch) readLatest(g *Group, l *link) error {
	if b.values == nil {
		b.values = make(map[*link]map[string]pkcs11.Template)
	}
	b.values[l] = make(map[string]pkcs11.Template)
	by := make(map[*link][]*entry)
	for _, j := range b.jobs {
		now := b.now[j.event()]
		if j.Op != opChange || now == nil || !j.concernsOn(g, l) {
			continue
		}
		from, err := now.ahead(g, l)
		if err != nil {
			delete(b.values, l)
			return err
		}
		if from != nil {
			by[from] = append(by[from], now)
		}
	}
	for from, events := range by {
		if err := g.readValues(from, events, b.values[l]); err != nil {
			delete(b.values, l)
			if !isShort(err) {
				g.drop(from, err)
			}
			return errRestless
		}
	}
	return nil
}

// ahead is a member that holds the record of a change and has followed it, and waits for
// no other event of the object; nil if there is none. If those that there were have failed
// since, it is errRestless: that the change is not over, they alone could tell.
func (e *entry) ahead(g *Group, l *link) (*link, error) {
	var failed error
	for _, c := range e.at {
		switch {
		case c.link == l, e.waits(g, c.link), slices.ContainsFunc(slices.Concat(e.before, e.later), func(n *entry) bool {
			return n.concerns(&e.Identity) && n.waits(g, c.link)
		}):
		case c.link.conn.Err() != nil:
			failed = errRestless
		default:
			return c.link, nil
		}
	}
	return nil, failed
}

// readValues reads what the attributes of changes are by now on a member, where it has
// the objects and can tell which they are.
func (g *Group) readValues(from *link, events []*entry, values map[string]pkcs11.Template) error {
	for part := range slices.Chunk(events, batchCalls) {
		finds := make([]wire.Call, len(part))
		for i, e := range part {
			finds[i] = &wire.Resolve{Wanted: e.Identity}
		}
		if _, err := g.each(from, finds); err != nil {
			return err
		}
		var asked []*entry
		var asks []wire.Call
		for i, e := range part {
			find := finds[i].(*wire.Resolve)
			if find.RV != pkcs11.CKR_OK {
				return &errJournal{from, find.RV}
			}
			if target := e.shownAs(find.Found); target != nil {
				asked, asks = append(asked, e), append(asks, &wire.GetAttributeValue{Object: target.Object, Query: queryFor(e.Changes)})
			}
		}
		if _, err := g.each(from, asks); err != nil {
			return err
		}
		for i, e := range asked {
			values[e.event()] = valuesOf(asks[i].(*wire.GetAttributeValue).Values)
		}
	}
	return nil
}

// shownAs is the object of an event among those of a member that may have made later changes
// of it; nil if nobody can tell which it is.
func (e *entry) shownAs(found []wire.Identity) *wire.Identity {
	if e.Twins != nil && e.Twins.Others > 0 {
		return nil // what told it from the others has changed
	}
	target := choose(found, &e.Identity)
	if target == nil || e.Twins != nil && nameOf(target) != nameOf(&e.Identity) {
		return nil
	}
	return target
}
