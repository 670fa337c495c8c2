// SPDX-License-Identifier: Apache-2.0

package group

import (
	"fmt"
	"slices"

	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/wire"
)

// list returns the token objects of a member.
func (g *Group) list(l *link) ([]wire.Identity, error) {
	find := wire.Find{Template: pkcs11.Template{pkcs11.Bool(pkcs11.CKA_TOKEN, true)}}
	if _, err := l.background(g.ctx, g.limits(nil), &find); err != nil {
		return nil, err
	}
	if find.RV != pkcs11.CKR_OK {
		return nil, fmt.Errorf("its objects cannot be listed: %w", find.RV)
	}
	return find.Found, nil
}

// A difference is what two members hold, and what only one of them does.
type difference struct{ ofA, ofB, onlyA, onlyB []wire.Identity }

// compare lists both members, which have the same login meanwhile: one that has none
// would seem to hold less. An error is a's; if b fails it
// is dropped, and a is to be compared with another one: errRestless.
func (g *Group) compare(a, b *link) (d difference, err error) {
	login, other := g.loginOf(a), g.loginOf(b)
	moment, unsure := g.loginMoment()
	if unsure {
		return d, errLogin
	}
	listed := make(chan error)
	go func() {
		var err error
		d.ofB, err = g.list(b)
		listed <- err
	}()
	d.ofA, err = g.list(a)
	errB := <-listed
	if err != nil {
		return d, err
	}
	failed := func(err error) error {
		g.drop(b, err)
		return fmt.Errorf("%w: member %s, which it was compared with, failed: %w", errRestless, b.seat.member.Name(), err)
	}
	if errB != nil {
		return d, failed(errB)
	}
	if now, unsure := g.loginMoment(); unsure || now != moment {
		return d, errLogin
	}
	if login != other || login != g.loginOf(a) || login != g.loginOf(b) {
		return d, errRestless
	}
	g.mu.Lock()
	a.seat.objects, b.seat.objects = len(d.ofA), len(d.ofB)
	g.mu.Unlock()
	which := mixed(d.ofA, d.ofB)
	looksA, err := g.looks(a, d.ofA, which)
	if err != nil {
		return d, err
	}
	looksB, err := g.looks(b, d.ofB, which)
	if err != nil {
		return d, failed(err)
	}
	newA, newB := g.news(a, b, d)
	d.onlyA = append(missing(others(d.ofA, newB), others(d.ofB, newA), looksA, looksB), only(d.ofA, newB)...)
	d.onlyB = append(missing(others(d.ofB, newA), others(d.ofA, newB), looksB, looksA), only(d.ofB, newA)...)
	return d, nil
}

// news are the names of objects that two members are still to get from each other since
// they have missed their creation: what they have of the key by another name is no copy.
func (g *Group) news(a, b *link, d difference) (newA, newB map[string]bool) {
	keys, names := make(map[identityKey]bool), make(map[string]int)
	for i := range d.ofA {
		keys[keyOf(&d.ofA[i])] = true
		names[nameOf(&d.ofA[i])]++
	}
	otherwise := false // called
	for i := range d.ofB {
		otherwise = otherwise || len(d.ofB[i].Fingerprint) > 0 && keys[keyOf(&d.ofB[i])] && names[nameOf(&d.ofB[i])] == 0
	}
	if !otherwise {
		return nil, nil
	}
	newA, newB = make(map[string]bool), make(map[string]bool)
	entries, _ := g.journal([]*link{a, b}) // who cannot tell is asked again
	for _, e := range entries {
		if e.Op != opCreate || e.Open {
			continue
		}
		for _, id := range append([]wire.Identity{e.Identity}, e.With...) {
			newA[nameOf(&id)] = newA[nameOf(&id)] || e.waits(g, a) && len(only(d.ofA, map[string]bool{nameOf(&id): true})) == 0
			newB[nameOf(&id)] = newB[nameOf(&id)] || e.waits(g, b) && len(only(d.ofB, map[string]bool{nameOf(&id): true})) == 0
		}
	}
	return newA, newB
}

// only are those objects of a list that have one of the names.
func only(list []wire.Identity, names map[string]bool) (out []wire.Identity) {
	for i := range list {
		if names[nameOf(&list[i])] {
			out = append(out, list[i])
		}
	}
	return out
}

// others are those that have none of them.
func others(list []wire.Identity, names map[string]bool) []wire.Identity {
	if len(names) == 0 {
		return list
	}
	return slices.DeleteFunc(slices.Clone(list), func(id wire.Identity) bool { return names[nameOf(&id)] })
}

// identityKey is what makes objects the same: class, type and key material.
type identityKey struct {
	class, kind uint64
	fingerprint string
}

func keyOf(i *wire.Identity) identityKey {
	return identityKey{i.Class, i.KeyType, string(i.Fingerprint)}
}

// nameOf is an object's identity with its label and ID.
func nameOf(i *wire.Identity) string {
	return fmt.Sprintf("%x %x %x %q %x", i.Class, i.KeyType, i.Fingerprint, i.Label, i.ID)
}

// mixed are the keys of which one member has several objects, and the other not as
// many: which of them it lacks their attributes tell.
func mixed(a, b []wire.Identity) map[identityKey]bool {
	of := func(list []wire.Identity) map[identityKey]int {
		n := make(map[identityKey]int)
		for i := range list {
			if len(list[i].Fingerprint) > 0 {
				n[keyOf(&list[i])]++
			}
		}
		return n
	}
	ofA, ofB := of(a), of(b)
	which := make(map[identityKey]bool)
	for k := range ofA {
		which[k] = ofA[k] != ofB[k] && ofB[k] > 0
	}
	return which
}

// A look is what an object reads as, with its label and ID and without.
type look struct{ all, bare string }

// looks reads those objects of a member whose key is in which, by their handles.
func (g *Group) looks(l *link, list []wire.Identity, which map[identityKey]bool) (map[uint64]look, error) {
	looks := make(map[uint64]look)
	for i := range list {
		id := &list[i]
		if !which[keyOf(id)] {
			continue
		}
		kinds := traits(id.Class)
		values, err := readTraits(id.Object, kinds, func(call wire.Call) error {
			_, err := l.background(g.ctx, g.limits(nil), call)
			return err
		})
		if err != nil {
			return nil, err
		}
		at := look{all: fmt.Sprintf("%q", values)}
		for k, t := range kinds {
			if t.kind != pkcs11.CKA_LABEL && t.kind != pkcs11.CKA_ID {
				at.bare += fmt.Sprintf("%q ", values[k])
			}
		}
		looks[id.Object] = at
	}
	return looks, nil
}

// missing returns those of has that lacks has fewer of. Of several objects of one
// key they are those whose like lacks does not have: in all attributes, else in label
// and ID, else in all but these. Objects without an established identity are nobody's
// copies and are left alone.
func missing(has, lacks []wire.Identity, looksHas, looksLacks map[uint64]look) (out []wire.Identity) {
	surplus := make(map[identityKey]int)
	for i := range has {
		if len(has[i].Fingerprint) > 0 {
			surplus[keyOf(&has[i])]++
		}
	}
	for i := range lacks {
		surplus[keyOf(&lacks[i])]--
	}
	matched, taken := make([]bool, len(has)), make([]bool, len(lacks))
	for _, like := range likes {
		there := make(map[string][]int)
		for i := range lacks {
			if taken[i] || surplus[keyOf(&lacks[i])] <= 0 {
				continue
			}
			if k := like(&lacks[i], looksLacks); k != "" {
				there[k] = append(there[k], i)
			}
		}
		for _, copyable := range []wire.IdentityFlags{wire.Copyable, 0} { // what was copied comes first
			for i := range has {
				if matched[i] || has[i].Flags&wire.Copyable != copyable || surplus[keyOf(&has[i])] <= 0 {
					continue
				}
				if k := like(&has[i], looksHas); len(there[k]) > 0 {
					matched[i], taken[there[k][0]], there[k] = true, true, there[k][1:]
				}
			}
		}
	}
	for i := range has {
		if k := keyOf(&has[i]); !matched[i] && surplus[k] > 0 {
			surplus[k]--
			out = append(out, has[i])
		}
	}
	return out
}

// likes are the ways in which objects of two members are alike, the surest first.
var likes = []func(*wire.Identity, map[uint64]look) string{
	func(i *wire.Identity, looks map[uint64]look) string {
		if at, ok := looks[i.Object]; ok {
			return fmt.Sprint(keyOf(i), at.all)
		}
		return ""
	},
	func(i *wire.Identity, _ map[uint64]look) string { return nameOf(i) },
	func(i *wire.Identity, looks map[uint64]look) string {
		if at, ok := looks[i.Object]; ok {
			return fmt.Sprint(keyOf(i), at.bare)
		}
		return ""
	},
}
