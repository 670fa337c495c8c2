// SPDX-License-Identifier: Apache-2.0

package host

import (
	"bytes"
	"slices"
	"sync"

	"oneslot.dev/oneslot/pkcs11"
)

// shared is what the sessions of a token know together.
type shared struct {
	domain domainCache

	// writing is held while one of our own calls writes to the token: object
	// files of SoftHSM 2.6.1 are guarded by locks of the process, which
	// threads do not see, and C_CreateObject fails with CKR_GENERAL_ERROR now and then.
	writing sync.Mutex

	state   sync.Mutex // guards what follows; never held during a call of the module
	open    int        // sessions
	epoch   uint64     // counts logins and logouts: handles of private objects end with them
	made    map[uint64]*making
	records map[uint64]bool  // handles of records seen
	prints  map[uint64]print // by handle, see print.go
	index   index
	origins originCache
	wrapped map[keyKind]bool // whether keys of a kind can be wrapped, as far as it was tried

	keepsLength, triedLength bool // see exact.go
}

func (s *shared) init() {
	s.epoch = 1
	s.made = map[uint64]*making{}
	s.records = map[uint64]bool{}
	s.wrapped = map[keyKind]bool{}
	s.prints = map[uint64]print{}
}

func (s *shared) opened() {
	s.state.Lock()
	s.open++
	s.state.Unlock()
}

// closed ends the login with the last session (PKCS#11 2.40, 5.6: closing the
// last session logs out).
func (s *shared) closed() {
	s.state.Lock()
	s.open--
	last := s.open == 0
	s.state.Unlock()
	if last {
		s.loginChanged()
	}
}

// loginChanged forgets what is known of private objects: their handles end with
// the login.
func (s *shared) loginChanged() {
	s.state.Lock()
	defer s.state.Unlock()
	s.epoch++
	clear(s.records)
	clear(s.prints)
	s.origins, s.index = originCache{}, index{}
}

func (s *shared) loginEpoch() uint64 {
	s.state.Lock()
	defer s.state.Unlock()
	return s.epoch
}

// making returns what is remembered of an object made in the group view that is
// not on the token yet, nil for others.
func (s *shared) making(object uint64) *making {
	s.state.Lock()
	defer s.state.Unlock()
	return s.made[object]
}

// remember keeps a copy: templates of calls lie in memory that is used again.
func (s *shared) remember(object uint64, m *making) {
	m = &making{held: clone(m.held), shown: clone(m.shown)}
	s.state.Lock()
	defer s.state.Unlock()
	s.made[object] = m
}

func clone(t pkcs11.Template) pkcs11.Template {
	t = slices.Clone(t)
	for i := range t {
		t[i].Value, t[i].Array = bytes.Clone(t[i].Value), clone(t[i].Array)
	}
	return t
}

// forget drops all that is remembered of a handle.
func (s *shared) forget(object uint64) {
	s.state.Lock()
	defer s.state.Unlock()
	delete(s.made, object)
	delete(s.records, object)
	delete(s.prints, object)
}

// hide notes the handle of a record.
func (s *shared) hide(object uint64) {
	s.state.Lock()
	defer s.state.Unlock()
	s.records[object] = true
}

// isHidden says whether a handle is known to be one of our helpers.
func (t *Token) isHidden(object uint64) bool {
	if t.isDomainKey(object) {
		return true
	}
	t.state.Lock()
	defer t.state.Unlock()
	return t.records[object]
}
