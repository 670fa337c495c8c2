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

// A Resolver turns a virtual object into a member's own handle. stale is one of
// which the member has said that it is invalid, 0 at first: that is no proof that
// the object is gone (field-B5), some tokens give a changed object another one. Only
// who knows its twins can tell whether what is there now is the object.
type Resolver func(p *Place, stale uint64) (uint64, pkcs11.RV, error)

// Destroy destroys an object on every member. Members that are away are
// written into the journal of the others first, and follow before they serve
// again (K5).
func (g *Group) Destroy(id wire.Identity, resolve Resolver) pkcs11.RV {
	if !g.enter() {
		return pkcs11.CKR_DEVICE_ERROR
	}
	defer g.exit()
	return g.destroy(id, turnPatience, resolve)
}

func (g *Group) destroy(id wire.Identity, patience time.Duration, resolve Resolver) pkcs11.RV {
	return g.inItsTurn(patience, change{record: record{Op: opDestroy, Identity: id}, resolve: resolve, call: func(object uint64) wire.Call {
		return &wire.DestroyObject{Object: object}
	}})
}

// SetAttributes changes attributes of an object on every member, or on none:
// when a member refuses, those before it get their old values back (field-C13).
func (g *Group) SetAttributes(id wire.Identity, changes pkcs11.Template, resolve Resolver) pkcs11.RV {
	if !g.enter() {
		return pkcs11.CKR_DEVICE_ERROR
	}
	defer g.exit()
	return g.inItsTurn(turnPatience, change{record: record{Op: opChange, Identity: id, Changes: changes}, resolve: resolve, call: func(object uint64) wire.Call {
		return &wire.SetAttributeValue{Object: object, Template: changes}
	}, undo: changes})
}

// inItsTurn makes a change when no other one of the object is under way (turn.go).
func (g *Group) inItsTurn(patience time.Duration, todo change) pkcs11.RV {
	todo.until, todo.login = time.Now().Add(patience), g.generation()
	for {
		c := todo
		rv := g.change(&c)
		switch {
		case c.again:
			todo.held = c.held
		case todo.sent && todo.record.Op == opDestroy && rv == pkcs11.CKR_OBJECT_HANDLE_INVALID && todo.login == g.generation():
			return pkcs11.CKR_OK // by whoever read a record of this one, or by the rival
		default:
			return rv
		}
		if todo.sent = true; todo.settled {
			g.pauseForRival()
		}
		todo.settled = true
	}
}

// change makes a change on the primary, whose answer is the application's,
// then on the others.
//
// The record comes first, on the primary, with every member pending: wherever
// this process dies, the change is carried out by whoever syncs next. It comes before
// the journals are read, too, and is taken back if they say something of the object:
// mostly they do not, and need not be read twice.
func (g *Group) change(c *change) pkcs11.RV {
	var last time.Time
	if c.settled {
		last, _ = g.settleFor(c.until, c.record.Identity)
	}
	c.record.Time = after(last)
	c.intent, c.told = c.record.pending(g.all()), make(map[*seat]bool)
	before := c.sent
	// Done twice it is the same as once, so a lost answer is no reason to
	// stop: the member that lost it follows by the journal.
	rv, err := g.do(&run{changing: true}, wire.Use, Primary, func(p *Place) (pkcs11.RV, error) { return g.begin(c, p) })
	switch {
	case errors.Is(err, ErrElsewhere) && c.sent && !before && c.record.Op == opDestroy:
		// Those who were asked first may have it by now.
		c.again = true
		return rv
	case errors.Is(err, ErrElsewhere) && c.login != g.generation():
		return pkcs11.CKR_DEVICE_ERROR // nobody shows it without a login
	case errors.Is(err, ErrElsewhere) && c.sent && c.record.Op == opDestroy:
		// A lost attempt was carried out, there or by whoever read its record.
		if away := append(g.away(), g.removed()...); len(away) > 0 {
			g.leaveRecord(g.readyBut(nil), c.record.pending(away))
		}
		return pkcs11.CKR_OK
	case errors.Is(err, ErrElsewhere) && len(g.away()) > 0:
		return pkcs11.CKR_DEVICE_ERROR // who is away may have it (field-G8)
	case errors.Is(err, ErrElsewhere):
		return pkcs11.CKR_OBJECT_HANDLE_INVALID
	case rv != pkcs11.CKR_OK, c.over:
		return rv
	}
	rv = g.follower(c)
	if c.written {
		g.eraseRecord(c.changed[0], c.intent)
	}
	return rv
}

// after is the time of what happens after something else, whatever the clocks
// of the hosts say.
func after(last time.Time) time.Time {
	now := time.Now().UTC()
	if !now.After(last) {
		return last.Add(1)
	}
	return now
}

// A change is one on its way to every member.
type change struct {
	record  record
	intent  record // as it stands on the primary until all is done
	resolve Resolver
	call    func(uint64) wire.Call
	undo    pkcs11.Template // what to restore if a member refuses; nil: nothing
	old     pkcs11.Template // its values before
	until   time.Time       // when others are no longer waited for
	again   bool            // it is to be made again, since there was another one
	written bool            // the intent is
	stood   time.Time       // when it last stood for certain,
	on      *link           // there
	held    bool            // the process was held up before that, once
	over    bool            // others have taken this process for dead, and carried it out
	sent    bool            // its record was, and may be carried out by anybody
	known   bool            // whether the object has twins
	settled bool            // what the journals said of the object is carried out
	login   uint64          // of the group when it began
	changed []*link
	told    map[*seat]bool
	behind  []*seat // who is to follow by the journal in any case
}

// begin makes the change on the primary.
func (g *Group) begin(c *change, p *Place) (pkcs11.RV, error) {
	return g.onObject(p.link, c.resolve, func(object uint64) (rv pkcs11.RV, err error) {
		var before []wire.Call
		begin := time.Now()
		ask := wire.GetAttributeValue{Object: object, Query: queryFor(c.undo)}
		if c.undo != nil {
			before = append(before, &ask)
		}
		if rv, err = g.distinguish(c, p, object, before...); err != nil || rv != pkcs11.CKR_OK {
			return rv, err
		}
		if c.undo != nil {
			c.old = valuesOf(ask.Values)
		}
		if c.over = g.overtaken(c); c.over {
			return pkcs11.CKR_OK, nil
		}
		if c.written, rv, err = g.intend(p.link, c.intent); err != nil || rv != pkcs11.CKR_OK {
			c.sent = c.sent || err != nil
			return rv, err
		}
		if c.written {
			c.sent, c.stood, c.on = true, time.Now(), p.link
		}
		if c.again = g.wasHeld(c, begin) || g.mustWait(c); c.over {
			return pkcs11.CKR_OK, nil
		}
		if c.again {
			if c.written {
				g.eraseRecord(p.link, c.intent)
			}
			return pkcs11.CKR_OPERATION_ACTIVE, nil
		}
		call := c.call(object)
		if _, err := p.Do(call); err != nil {
			c.sent = true
			return 0, err
		}
		if call.Result() != pkcs11.CKR_OK {
			if c.written {
				g.eraseRecord(p.link, c.intent)
			}
			return call.Result(), nil
		}
		c.changed, c.told[p.seat] = []*link{p.link}, !slices.Contains(c.behind, p.seat)
		return pkcs11.CKR_OK, nil
	})
}

// onObject runs something with a member's handle of an object, and with another one
// if that is invalid and another is found.
func (g *Group) onObject(l *link, resolve Resolver, run func(object uint64) (pkcs11.RV, error)) (pkcs11.RV, error) {
	object, rv, err := resolve(&Place{g, l.seat, l}, 0)
	if err != nil || rv != pkcs11.CKR_OK {
		return rv, err
	}
	invalid, err := run(object)
	if err != nil || invalid != pkcs11.CKR_OBJECT_HANDLE_INVALID {
		return invalid, err
	}
	other, rv, err := resolve(&Place{g, l.seat, l}, object)
	switch {
	case err != nil || rv != pkcs11.CKR_OK:
		return rv, err
	case other == object:
		return invalid, nil
	}
	return run(other)
}

// intend writes the record of a change that is about to be made. Without a
// login, or on a token that keeps no records, the change is made without one as
// long as every member is there to follow (field-D1).
func (g *Group) intend(l *link, intent record) (written bool, rv pkcs11.RV, err error) {
	if g.alone() {
		return false, pkcs11.CKR_OK, nil
	}
	rv, err = g.writeRecord(l, intent)
	if err == nil && rv != pkcs11.CKR_OK && len(g.away()) == 0 {
		return false, pkcs11.CKR_OK, nil
	}
	return rv == pkcs11.CKR_OK, rv, err
}

// follower makes a change on the members after the primary, and leaves a record
// for those that cannot be told. No member becomes ready meanwhile (quiet.go).
func (g *Group) follower(c *change) pkcs11.RV {
	for _, l := range g.readyBut(c.changed[0].seat) {
		if g.overtaken(c) {
			return pkcs11.CKR_OK
		}
		rv, err := g.onObject(l, g.onFollower(c), func(object uint64) (pkcs11.RV, error) {
			call := c.call(object)
			if _, err := l.do(g.ctx, g.limits(nil), call); err != nil {
				return 0, err
			}
			return call.Result(), nil
		})
		switch {
		case errors.Is(err, ErrElsewhere) && len(c.record.Identity.Fingerprint) == 0:
			c.told[l.seat] = true // it is nobody's copy, and no record could tell which it was
		case errors.Is(err, ErrElsewhere):
			// Another process may just be copying it there, as it was before.
		case err != nil:
			g.drop(l, err)
		case rv == pkcs11.CKR_OK:
			c.changed, c.told[l.seat] = append(c.changed, l), !slices.Contains(c.behind, l.seat)
		case c.record.Op == opDestroy, blame(rv, g.someoneLoggedIn()) != request:
			g.drop(l, fmt.Errorf("%v: the token answered %w", c.record, rv)) // it follows by the journal
		case c.old != nil:
			g.undo(c)
			return rv
		default:
			c.told[l.seat] = true
			g.say(ChangeMissed, l.seat, rv, c.record.String())
		}
	}
	away := append(g.names(func(s *seat) bool { return !c.told[s] }), g.removed()...)
	if len(away) > 0 {
		// Whoever has confirmed holds the record, so that one who has not
		// meets it with whichever of them it meets first.
		rest := c.record.pending(away)
		if c.written && rest.needsVoucher() {
			g.leaveVouched(c, rest)
			return pkcs11.CKR_OK
		}
		g.leaveRecord(g.readyBut(nil), rest)
		c.written = c.written && string(rest.encode()) != string(c.intent.encode()) // it is the same one
	}
	return pkcs11.CKR_OK
}

// leaveRecord writes a record for members that are away on those that are not.
// If none of those takes it, this process remembers it until one does.
func (g *Group) leaveRecord(on []*link, r record) {
	if len(g.writeOn(on, r)) == 0 {
		g.owe(r)
	}
}

// writeOn writes a record on members. It returns those that took it.
func (g *Group) writeOn(on []*link, r record) (taken []*link) {
	for _, l := range on {
		rv, err := g.writeRecord(l, r)
		if err != nil || rv != pkcs11.CKR_OK {
			g.say(ChangeMissed, l.seat, errors.Join(err, orNil(rv)), "its journal does not take the record: "+r.String())
			continue
		}
		taken = append(taken, l)
	}
	return taken
}

// owe has this process remember a record until some member takes it.
func (g *Group) owe(r record) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.owed = append(g.owed, r)
}

// undo gives members the old values of attributes. Those that cannot be given
// them now follow by a record, which is later than the change.
func (g *Group) undo(c *change) {
	back := c.record
	back.Changes, back.Time = c.old, after(c.record.Time)
	if back.Twins != nil && renames(c.record.Changes) {
		now := renamed(back.Identity, c.record.Changes)
		back.As = &now
	}
	var done []*link
	for _, l := range c.changed {
		rv, err := g.onObject(l, c.resolve, func(object uint64) (pkcs11.RV, error) {
			call := wire.SetAttributeValue{Object: object, Template: c.old}
			_, err := l.do(g.ctx, g.limits(nil), &call)
			return call.RV, err
		})
		if err == nil && rv == pkcs11.CKR_OK {
			done = append(done, l)
			continue
		}
		g.drop(l, errors.Join(err, orNil(rv)))
		g.say(ChangeMissed, l.seat, errors.Join(err, orNil(rv)), "an attribute change that another member refused is taken back when it returns")
	}
	if len(done) < len(c.changed) {
		g.leaveRecord(g.readyBut(nil), back.pending(append(g.names(func(s *seat) bool {
			return !slices.ContainsFunc(done, func(l *link) bool { return l.seat == s })
		}), g.removed()...)))
	}
}

// queryFor asks for the present values of attributes.
func queryFor(changes pkcs11.Template) wire.Query {
	query := make(wire.Query, len(changes))
	for i := range changes {
		query[i] = wire.Question{Type: changes[i].Type, Form: wire.AskRoom, Capacity: wire.MaxFrame / wire.MaxAttributes}
	}
	return query
}

// valuesOf is what could be read.
func valuesOf(values wire.Values) pkcs11.Template {
	t := pkcs11.Template{}
	for _, v := range values {
		if v.Form == wire.GotData {
			t = append(t, pkcs11.Bytes(v.Type, v.Data))
		}
	}
	return t
}

// all names every member for the journal.
func (g *Group) all() []string {
	return append(g.names(func(*seat) bool { return true }), g.removed()...)
}

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
