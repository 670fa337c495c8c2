// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"maps"
	"slices"

	"oneslot.dev/oneslot/group"
	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/wire"
)

// A family is the token objects that are equal in all that identifies them: one,
// unless there are twins. The mutex of the table guards it.
type family struct {
	objects []*object // by rank
	next    int       // rank of the next one: none is used twice, a stale handle would mean a twin (H1)
}

// familyKey is what a family has in common.
type familyKey struct {
	class, keyType        uint64
	fingerprint, name, id string
}

func familyOf(id *wire.Identity) familyKey {
	return familyKey{id.Class, id.KeyType, string(id.Fingerprint), string(id.Label), string(id.ID)}
}

// newToken adds a token object. Callers hold the mutex.
func (t *objects) newToken(slot *slot, id *wire.Identity) *object {
	o := &object{slot: slot, id: keep(id)}
	o.handle = identityHandle(slot, id, t.join(o, id))
	for t.by[o.handle] != nil {
		o.handle = o.handle&^tokenHandle + 1 | tokenHandle // a collision moves on
	}
	t.by[o.handle] = o
	return o
}

// join puts an object into its family, and returns its rank there. Callers hold
// the mutex.
func (t *objects) join(o *object, id *wire.Identity) (rank int) {
	o.kin = familyOf(id)
	f := t.families[o.kin]
	if f == nil {
		f = &family{}
		t.families[o.kin] = f
	}
	f.objects = append(f.objects, o)
	f.next++
	return f.next - 1
}

// renamed has searches find a token object by its new label or CKA_ID. Its
// handle stays the one that the application knows. A search by another thread, or
// after another process gave it the same name, may have seen it under that
// already: then it has that handle, too.
func (t *objects) renamed(slot *slot, o *object) {
	if o.owner != nil || o.handle&tokenHandle == 0 {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	id := o.identity()
	if familyOf(&id) == o.kin {
		return
	}
	t.leave(o)
	if t.merge(o, familyOf(&id)) {
		return
	}
	rank := t.join(o, &id)
	if handle := identityHandle(slot, &id, rank); t.by[handle] == nil {
		t.by[handle] = o
		o.later = append(o.later, handle)
	}
}

// merge has an object take the place of one in a family that is the same: some
// member has both at one place. It is false if there is none. Callers hold the
// mutex.
func (t *objects) merge(o *object, kin familyKey) bool {
	f := t.families[kin]
	if f == nil {
		return false
	}
	i := slices.IndexFunc(f.objects, func(other *object) bool { return other.meets(o) })
	if i < 0 {
		return false
	}
	for _, handle := range append(f.objects[i].later, f.objects[i].handle) {
		t.by[handle] = o
		o.later = append(o.later, handle)
	}
	f.objects[i], o.kin = o, kin
	return true
}

// meets says whether two objects are at one place.
func (o *object) meets(other *object) bool {
	other.mu.Lock()
	places := maps.Clone(other.places)
	other.mu.Unlock()
	for seat, at := range places {
		if o.isAt(seat, at) {
			return true
		}
	}
	return false
}

// plain says whether the handle of an object is the one that it would have if it
// were found for the first time. Callers hold the mutex.
func (t *objects) plain(o *object) bool {
	f := t.families[o.kin]
	return f == nil || f.next == 1 && len(o.later) == 0
}

// hide has the handles of an object mean nothing until it is found again.
func (o *object) hide() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.hidden, o.places = true, nil
}

// leave takes an object out of its family. Callers hold the mutex.
func (t *objects) leave(o *object) {
	f := t.families[o.kin]
	if f == nil {
		return
	}
	if f.objects = slices.DeleteFunc(f.objects, func(other *object) bool { return other == o }); len(f.objects) == 0 {
		delete(t.families, o.kin)
	}
}

// created returns the token object that was just made at these places. A search
// by another thread may have seen it first.
func (t *objects) created(slot *slot, id *wire.Identity, places []group.At) *object {
	t.mu.Lock()
	defer t.mu.Unlock()
	if f := t.families[familyOf(id)]; f != nil {
		for _, o := range f.objects {
			if slices.ContainsFunc(places, func(at group.At) bool { return o.isAt(at.Seat, place{at.Epoch, at.Object}) }) {
				return o
			}
		}
	}
	return t.newToken(slot, id)
}

// isAt says whether a member has the object at this place.
func (o *object) isAt(seat int, at place) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.places[seat] == at
}

// found returns the token object that a member has at a place, if that is
// certain. alone says that the search found no twin of it.
func (t *objects) found(slot *slot, p *group.Place, id *wire.Identity, alone bool) *object {
	t.mu.Lock()
	defer t.mu.Unlock()
	f := t.families[familyOf(id)]
	if f == nil {
		if !alone {
			return nil
		}
		o := t.newToken(slot, id)
		o.learn(p.Seat(), p.Epoch(), id.Object)
		return o
	}
	for _, o := range f.objects {
		if o.isAt(p.Seat(), place{p.Epoch(), id.Object}) {
			o.hidden = false
			return o
		}
	}
	if len(f.objects) > 1 || !alone {
		return nil
	}
	if _, known := f.objects[0].known(p); known {
		return nil
	}
	f.objects[0].learn(p.Seat(), p.Epoch(), id.Object)
	f.objects[0].hidden = false
	return f.objects[0]
}

// assign matches the twins that a member has with those that the application
// knows: by their handles there, else by the attributes that tell them apart. Who is
// left is matched in the order of their ranks, which is a guess unless nothing tells
// them apart or the application is about to be told. What nobody knows yet is a new
// object.
func (t *objects) assign(p *group.Place, slot *slot, twins []twin, told bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	var left []*object
	if f := t.families[familyOf(&twins[0].id)]; f != nil {
		left = slices.Clone(f.objects)
	}
	guessed := false
	match := func(sure bool, fits func(*object, *twin) bool) {
		twins = slices.DeleteFunc(twins, func(w twin) bool {
			i := slices.IndexFunc(left, func(o *object) bool { return fits(o, &w) })
			if i < 0 {
				return false
			}
			if sure {
				left[i].settle(p, &w)
				left[i].hidden = false
			} else {
				left[i].guess(p.Seat(), p.Epoch(), w.id.Object)
				guessed = true
			}
			left = slices.Delete(left, i, i+1)
			return true
		})
	}
	match(true, func(o *object, w *twin) bool { return o.isAt(p.Seat(), place{p.Epoch(), w.id.Object}) })
	match(true, func(o *object, w *twin) bool { return o.traits == w.traits })
	alike := !slices.ContainsFunc(twins, func(w twin) bool { return w.traits != twins[0].traits })
	match(told || alike, func(o *object, _ *twin) bool { return told || o.traits == "" })
	match(false, func(*object, *twin) bool { return true })
	for i := range twins {
		if guessed {
			break // it may be one that is guessed
		}
		t.newToken(slot, &twins[i].id).settle(p, &twins[i])
	}
	for _, o := range left {
		o.forget(p) // it is not there, or no more
	}
}

// A twin is one of several equal objects on a member.
type twin struct {
	id     wire.Identity
	traits string // what tells it apart
}

func (o *object) settle(p *group.Place, w *twin) {
	o.learn(p.Seat(), p.Epoch(), w.id.Object)
	o.traits = w.traits
}

// tellApart finds out which twin is which on a member: all of them that it has.
// told says that the application is told of them.
func (s *slot) tellApart(p *group.Place, found []wire.Identity, told bool) error {
	twins := make([]twin, len(found))
	for i := range found {
		traits, err := p.Traits(&found[i])
		if err != nil {
			return err
		}
		twins[i] = twin{found[i], traits}
	}
	s.objects.assign(p, s, twins, told)
	return nil
}

// hasTwins says whether an object is one of several equal ones.
func (t *objects) hasTwins(o *object) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	f := t.families[o.kin]
	return f != nil && len(f.objects) > 1
}

// strangers are those of some equal objects on a member that may be an object: the
// application does not know them as others.
func (t *objects) strangers(o *object, p *group.Place, equal []wire.Identity) (left []wire.Identity) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, id := range equal {
		f := t.families[familyOf(&id)]
		if f == nil || !slices.ContainsFunc(f.objects, func(other *object) bool { return other != o }) {
			left = append(left, id)
		}
	}
	return left
}

// compare notes what tells an object and its twins apart, while it is known which
// is which. A member that cannot be asked is no reason for a call to fail that is
// over.
func (s *slot) compare(o *object) {
	if o.owner != nil || !s.objects.hasTwins(o) {
		return
	}
	s.group.Do(wire.Ask, group.Primary, func(p *group.Place) (pkcs11.RV, error) {
		return s.lookAtTwins(p, o.identity(), false)
	})
}

// lookAtTwins finds out which twin is which on a member.
func (s *slot) lookAtTwins(p *group.Place, id wire.Identity, told bool) (pkcs11.RV, error) {
	call := wire.Resolve{Wanted: id}
	if _, err := p.Do(&call); err != nil || call.RV != pkcs11.CKR_OK {
		return call.RV, err
	}
	_, twins := equals(call.Found, &id)
	if len(twins) == 0 {
		return pkcs11.CKR_OK, nil
	}
	return pkcs11.CKR_OK, s.tellApart(p, twins, told)
}
