// SPDX-License-Identifier: Apache-2.0

package group

import (
	"errors"
	"time"

	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/wire"
)

// A Resolver turns a virtual object into a member's own handle.
type Resolver func(p *Place) (uint64, pkcs11.RV, error)

// Destroy destroys an object on every member. Members that are away are
// written into the journal of the others first, and follow before they serve
// again (K5).
func (g *Group) Destroy(id wire.Identity, resolve Resolver) pkcs11.RV {
	return g.everywhere(record{Op: opDestroy, Identity: id}, resolve, func(object uint64) wire.Call {
		return &wire.DestroyObject{Object: object}
	}, nil)
}

// SetAttributes changes attributes of an object on every member, or on none:
// when a member refuses, those before it get their old values back (field-C13).
func (g *Group) SetAttributes(id wire.Identity, changes pkcs11.Template, resolve Resolver) pkcs11.RV {
	return g.everywhere(record{Op: opChange, Identity: id, Changes: changes}, resolve, func(object uint64) wire.Call {
		return &wire.SetAttributeValue{Object: object, Template: changes}
	}, changes)
}

// everywhere makes a change on the primary, whose answer is the application's,
// then on the others. undo names the attributes to restore if one refuses.
//
// The record comes first, on the primary, with every member pending: wherever
// this process dies, the change is carried out by whoever syncs next.
func (g *Group) everywhere(r record, resolve Resolver, call func(uint64) wire.Call, undo pkcs11.Template) pkcs11.RV {
	r.Time = time.Now().UTC()
	intent := r.pending(g.all())
	var old pkcs11.Template
	var first *link
	var written bool
	// Done twice it is the same as once, so a lost answer is no reason to
	// stop: the member that lost it follows by the journal.
	rv, err := g.Do(wire.Use, Primary, func(p *Place) (pkcs11.RV, error) {
		object, rv, err := resolve(p)
		if err != nil || rv != pkcs11.CKR_OK {
			return rv, err
		}
		if undo != nil {
			if old, rv, err = p.values(object, undo); err != nil || rv != pkcs11.CKR_OK {
				return rv, err
			}
		}
		if written, rv, err = g.intend(p.link, intent); err != nil || rv != pkcs11.CKR_OK {
			return rv, err
		}
		c := call(object)
		if _, err := p.Do(c); err != nil {
			return 0, err
		}
		if first = p.link; c.Result() != pkcs11.CKR_OK && written {
			g.eraseRecord(p.link, intent)
		}
		return c.Result(), nil
	})
	switch {
	case errors.Is(err, ErrElsewhere):
		return pkcs11.CKR_OBJECT_HANDLE_INVALID
	case rv != pkcs11.CKR_OK:
		return rv
	}
	rv = g.follower(r, first, resolve, call, old)
	if written {
		g.eraseRecord(first, intent)
	}
	return rv
}

// intend writes the record of a change that is about to be made. Without a
// login, or on a token that keeps no records, the change is made without one as
// long as every member is there to follow (field-D1).
func (g *Group) intend(l *link, intent record) (written bool, rv pkcs11.RV, err error) {
	if len(g.seats) == 1 {
		return false, pkcs11.CKR_OK, nil
	}
	rv, err = g.writeRecord(l, intent)
	if err == nil && rv != pkcs11.CKR_OK && len(g.away()) == 0 {
		return false, pkcs11.CKR_OK, nil
	}
	return rv == pkcs11.CKR_OK, rv, err
}

// follower makes a change on the members after the primary, and leaves a record
// for those that cannot be told.
func (g *Group) follower(r record, first *link, resolve Resolver, call func(uint64) wire.Call, old pkcs11.Template) pkcs11.RV {
	changed := []*link{first}
	for _, l := range g.readyBut(first.seat) {
		rv, err := g.changeOn(l, resolve, call)
		switch {
		case errors.Is(err, ErrElsewhere):
		case err != nil:
			g.drop(l, err)
		case rv == pkcs11.CKR_OK:
			changed = append(changed, l)
		case old != nil:
			g.undo(changed, resolve, old)
			return rv
		default:
			g.say(ChangeMissed, l.seat, rv, r.String())
		}
	}
	away := g.away()
	if len(away) == 0 {
		return pkcs11.CKR_OK
	}
	for _, l := range changed {
		if rv, err := g.writeRecord(l, r.pending(away)); err != nil || rv != pkcs11.CKR_OK {
			g.say(ChangeMissed, l.seat, errors.Join(err, orNil(rv)), "its journal does not take the record: "+r.String())
		}
	}
	return pkcs11.CKR_OK
}

func (g *Group) changeOn(l *link, resolve Resolver, call func(uint64) wire.Call) (pkcs11.RV, error) {
	object, rv, err := resolve(&Place{g, l.seat, l})
	if err != nil || rv != pkcs11.CKR_OK {
		return rv, err
	}
	c := call(object)
	if _, err := l.do(g.ctx, g.limits(nil), c); err != nil {
		return 0, err
	}
	return c.Result(), nil
}

// undo gives members the old values of attributes.
func (g *Group) undo(links []*link, resolve Resolver, old pkcs11.Template) {
	for _, l := range links {
		object, rv, err := resolve(&Place{g, l.seat, l})
		if err == nil && rv == pkcs11.CKR_OK {
			call := wire.SetAttributeValue{Object: object, Template: old}
			_, err = l.do(g.ctx, g.limits(nil), &call)
			rv = call.RV
		}
		if err != nil || rv != pkcs11.CKR_OK {
			g.say(ChangeMissed, l.seat, errors.Join(err, orNil(rv)), "an attribute change that another member refused could not be taken back")
		}
	}
}

// values reads the present values of the attributes in changes.
func (p *Place) values(object uint64, changes pkcs11.Template) (pkcs11.Template, pkcs11.RV, error) {
	query := make(wire.Query, len(changes))
	for i := range changes {
		query[i] = wire.Question{Type: changes[i].Type, Form: wire.AskRoom, Capacity: wire.MaxFrame / wire.MaxAttributes}
	}
	call := wire.GetAttributeValue{Object: object, Query: query}
	if _, err := p.Do(&call); err != nil {
		return nil, 0, err
	}
	old := pkcs11.Template{}
	for _, v := range call.Values {
		if v.Form == wire.GotData {
			old = append(old, pkcs11.Bytes(v.Type, v.Data))
		}
	}
	return old, pkcs11.CKR_OK, nil
}

// all names every member for the journal.
func (g *Group) all() []string { return g.names(func(*seat) bool { return true }) }

// away names the members that cannot be told of a change now.
func (g *Group) away() []string { return g.names(func(s *seat) bool { return s.state != Ready }) }

// names names members for the journal: by their token's serial number, which
// hosts agree on, or before that was ever seen by their name.
func (g *Group) names(which func(*seat) bool) (names []string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, s := range g.seats {
		switch {
		case !which(s):
		case s.serial != "":
			names = append(names, s.serial)
		default:
			names = append(names, "@"+s.member.Name())
		}
	}
	return names
}
