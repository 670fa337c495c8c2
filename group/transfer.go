// SPDX-License-Identifier: Apache-2.0

package group

import (
	"fmt"

	"oneslot.dev/oneslot/wire"
)

// transfer copies objects from one member to another and reports what was and
// what could not be copied. of is all that the first one holds, there what the second
// one does, and before the destructions that were over when they were listed. The error
// is that of the receiver.
func (g *Group) transfer(c *comparison, m *mark, from, to *link, objects, of, there []wire.Identity, before map[string]bool) error {
	wanted := make(map[identityKey]uint64)
	for i := range there {
		wanted[keyOf(&there[i])]++
	}
	for i := range objects {
		if objects[i].Flags&wire.Copyable != 0 {
			wanted[keyOf(&objects[i])]++
		}
	}
	if err := g.hides(to, objects, there, wanted); err != nil {
		return err
	}
	var list []*wire.Identity
	for i := range objects {
		if id := &objects[i]; id.Flags&wire.Copyable != 0 && !c.refused[refusal{to.seat, keyOf(id)}] {
			list = append(list, id)
		}
	}
	made, err := g.carry(c, m, from, to, list, wanted)
	if err != nil {
		return err
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
	if err := g.takeBack(c, to, made, before); err != nil {
		return err
	}
	return g.review(to, made, of)
}

// hides is an error if a member's search did not show what it holds of keys that are
// there several times: of these it would get one too many (field-G8). Of others an
// import finds what is there.
func (g *Group) hides(l *link, objects, shown []wire.Identity, wanted map[identityKey]uint64) error {
	of := func(list []wire.Identity, k identityKey) (n uint64) {
		for i := range list {
			if keyOf(&list[i]) == k {
				n++
			}
		}
		return n
	}
	for i := range objects {
		id, k := &objects[i], keyOf(&objects[i])
		if wanted[k] < 2 {
			continue
		}
		n, err := g.count(l, id)
		if err != nil {
			return err
		}
		if n <= of(shown, k) {
			continue
		}
		now, err := g.list(l)
		switch {
		case err != nil:
			return err
		case n > of(now, k):
			return fmt.Errorf("%w: %s", errContradict, describe(id))
		}
		return errRestless // it came a moment ago
	}
	return nil
}

// destructions are those that the journals of a member that joins and of those that are
// ready show.
func (g *Group) destructions(joining *link) (all []*entry) {
	entries, _ := g.journal(append(g.readyBut(joining.seat), joining)) // who cannot tell is asked again before it is ready
	for _, e := range entries {
		if e.Op == opDestroy {
			all = append(all, e)
		}
	}
	return all
}

// destroyed are the events of those destructions that are over: what they are about is
// not listed any more by who is still to follow them, once the journal was settled.
func (g *Group) destroyed(joining *link) map[string]bool {
	over := make(map[string]bool)
	for _, e := range g.destructions(joining) {
		if !g.underWay(e) {
			over[e.event()] = true
		}
	}
	return over
}

// takeBack removes those copies that were just made on a member whose original was
// destroyed meanwhile, by who did not see them (K5). One that was not meant is copied
// once more.
func (g *Group) takeBack(c *comparison, l *link, made map[uint64]*wire.Identity, before map[string]bool) error {
	for _, e := range g.destructions(c.link) {
		for object, id := range made {
			if before[e.event()] || nameOf(id) != nameOf(&e.Identity) || e.waits(g, l) && !g.underWay(e) {
				continue // who has not confirmed yet destroys one by the journal
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
