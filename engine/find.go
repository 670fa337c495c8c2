// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"slices"

	"oneslot.dev/oneslot/group"
	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/wire"
)

// A search is the result of C_FindObjectsInit that was not fetched yet.
type search struct {
	left []uint64
	by   wire.Call // that began it
}

// FindObjectsInit is C_FindObjectsInit. The primary is asked at once, with the
// identities of what it finds, so that a handle given out can be resolved
// elsewhere even if that member dies the next moment.
func (a *application) FindObjectsInit(_ context.Context, c *wire.FindObjectsInit) pkcs11.RV {
	s, rv := a.session(c.Session)
	if rv != pkcs11.CKR_OK {
		return rv
	}
	s.mu.Lock()
	active := s.search != nil
	s.mu.Unlock()
	if active {
		return pkcs11.CKR_OPERATION_ACTIVE
	}
	found, rv := s.slot.search(c.Template)
	if rv == pkcs11.CKR_OK && len(found) == 0 && s.slot.group.AwaitArrivals() {
		found, rv = s.slot.search(c.Template) // who was still to come may have it
	}
	if rv != pkcs11.CKR_OK {
		return rv
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return pkcs11.CKR_SESSION_HANDLE_INVALID
	case s.search != nil:
		return pkcs11.CKR_OPERATION_ACTIVE
	}
	s.search = &search{found, c}
	return pkcs11.CKR_OK
}

// search asks the primary for objects (L3) and returns their virtual handles, with
// those that only another member has (K8). It is never empty because nobody could be
// asked (field-G8).
func (sl *slot) search(template pkcs11.Template) ([]uint64, pkcs11.RV) {
	handles, asked := []uint64{}, -1
	nameless := make(map[familyKey]bool) // objects that nobody can recognise elsewhere
	rv, err := sl.group.Do(wire.Ask, group.Primary, func(p *group.Place) (pkcs11.RV, error) {
		for _, o := range sl.objects.sessionObjects() {
			if _, rv, err := o.on(p); err != nil && rv == pkcs11.CKR_OK && err != group.ErrElsewhere {
				return rv, err
			}
		}
		call := wire.Find{Template: template}
		if _, err := p.Do(&call); err != nil || call.RV != pkcs11.CKR_OK {
			return call.RV, err
		}
		var rv pkcs11.RV
		var err error
		handles, rv, err = sl.recognise(p, call.Found)
		asked = p.Seat()
		noteNameless(nameless, call.Found)
		return rv, err
	})
	if err == nil && rv == pkcs11.CKR_OK {
		handles = append(handles, sl.searchBeside(asked, template, handles, nameless)...)
	}
	return handles, sl.gone(err, rv, pkcs11.CKR_DEVICE_ERROR)
}

// searchBeside asks the other members for what the one that was asked cannot have, and
// returns what is not among the handles yet. Objects that cannot be recognised on another
// member count as the same when they are called the same (H4).
func (sl *slot) searchBeside(asked int, template pkcs11.Template, have []uint64, nameless map[familyKey]bool) (more []uint64) {
	sl.group.Beside(asked, func(p *group.Place, sole group.Sole) error {
		call := wire.Find{Template: template}
		if _, err := p.Do(&call); err != nil || call.RV != pkcs11.CKR_OK {
			return err
		}
		found := slices.DeleteFunc(call.Found, func(id wire.Identity) bool {
			return !sole.Has(&id) || id.Flags&wire.OnToken == 0 || len(id.Fingerprint) == 0 && nameless[familyOf(&id)]
		})
		noteNameless(nameless, found)
		handles, _, err := sl.recognise(p, found)
		for _, h := range handles {
			if !slices.Contains(have, h) && !slices.Contains(more, h) {
				more = append(more, h)
			}
		}
		return err
	})
	return more
}

func noteNameless(nameless map[familyKey]bool, found []wire.Identity) {
	for i := range found {
		if len(found[i].Fingerprint) == 0 {
			nameless[familyOf(&found[i])] = true
		}
	}
}

// recognise gives what a member found its virtual handles.
func (sl *slot) recognise(p *group.Place, found []wire.Identity) ([]uint64, pkcs11.RV, error) {
	handles := make([]uint64, 0, len(found))
	count := make(map[familyKey]int)
	for i := range found {
		count[familyOf(&found[i])]++
	}
	for i := range found {
		id := &found[i]
		o, rv, err := sl.known(p, id, count[familyOf(id)] == 1)
		if err != nil || rv != pkcs11.CKR_OK {
			return nil, rv, err
		}
		if o != nil {
			handles = append(handles, o.handle)
		}
	}
	return handles, pkcs11.CKR_OK, nil
}

// known returns the virtual object for one found on a member; alone says that no
// twin of it was. Session objects that the engine did not make for the application,
// it does not show.
func (sl *slot) known(p *group.Place, id *wire.Identity, alone bool) (*object, pkcs11.RV, error) {
	if id.Flags&wire.OnToken == 0 {
		return sl.objects.at(p.Seat(), p.Epoch(), id.Object), pkcs11.CKR_OK, nil
	}
	if len(id.Fingerprint) == 0 {
		if o := sl.objects.at(p.Seat(), p.Epoch(), id.Object); o != nil {
			return o, pkcs11.CKR_OK, nil
		}
		o := &object{id: keep(id)}
		o.learn(p.Seat(), p.Epoch(), id.Object)
		sl.objects.add(sl.app.handles.Add(1), o)
		return o, pkcs11.CKR_OK, nil
	}
	o := sl.objects.found(sl, p, id, alone)
	if o != nil {
		return o, pkcs11.CKR_OK, nil
	}
	if rv, err := sl.lookAtTwins(p, *id, true); err != nil || rv != pkcs11.CKR_OK {
		return nil, rv, err
	}
	return sl.objects.found(sl, p, id, false), pkcs11.CKR_OK, nil // nil: it was destroyed meanwhile
}

// FindObjects is C_FindObjects.
func (a *application) FindObjects(_ context.Context, c *wire.FindObjects) pkcs11.RV {
	s, rv := a.session(c.Session)
	if rv != pkcs11.CKR_OK {
		return rv
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.search == nil {
		return pkcs11.CKR_OPERATION_NOT_INITIALIZED
	}
	s.search.left = slices.DeleteFunc(s.search.left, func(handle uint64) bool {
		return s.slot.objects.get(handle) == nil // destroyed since it was found
	})
	n := min(uint64(len(s.search.left)), c.ObjectsRoom.Capacity)
	c.Objects = wire.Ulongs{Values: s.search.left[:n]}
	s.search.left = s.search.left[n:]
	return pkcs11.CKR_OK
}

// FindObjectsFinal is C_FindObjectsFinal.
func (a *application) FindObjectsFinal(_ context.Context, c *wire.FindObjectsFinal) pkcs11.RV {
	s, rv := a.session(c.Session)
	if rv != pkcs11.CKR_OK {
		return rv
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.search == nil {
		return pkcs11.CKR_OPERATION_NOT_INITIALIZED
	}
	s.search = nil
	return pkcs11.CKR_OK
}
