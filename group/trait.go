// SPDX-License-Identifier: Apache-2.0

package group

import (
	"crypto/sha256"
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

// twins are the objects of one identity, label and ID besides the one that a
// record is about, when it was written. An event is carried out on members that
// have done so already, and must not go on to the twins there.
type twins struct {
	Others int    `json:"others"`           // how many there are
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
	if mine == nil { // another process has given it another label
		identify := wire.Identify{Object: object}
		if _, err := p.Do(&identify); err != nil || identify.RV != pkcs11.CKR_OK {
			return identify.RV, err
		}
		if found, mine, rv, err = p.equals(keep(identify.Identity), object); err != nil || rv != pkcs11.CKR_OK {
			return rv, err
		}
	}
	c.known = true
	if mine == nil {
		return pkcs11.CKR_OK, nil // it is there, and nobody can tell what it is
	}
	all := called(found, mine)
	if len(all) == 1 {
		return pkcs11.CKR_OK, nil
	}
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
		r.Twins, r.Identity = t, keep(*mine)
	}
	return pkcs11.CKR_OK, nil
}

// equals finds the objects of an identity on a member, and among them the one with
// a handle.
func (p *Place) equals(id wire.Identity, object uint64) (found []wire.Identity, mine *wire.Identity, rv pkcs11.RV, err error) {
	find := wire.Resolve{Wanted: id}
	if _, err := p.Do(&find); err != nil || find.RV != pkcs11.CKR_OK {
		return nil, nil, find.RV, err
	}
	for i := range find.Found {
		if find.Found[i].Object == object {
			mine = &find.Found[i]
		}
	}
	return find.Found, mine, pkcs11.CKR_OK, nil
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
	case r.Op == opDestroy && len(all) > r.Twins.Others:
		return all[0], nil
	}
	return nil, nil
}
