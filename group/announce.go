// SPDX-License-Identifier: Apache-2.0

package group

import (
	"errors"
	"slices"
	"time"

	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/wire"
)

// announce notes a creation in the primary's journal before it begins, where
// its end could come in the middle: with several objects, or with key material
// that an older record may be about. A token that takes no record (without a
// login, say) does without. The result is nil if nothing was noted.
func (g *Group) announce(p *Place, h *Hold, sprouts []*sprout) (*record, pkcs11.RV, error) {
	named := !slices.ContainsFunc(sprouts, func(s *sprout) bool { return len(s.identity.Fingerprint) == 0 })
	if !named || len(sprouts) == 1 && (h.fresh || g.alone()) {
		return nil, pkcs11.CKR_OK, nil
	}
	r := record{Op: opCreate, Time: after(h.since), Identity: sprouts[0].identity, With: identities(sprouts[1:])}.pending(g.all())
	r.Open = true
	for _, s := range sprouts {
		if s.twins != nil && len(sprouts) > 1 {
			r.Twins = &twins{}
		}
	}
	call := wire.Record{Record: r.encode()}
	if _, err := h.Do(&call); err != nil {
		return nil, 0, err
	}
	switch {
	case call.RV == pkcs11.CKR_OK:
		return &r, pkcs11.CKR_OK, nil
	case blame(call.RV, false) == device:
		return nil, call.RV, nil
	}
	return nil, pkcs11.CKR_OK, nil
}

// conclude ends a creation in the journal. Members that have missed it stand in a
// record if the same key was there before: an older destruction must not hit the new one
// when they return. The primary, if it was lost, learns that the creation is over.
func (g *Group) conclude(p *Place, h *Hold, intent *record, sprouts []*sprout) {
	if intent == nil {
		return
	}
	var on []*link
	for _, l := range g.readyBut(nil) {
		if slices.ContainsFunc(sprouts, func(s *sprout) bool {
			return !slices.ContainsFunc(s.at, func(at At) bool { return at.Seat == l.seat.index && at.Epoch == l.epoch })
		}) {
			continue
		}
		on = append(on, l)
	}
	missed := append(g.names(func(s *seat) bool {
		return !slices.ContainsFunc(on, func(l *link) bool { return l.seat == s })
	}), g.removed()...)
	if (len(missed) > 0 || h.unsettled) && len(sprouts) > 0 && (!h.fresh || !slices.Contains(on, p.link)) {
		over := intent.pending(missed)
		over.Open = false
		g.leaveRecord(on, over)
	}
	g.eraseRecord(p.link, *intent)
}

// coming says whether a member that has missed a creation is still to get a copy of what
// another one has: until then the creation waits for it, since an object that it has of
// the key by another name is no copy of the new one. Those that do not come are what
// cannot be copied, and what is called otherwise by now. Who has it and is not among the
// members cannot be asked.
func (g *Group) coming(e *entry, l *link, members []*link) (bool, error) {
	away := slices.ContainsFunc(g.names(func(s *seat) bool {
		return !slices.ContainsFunc(members, func(m *link) bool { return m.seat == s })
	}), func(name string) bool { return !slices.Contains(e.left, name) })
	for _, id := range append([]wire.Identity{e.Identity}, e.With...) {
		mine, err := g.isCalled(l, &id)
		if err != nil {
			return false, err
		}
		for _, other := range members {
			if other == l || mine != nil {
				continue
			}
			theirs, err := g.isCalled(other, &id)
			if err != nil || theirs != nil && theirs.Flags&wire.Copyable != 0 {
				return err == nil, err
			}
		}
		if mine == nil && away {
			return true, nil
		}
	}
	return false, nil
}

// isToGet says whether a member is still to get a copy of what it missed the creation of.
func (g *Group) isToGet(l *link) bool {
	_, records, err := g.readRecords(l)
	return err == nil && slices.ContainsFunc(records, func(r record) bool {
		return r.Op == opCreate && !r.Open && (&entry{left: r.Pending}).waits(g, l)
	})
}

// isCalled finds an object of an identity, label and ID on a member.
func (g *Group) isCalled(l *link, id *wire.Identity) (*wire.Identity, error) {
	find := wire.Resolve{Wanted: *id}
	if _, err := l.background(g.ctx, g.limits(nil), &find); err != nil || find.RV != pkcs11.CKR_OK {
		return nil, &errJournal{l, errors.Join(err, orNil(find.RV))}
	}
	if all := called(find.Found, id); len(all) > 0 {
		return all[0], nil
	}
	return nil, nil
}

// closeCreation decides on a creation whose process seems to be dead. What is
// whole goes on to the members that lack it; half of it is taken back. over is
// false while the process may yet go on.
func (g *Group) closeCreation(e *entry, members []*link) (over bool, err error) {
	there, all := 0, append([]wire.Identity{e.Identity}, e.With...)
	type place struct {
		link   *link
		object uint64
	}
	var places []place
	for i := range all {
		before := len(places)
		for _, l := range members {
			login := g.loginOf(l)
			find := wire.Resolve{Wanted: all[i]}
			if _, err := l.background(g.ctx, g.limits(nil), &find); err != nil || find.RV != pkcs11.CKR_OK {
				return false, &errJournal{l, errors.Join(err, orNil(find.RV))}
			}
			if target := choose(find.Found, &all[i]); target != nil {
				places = append(places, place{l, target.Object})
			} else if sees, err := g.sees(l, &all[i], login); err != nil || !sees {
				return false, err
			}
		}
		if len(places) > before {
			there++
		}
	}
	switch {
	case there == len(all):
		return true, nil // all was published; what follows is copying
	case e.age() < creationPatience:
		return false, nil
	case there == 0:
		return true, nil
	case e.Twins != nil:
		g.say(ChangeMissed, members[0].seat, nil, e.String()+": half of a creation stays: equal keys were there before, and nobody can tell which they are")
		return true, nil
	}
	// Who is not among the members may have got its half by copying.
	away := append(g.names(func(s *seat) bool {
		return !slices.ContainsFunc(members, func(l *link) bool { return l.seat == s })
	}), g.removed()...)
	if len(away) > 0 {
		for i := range all {
			g.leaveRecord(members, record{Op: opDestroy, Identity: all[i], Time: after(e.Time)}.pending(away))
		}
	}
	for _, at := range places {
		call := wire.DestroyObject{Object: at.object}
		if _, err := at.link.background(g.ctx, g.limits(nil), &call); err != nil || call.RV != pkcs11.CKR_OK {
			return false, &errJournal{at.link, errors.Join(err, orNil(call.RV))}
		}
		g.say(ObjectsDestroyed, at.link.seat, nil, e.String()+": half of a creation whose process died")
	}
	e.left = nil // nobody is to follow
	return true, nil
}

// age is how long ago something was recorded.
func (r *record) age() time.Duration { return time.Since(r.Time) }
