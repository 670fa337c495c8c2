// SPDX-License-Identifier: Apache-2.0

package group

import (
	"fmt"

	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/wire"
)

// transfer copies objects from one member to another and reports what was and
// what could not be copied. of is all that the first one holds, there what the second
// one does. The error is that of the receiver.
func (g *Group) transfer(c *comparison, m *mark, from, to *link, objects, of, there []wire.Identity) error {
	wanted := make(map[identityKey]uint64)
	for i := range there {
		wanted[keyOf(&there[i])]++
	}
	for i := range objects {
		if objects[i].Flags&wire.Copyable != 0 {
			wanted[keyOf(&objects[i])]++
		}
	}
	before := g.destructions(to)
	made := make(map[uint64]*wire.Identity) // by the receiver's handle
	for i := range objects {
		id := &objects[i]
		if id.Flags&wire.Copyable == 0 || c.refused[refusal{to.seat, keyOf(id)}] {
			continue
		}
		g.refresh(m)
		object, err := g.copy(from, to, id, wanted[keyOf(id)])
		switch {
		case from.conn.Err() != nil:
			return nil // the rest is copied when both are back
		case to.conn.Err() != nil:
			return to.conn.Err()
		case err != nil:
			c.refused[refusal{to.seat, keyOf(id)}] = true
			g.say(ObjectNotCopied, to.seat, err, describe(id))
		default:
			made[object] = id
		}
	}
	if len(made) == 0 {
		return nil
	}
	g.mu.Lock()
	to.seat.objects += len(made)
	g.mu.Unlock()
	g.say(ObjectsCopied, to.seat, nil, fmt.Sprintf("%d objects from member %s", len(made), from.seat.member.Name()))
	if err := g.wait(to); err != nil {
		return err
	}
	if err := g.takeBack(to, made, before); err != nil {
		return err
	}
	return g.review(to, made, of)
}

// destructions are those that the journals show which a member and those that are ready
// have, by their events.
func (g *Group) destructions(l *link) map[string]*entry {
	entries, _ := g.journal(append(g.readyBut(l.seat), l)) // who cannot tell is asked again before l is ready
	all := make(map[string]*entry)
	for _, e := range entries {
		if e.Op == opDestroy {
			all[e.event()] = e
		}
	}
	return all
}

// takeBack removes those copies that were just made on a member whose original was
// destroyed meanwhile, by who did not see them (K5). One that was not meant is copied
// once more.
func (g *Group) takeBack(l *link, made map[uint64]*wire.Identity, before map[string]*entry) error {
	for event, e := range g.destructions(l) {
		for object, id := range made {
			if before[event] != nil || nameOf(id) != nameOf(&e.Identity) {
				continue
			}
			delete(made, object)
			call := wire.DestroyObject{Object: object}
			if _, err := l.background(g.ctx, g.limits(nil), &call); err != nil {
				return err
			}
			g.say(ObjectsDestroyed, l.seat, orNil(call.RV), describe(id)+": it was destroyed while it was copied")
		}
	}
	return nil
}

// review looks at what a member shows of the copies that were just made there:
// each must be found, and none more often than on the member that they are from.
func (g *Group) review(l *link, made map[uint64]*wire.Identity, of []wire.Identity) error {
	list, err := g.list(l)
	if err != nil {
		return err
	}
	count, named := make(map[identityKey]int), make(map[string]int)
	for i := range list {
		count[keyOf(&list[i])]++
		named[nameOf(&list[i])]++
	}
	for i := range of {
		named[nameOf(&of[i])]--
	}
	for object, id := range made {
		switch {
		case named[nameOf(id)] > 0:
			named[nameOf(id)]--
			twin := *id
			twin.Object = object
			if err := g.removeTwin(l, &twin); err != nil {
				return err
			}
		case count[keyOf(id)] == 0:
			if n, err := g.count(l, id); err != nil || n > 0 {
				return fmt.Errorf("%w: %s", errContradict, describe(id))
			}
		}
	}
	return nil
}

// count is how many token objects with this identity a member has.
func (g *Group) count(l *link, id *wire.Identity) (n uint64, err error) {
	call := wire.Resolve{Wanted: *id}
	if _, err := l.background(g.ctx, g.limits(nil), &call); err != nil {
		return 0, err
	}
	for i := range call.Found {
		if call.Found[i].Flags&wire.OnToken != 0 {
			n++
		}
	}
	return n, orNil(call.RV)
}

// copy copies one object, so that there are so many copies on the receiver. It
// returns the receiver's handle.
func (g *Group) copy(from, to *link, id *wire.Identity, copies uint64) (uint64, error) {
	export := wire.Export{Object: id.Object}
	if _, err := from.background(g.ctx, g.limits(nil), &export); err != nil {
		return 0, err
	}
	if export.RV != pkcs11.CKR_OK {
		return 0, fmt.Errorf("member %s does not export it: %w", from.seat.member.Name(), export.RV)
	}
	in := wire.Import{Blob: export.Blob, Token: true, Copies: copies}
	if _, err := to.background(g.ctx, g.limits(nil), &in); err != nil {
		return 0, err
	}
	if in.RV != pkcs11.CKR_OK {
		return 0, fmt.Errorf("member %s does not take it: %w", to.seat.member.Name(), importError(in.RV))
	}
	return in.Identity.Object, nil
}
