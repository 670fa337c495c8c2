// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"slices"

	"oneslot.dev/oneslot/group"
	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/wire"
)

// A place is where a member has the object: a handle of one connection (H2).
type place struct {
	epoch  uint64
	object uint64
}

// learn notes a member's handle of the object.
func (o *object) learn(seat int, epoch, handle uint64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.places == nil {
		o.places = make(map[int]place)
	}
	o.places[seat] = place{epoch, handle}
	delete(o.guesses, seat)
}

// guess notes a member's handle of an object of the same key. What is to be changed or
// destroyed it is not (H1).
func (o *object) guess(seat int, epoch, handle uint64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.places, seat)
	if o.guesses == nil {
		o.guesses = make(map[int]place)
	}
	o.guesses[seat] = place{epoch, handle}
}

// forget drops a member's handle which that member says is invalid.
func (o *object) forget(p *group.Place) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.places, p.Seat())
	delete(o.guesses, p.Seat())
}

func (o *object) known(p *group.Place) (uint64, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	at, ok := o.places[p.Seat()]
	return at.object, ok && at.epoch == p.Epoch()
}

func (o *object) guessed(p *group.Place) (uint64, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	at, ok := o.guesses[p.Seat()]
	return at.object, ok && at.epoch == p.Epoch()
}

// on returns a handle of the object on a member, to be used: any object of the same
// key will do. What is not known there is looked for by identity, never by label or ID
// alone (rule H3). A session object that is not there is brought there (K9).
func (o *object) on(p *group.Place) (uint64, pkcs11.RV, error) {
	if handle, ok := o.known(p); ok {
		return handle, pkcs11.CKR_OK, nil
	}
	if handle, ok := o.guessed(p); ok {
		return handle, pkcs11.CKR_OK, nil
	}
	if rv, err := o.look(p); err != nil || rv != pkcs11.CKR_OK {
		return 0, rv, err
	}
	if handle, ok := o.known(p); ok {
		return handle, pkcs11.CKR_OK, nil
	}
	if handle, ok := o.guessed(p); ok {
		return handle, pkcs11.CKR_OK, nil
	}
	return 0, 0, group.ErrElsewhere
}

// onMember returns the handle of the object on a member, to be changed or destroyed,
// if it is certain that it is this one. stale is a handle of which the member has said
// that it is invalid: the object is looked for anew.
func (o *object) onMember(p *group.Place, stale uint64) (uint64, pkcs11.RV, error) {
	if handle, ok := o.known(p); ok && handle == stale {
		o.forget(p)
	}
	if handle, ok := o.known(p); ok {
		return handle, pkcs11.CKR_OK, nil
	}
	if rv, err := o.look(p); err != nil || rv != pkcs11.CKR_OK {
		return 0, rv, err
	}
	if handle, ok := o.known(p); ok {
		return handle, pkcs11.CKR_OK, nil
	}
	return 0, 0, group.ErrElsewhere
}

// look looks for the object on a member, and notes what it finds.
func (o *object) look(p *group.Place) (pkcs11.RV, error) {
	if o.owner != nil {
		return o.bring(p)
	}
	id := o.identity()
	if len(id.Fingerprint) == 0 {
		return 0, group.ErrElsewhere // it was known on one connection only
	}
	call := wire.Resolve{Wanted: id}
	if _, err := p.Do(&call); err != nil || call.RV != pkcs11.CKR_OK {
		return call.RV, err
	}
	others, twins := equals(call.Found, &id)
	switch {
	case len(twins) > 1 || len(twins) == 1 && o.slot.objects.hasTwins(o):
		return pkcs11.CKR_OK, o.slot.tellApart(p, twins, false) // it may be none of them
	case len(twins) == 1:
		o.learn(p.Seat(), p.Epoch(), twins[0].Object)
		return pkcs11.CKR_OK, nil
	}
	// It may be called otherwise here, or is gone, and what is left is another one.
	others = o.slot.objects.strangers(o, p, others)
	switch {
	case len(others) == 1 && o.mayBeCalled(&others[0]):
		o.learn(p.Seat(), p.Epoch(), others[0].Object)
	case len(others) > 0:
		o.guess(p.Seat(), p.Epoch(), others[0].Object)
	}
	return pkcs11.CKR_OK, nil
}

func (o *object) mayBeCalled(id *wire.Identity) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Contains(o.tried, familyOf(id))
}

// equals are the token objects of the same key material among those that a member
// found: those with the same label and ID, which are the object or its twins, and
// the others.
func equals(found []wire.Identity, id *wire.Identity) (others, twins []wire.Identity) {
	for _, f := range found {
		switch {
		case !f.Same(id) || f.Flags&wire.OnToken == 0:
		case familyOf(&f) == familyOf(id):
			twins = append(twins, f)
		default:
			others = append(others, f)
		}
	}
	return others, twins
}

// bring copies a session object to a member.
func (o *object) bring(p *group.Place) (pkcs11.RV, error) {
	if o.blob == nil {
		return 0, group.ErrElsewhere
	}
	holder, err := o.owner.holder(p)
	if err != nil {
		return 0, err
	}
	call := wire.Import{Blob: o.blob, Copies: 1}
	if _, err := holder.Do(&call); err != nil || call.RV != pkcs11.CKR_OK {
		if err == nil && call.RV == pkcs11.CKR_USER_NOT_LOGGED_IN {
			// A public object can still be used where it is.
			err = group.ErrElsewhere
		}
		return call.RV, err
	}
	o.learn(p.Seat(), p.Epoch(), call.Identity.Object)
	return pkcs11.CKR_OK, nil
}

// onTried is on for use in an attempt: use is run with the handle, and once
// more with a fresh one if the member says that the handle is invalid, which
// is no proof that the object is gone (field-B5).
func (o *object) onTried(p *group.Place, use func(handle uint64) (pkcs11.RV, error)) (pkcs11.RV, error) {
	return o.tryOn(p, o.on, use)
}

// onTriedHere is onMember likewise.
func (o *object) onTriedHere(p *group.Place, change func(handle uint64) (pkcs11.RV, error)) (pkcs11.RV, error) {
	return o.tryOn(p, func(p *group.Place) (uint64, pkcs11.RV, error) { return o.onMember(p, 0) }, change)
}

func (o *object) tryOn(p *group.Place, on func(*group.Place) (uint64, pkcs11.RV, error), use func(handle uint64) (pkcs11.RV, error)) (pkcs11.RV, error) {
	for again := false; ; again = true {
		handle, rv, err := on(p)
		if err != nil || rv != pkcs11.CKR_OK {
			return rv, err
		}
		rv, err = use(handle)
		if err != nil || again || rv != pkcs11.CKR_OBJECT_HANDLE_INVALID && rv != pkcs11.CKR_KEY_HANDLE_INVALID {
			return rv, err
		}
		o.forget(p)
		if o.owner != nil {
			return rv, nil
		}
	}
}
