// SPDX-License-Identifier: Apache-2.0

package group

import (
	"crypto/sha256"
	"errors"
	"fmt"
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

func traitsOf(id *wire.Identity, do func(wire.Call) error) (string, error) {
	values, err := readTraits(id.Object, traits(id.Class), do)
	return fmt.Sprintf("%x", sha256.Sum256([]byte(strings.Join(values, "\n")))), err
}

// twins are the objects of one identity besides the one that a record is about,
// when it was written. An event is carried out on members that have done so already,
// or never had the object, and must not go on to the twins there.
type twins struct {
	Others int    `json:"others"`           // how many of them have its label and ID, too
	Alike  int    `json:"alike,omitempty"`  // those among them that have the same traits
	Traits string `json:"traits,omitempty"` // of the object, before the event; empty: not known
}

// distinguish notes in the record of a change what tells the object from its twins.
func (g *Group) distinguish(c *change, p *Place, object uint64) (pkcs11.RV, error) {
	if c.known || g.alone() || len(c.record.Identity.Fingerprint) == 0 {
		return pkcs11.CKR_OK, nil
	}
	found, mine, rv, err := p.equals(c.record.Identity, object)
	if err != nil || rv != pkcs11.CKR_OK {
		return rv, err
	}
	if mine == nil { // another process may have destroyed it
		identify := wire.Identify{Object: object}
		if _, err := p.Do(&identify); err != nil || identify.RV != pkcs11.CKR_OK {
			return identify.RV, err
		}
	}
	c.known = true
	if mine == nil {
		return pkcs11.CKR_OK, nil // it is there, and nobody can tell what it is
	}
	if len(found) == 1 {
		return pkcs11.CKR_OK, nil // whatever it is called elsewhere, it is this one
	}
	all := called(found, mine)
	t := &twins{Others: len(all) - 1}
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
func (p *Place) equals(id wire.Identity, object uint64) (found []wire.Identity, mine *wire.Identity, rv pkcs11.RV, err error) {
	id.Label, id.ID = nil, nil // those who hear of a change must know of twins by other names, too
	find := wire.Resolve{Wanted: id}
	if _, err := p.Do(&find); err != nil || find.RV != pkcs11.CKR_OK {
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

// meant picks the object that a record is about among those that a member has;
// nil if it has done with it already, or nobody can tell.
func (g *Group) meant(l *link, r *record, found []wire.Identity) (*wire.Identity, error) {
	if r.Twins == nil {
		return choose(found, &r.Identity), nil
	}
	all := called(found, &r.Identity)
	var alike []*wire.Identity
	for _, id := range all {
		traits, err := traitsOf(id, func(call wire.Call) error {
			_, err := l.background(g.ctx, g.limits(nil), call)
			return err
		})
		if err != nil {
			return nil, err
		}
		if traits == r.Twins.Traits {
			alike = append(alike, id)
		}
	}
	switch {
	case r.Twins.Traits != "" && len(alike) > r.Twins.Alike:
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
	if c.record.Twins == nil {
		return c.resolve
	}
	return func(p *Place, stale uint64) (uint64, pkcs11.RV, error) {
		object, rv, err := c.resolve(p, stale)
		nowhere := errors.Is(err, ErrElsewhere)
		if !nowhere && (err != nil || rv != pkcs11.CKR_OK) {
			return object, rv, err
		}
		found, mine, rv, err := p.equals(c.record.Identity, object)
		switch {
		case err != nil || rv != pkcs11.CKR_OK:
			return 0, rv, err
		case !nowhere && (mine == nil || nameOf(mine) == nameOf(&c.record.Identity)):
			return object, pkcs11.CKR_OK, nil
		}
		meant, err := g.meant(p.link, &c.record, found)
		switch {
		case err != nil:
			return 0, 0, err
		case meant == nil:
			return 0, 0, ErrElsewhere
		}
		return meant.Object, pkcs11.CKR_OK, nil
	}
}
