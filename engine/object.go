// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"slices"
	"sync"

	"oneslot.dev/oneslot/group"
	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/wire"
)

// tokenHandle marks the handles that derive from an object's identity. They
// stay the same over C_Finalize, fork and restarts, and so never come to mean
// another object; all others are counted up from a random start.
const tokenHandle = 1 << 62

// An object is a virtual object: what an application's handle stands for.
type object struct {
	handle uint64
	owner  *session // of a session object; nil for a token object
	blob   []byte   // of a session object that can be copied: its wrapped form

	// Of a token object with an identity; the mutex of the table guards them.
	slot   *slot
	kin    familyKey
	traits string   // what tells it from its twins (group.Place.Traits); empty: not known
	later  []uint64 // handles that it would have by its identity now
	hidden bool     // private, and nobody is logged in

	mu      sync.Mutex // guards what follows
	id      wire.Identity
	tried   []familyKey        // what it may be called, since a change of that failed
	places  map[int]place      // by seat
	guesses map[int]place      // likewise: the same key, and it may be another object
	proven  map[proof]struct{} // what worked once with this key
}

func (o *object) identity() wire.Identity {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.id
}

// objects are the virtual objects of a slot. They are guarded by themselves.
type objects struct {
	mu      *sync.Mutex
	by      map[uint64]*object
	session map[*session][]*object

	families map[familyKey]*family // of the token objects with an identity
}

func newObjects() objects {
	return objects{mu: new(sync.Mutex), by: make(map[uint64]*object), session: make(map[*session][]*object),
		families: make(map[familyKey]*family)}
}

func (t *objects) get(handle uint64) *object {
	t.mu.Lock()
	defer t.mu.Unlock()
	if o := t.by[handle]; o != nil && !o.hidden {
		return o
	}
	return nil
}

// identityHandle is the handle of a token object: a keyed hash of the group and
// of all that tells the object apart.
func identityHandle(slot *slot, id *wire.Identity, twin int) uint64 {
	h := sha256.New()
	h.Write([]byte("oneslot object handle\x00"))
	for _, v := range []uint64{slot.id, id.Class, id.KeyType, uint64(twin), uint64(len(id.Fingerprint)), uint64(len(id.Label))} {
		h.Write(binary.LittleEndian.AppendUint64(nil, v))
	}
	h.Write(id.Fingerprint)
	h.Write(id.Label)
	h.Write(id.ID)
	return binary.LittleEndian.Uint64(h.Sum(nil))>>2 | tokenHandle
}

// keep copies an identity out of the memory of a reply.
func keep(id *wire.Identity) wire.Identity {
	c := *id
	c.Fingerprint = append([]byte{}, id.Fingerprint...)
	c.Label = append([]byte{}, id.Label...)
	c.ID = append([]byte{}, id.ID...)
	c.Object = 0
	return c
}

// add adds an object with a handle that is counted up: a session object, or one
// whose identity cannot be established.
func (t *objects) add(handle uint64, o *object) {
	t.mu.Lock()
	defer t.mu.Unlock()
	o.handle = handle
	t.by[handle] = o
	if o.owner != nil {
		t.session[o.owner] = append(t.session[o.owner], o)
	}
}

// at finds the object that a member knows by this handle, among those without
// an identity of their own.
func (t *objects) at(seat int, epoch, handle uint64) *object {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, o := range t.by {
		if o.handle&tokenHandle != 0 {
			continue
		}
		o.mu.Lock()
		found := o.places[seat] == place{epoch, handle}
		o.mu.Unlock()
		if found {
			return o
		}
	}
	return nil
}

func (t *objects) sessionObjects() []*object {
	t.mu.Lock()
	defer t.mu.Unlock()
	var all []*object
	for _, list := range t.session {
		all = append(all, list...)
	}
	return all
}

func (t *objects) remove(o *object) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, handle := range o.later {
		delete(t.by, handle)
	}
	t.leave(o)
	t.drop(o)
}

// drop takes an object out of what the application has. Callers hold the mutex.
func (t *objects) drop(o *object) {
	delete(t.by, o.handle)
	if o.owner != nil {
		t.session[o.owner] = slices.DeleteFunc(t.session[o.owner], func(other *object) bool { return other == o })
	}
}

func (t *objects) forgetSession(s *session) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, o := range t.session[s] {
		delete(t.by, o.handle)
	}
	delete(t.session, s)
}

// forgetPrivate drops the private objects: their handles are invalid after
// C_Logout, and members give them others. What a search after the next login would
// not give its handle again is kept for that.
func (t *objects) forgetPrivate() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for handle, o := range t.by {
		switch {
		case o.identity().Flags&wire.Private == 0:
		case o.owner != nil: // the members destroy them (PKCS#11 2.40, C_Logout)
			t.drop(o)
		case t.plain(o):
			delete(t.by, handle)
			t.leave(o)
		default:
			o.hide()
		}
	}
}

// object returns what a handle stands for. A handle that derives from an
// identity may be from before a fork or C_Finalize: the token is searched once
// for what it belongs to.
func (s *slot) object(handle uint64) *object {
	if o := s.objects.get(handle); o != nil {
		return o
	}
	if handle&tokenHandle == 0 || handle>>63 != 0 {
		return nil
	}
	for {
		if _, rv := s.search(pkcs11.Template{pkcs11.Bool(pkcs11.CKA_TOKEN, true)}); rv != pkcs11.CKR_OK {
			return nil
		}
		if o := s.objects.get(handle); o != nil || !s.group.AwaitArrivals() {
			return o
		}
	}
}

// gone is the return value for an object that no ready member has: it may be
// on a member that is away, which is no reason to call the handle invalid.
func (s *slot) gone(err error, rv, invalid pkcs11.RV) pkcs11.RV {
	if !errors.Is(err, group.ErrElsewhere) {
		return rv
	}
	for _, m := range s.group.Snapshot().Members {
		if m.State != group.Ready {
			return pkcs11.CKR_DEVICE_ERROR
		}
	}
	return invalid
}
