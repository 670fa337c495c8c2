// SPDX-License-Identifier: Apache-2.0

package group

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"

	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/wire"
)

// Traits is what tells an object of a member from others of its identity, label
// and ID: a hash of its attributes as they are shown, the same on every member (H5).
func (p *Place) Traits(id *wire.Identity) (string, error) {
	return traitsOf(id, func(call wire.Call) error {
		_, err := p.Do(call)
		return err
	})
}

// traitsOn are the traits of an object on a member, read behind the scenes.
func (g *Group) traitsOn(l *link, id *wire.Identity) (string, error) {
	return traitsOf(id, func(call wire.Call) error {
		_, err := l.background(g.ctx, g.limits(nil), call)
		return err
	})
}

func traitsOf(id *wire.Identity, do func(wire.Call) error) (string, error) {
	values, err := readTraits(id.Object, traits(id.Class), do)
	return fmt.Sprintf("%x", sha256.Sum256([]byte(strings.Join(values, "\n")))), err
}

// twins are the objects of one identity besides the one that a record is about,
// when it was written. An event is carried out on members that have done so already,
// or never had the object, and must not go on to the twins there.
type twins struct {
	All    int    `json:"all"`              // how many there are, whatever they are called
	Others int    `json:"others"`           // how many of them have its label and ID, too
	Alike  int    `json:"alike,omitempty"`  // those among them that have the same traits
	Traits string `json:"traits,omitempty"` // of the object, before the event; empty: not known
}

// distinguish notes in the record of a change what tells the object from its twins.
// What else is to be asked goes with the first question.
func (g *Group) distinguish(c *change, p *Place, object uint64, more ...wire.Call) (pkcs11.RV, error) {
	if c.known || g.alone() || len(c.record.Identity.Fingerprint) == 0 {
		if len(more) == 0 {
			return pkcs11.CKR_OK, nil
		}
		_, err := p.Do(more...)
		return pkcs11.CKR_OK, err
	}
	found, mine, rv, err := p.equals(c.record.Identity, object, more...)
	if err != nil || rv != pkcs11.CKR_OK {
		return rv, err
	}
	if mine == nil { // another process has destroyed it, and the handle may be another object's by now
		return pkcs11.CKR_OBJECT_HANDLE_INVALID, nil
	}
	c.known = true
	if len(found) == 1 {
		return pkcs11.CKR_OK, nil // whatever it is called elsewhere, it is this one
	}
	all := called(found, mine)
	t := &twins{All: len(found) - 1, Others: len(all) - 1}
	alike := make(map[string]int)
	for _, id := range all {
		traits, err := p.Traits(id)
		if err != nil {
			return 0, err
		}
		if alike[traits]++; id == mine {
			t.Traits = traits
		}
	}
	t.Alike = alike[t.Traits] - 1
	for _, r := range []*record{&c.record, &c.intent} {
		r.Twins, r.Identity = t, keep(*mine) // another process may have renamed it
	}
	return pkcs11.CKR_OK, nil
}

// equals finds the token objects of an identity on a member, whatever their label
// and ID, and among them the one with a handle.
func (p *Place) equals(id wire.Identity, object uint64, more ...wire.Call) (found []wire.Identity, mine *wire.Identity, rv pkcs11.RV, err error) {
	id.Label, id.ID = nil, nil // those who hear of a change must know of twins by other names, too
	find := wire.Resolve{Wanted: id}
	if _, err := p.Do(append([]wire.Call{&find}, more...)...); err != nil || find.RV != pkcs11.CKR_OK {
		return nil, nil, find.RV, err
	}
	for i := range find.Found {
		if f := &find.Found[i]; f.Flags&wire.OnToken != 0 {
			found = append(found, *f)
		}
	}
	for i := range found {
		if found[i].Object == object {
			mine = &found[i]
		}
	}
	return found, mine, pkcs11.CKR_OK, nil
}

// called are the token objects of an identity that have its label and ID.
func called(found []wire.Identity, id *wire.Identity) (all []*wire.Identity) {
	for i := range found {
		f := &found[i]
		if f.Same(id) && f.Flags&wire.OnToken != 0 && string(f.Label) == string(id.Label) && string(f.ID) == string(id.ID) {
			all = append(all, f)
		}
	}
	return all
}

// meant picks the object that an event is about among those that a member has; nil if
// it has done with it already, or nobody can tell.
func (g *Group) meant(l *link, e *entry, found []wire.Identity) (*wire.Identity, error) {
	there := 0
	for i := range found {
		if found[i].Same(&e.Identity) && found[i].Flags&wire.OnToken != 0 {
			there++
		}
	}
	if e.waits(g, l) {
		found = e.kin(g, l, found)
		// It may have a new one of the key already, from who did not know of the event.
		if made := e.made(func(n *entry) bool { return n.Time.After(e.Time) && !n.waits(g, l) }); made > 0 && there <= made+e.others() {
			return nil, nil
		}
		return g.pick(l, e.present(g, l), found)
	}
	// It has confirmed the destruction. The object is back only if it has more of the
	// key than it should: others may have come to look like it since.
	if e.Identity.Flags&wire.Private == 0 || there <= e.made(func(*entry) bool { return true })+e.others() {
		return nil, nil // without a login there may be new ones that no record tells of
	}
	if e.Twins == nil {
		if all := called(found, &e.Identity); len(all) > 0 {
			return all[0], nil
		}
		return nil, nil
	}
	return g.pick(l, &e.record, found)
}

// others is how many objects of its identity there were besides that of an event.
func (e *entry) others() int {
	if e.Twins == nil {
		return 0
	}
	return e.Twins.All
}

// made is how many objects of an event's identity creations made that the journal
// still has, those of them that which names.
func (e *entry) made(which func(*entry) bool) (n int) {
	for _, other := range slices.Concat(e.before, e.later) {
		if other.Op != opCreate || !which(other) {
			continue
		}
		for _, id := range append(other.With[:len(other.With):len(other.With)], other.Identity) {
			if id.Same(&e.Identity) {
				n++
			}
		}
	}
	return n
}

// contends says whether another record is about the same object as it was before both:
// whoever wrote it did not know of this one.
func (r *record) contends(other *record) bool {
	switch {
	case !r.Identity.Same(&other.Identity):
		return false
	case r.Twins == nil && other.Twins == nil:
		return true
	case nameOf(&r.Identity) != nameOf(&other.Identity):
		return false
	}
	return r.Twins == nil || other.Twins == nil || r.Twins.Traits == other.Twins.Traits
}

// present is the record of an event with its object as a member has it, that made
// later changes of somebody who did not know of the event.
func (e *entry) present(g *Group, l *link) *record {
	r := e.record
	for _, n := range e.later {
		if n.Op != opChange || n.waits(g, l) || !e.contends(&n.record) || r.Twins == nil {
			continue
		}
		now := *r.Twins
		now.Traits, r.Twins = "", &now
		if renames(n.Changes) {
			r.Identity, now.Others = renamed(r.Identity, n.Changes), unknown
		}
	}
	return &r
}

// unknown is how many objects have a name that was not looked for.
const unknown = -1

// pick picks the object that a record is about, as it was before the event.
func (g *Group) pick(l *link, r *record, found []wire.Identity) (*wire.Identity, error) {
	if r.Twins == nil {
		return choose(found, &r.Identity), nil
	}
	if r.As != nil {
		before := *r
		before.As = nil
		mine, err := g.pick(l, &before, found)
		if named := called(found, r.As); mine == nil && err == nil && len(named) == 1 {
			return named[0], nil
		}
		return nil, err // it is as it was
	}
	all := called(found, &r.Identity)
	if r.Twins.Others == unknown {
		if len(all) == 1 {
			return all[0], nil
		}
		return nil, nil
	}
	var alike []*wire.Identity
	for _, id := range all {
		if r.Twins.Traits == "" {
			break
		}
		traits, err := g.traitsOn(l, id)
		if err != nil {
			return nil, err
		}
		if traits == r.Twins.Traits {
			alike = append(alike, id)
		}
	}
	switch {
	case len(alike) > r.Twins.Alike:
		return alike[0], nil
	case (r.Op == opDestroy || r.Twins.Others == 0) && len(all) > r.Twins.Others:
		return all[0], nil
	}
	return nil, nil
}

// onFollower is the resolver of a change for the members after the primary. Who does
// not know that another process has renamed the object finds nothing by the name from
// before, or a twin that has it. Then the record says which one is meant, as it does to
// those that read it.
func (g *Group) onFollower(c *change) Resolver {
	return func(p *Place, stale uint64) (uint64, pkcs11.RV, error) {
		object, rv, err := c.resolve(p, stale)
		nowhere := errors.Is(err, ErrElsewhere)
		if !nowhere && (err != nil || rv != pkcs11.CKR_OK || c.record.Twins == nil) || len(c.record.Identity.Fingerprint) == 0 {
			return object, rv, err
		}
		found, mine, rv, err := p.equals(c.record.Identity, object)
		switch {
		case err != nil || rv != pkcs11.CKR_OK:
			return 0, rv, err
		case mine != nil && nameOf(mine) == nameOf(&c.record.Identity):
			return object, pkcs11.CKR_OK, nil
		}
		meant, err := g.pick(p.link, &c.record, found)
		switch {
		case err != nil:
			return 0, 0, err
		case meant == nil || meant.Object == stale:
			return 0, 0, ErrElsewhere
		}
		return meant.Object, pkcs11.CKR_OK, nil
	}
}
