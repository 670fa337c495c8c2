// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"sync"

	"oneslot.dev/oneslot/group"
	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/wire"
)

// A session is a virtual session. It costs the members nothing until an
// operation or a session object needs one of theirs (rule H6).
type session struct {
	handle uint64
	slot   *slot
	rw     bool

	mu     sync.Mutex // guards what follows; never held during a call to a member
	closed bool
	active [kinds]*operation
	search *search

	// holders are the member sessions that the session objects made here live
	// in, one for each connection. Closing them destroys the objects.
	holders map[uint64]*group.Hold // by epoch
}

// session returns a session by its handle.
func (a *application) session(handle uint64) (*session, pkcs11.RV) {
	a.mu.RLock()
	s := a.sessions[handle]
	a.mu.RUnlock()
	if s == nil {
		return nil, pkcs11.CKR_SESSION_HANDLE_INVALID
	}
	return s, pkcs11.CKR_OK
}

// OpenSession is C_OpenSession.
func (a *application) OpenSession(_ context.Context, c *wire.OpenSession) pkcs11.RV {
	sl, rv := a.slot(c.Slot)
	if rv != pkcs11.CKR_OK {
		return rv
	}
	if c.Flags&pkcs11.CKF_SERIAL_SESSION == 0 {
		return pkcs11.CKR_SESSION_PARALLEL_NOT_SUPPORTED
	}
	if sl.physical != nil {
		sl.awake()
		if !sl.group.Serving() {
			return pkcs11.CKR_TOKEN_NOT_PRESENT
		}
	} else if !sl.group.Known() {
		return pkcs11.CKR_TOKEN_NOT_PRESENT
	}
	s := &session{handle: a.handles.Add(1), slot: sl, rw: c.Flags&pkcs11.CKF_RW_SESSION != 0}
	sl.mu.Lock()
	if sl.user == int(pkcs11.CKU_SO) && !s.rw {
		sl.mu.Unlock()
		return pkcs11.CKR_SESSION_READ_WRITE_SO_EXISTS
	}
	sl.sessions++
	if s.rw {
		sl.rw++
	}
	sl.mu.Unlock()
	a.mu.Lock()
	a.sessions[s.handle] = s
	a.mu.Unlock()
	c.Session = s.handle
	return pkcs11.CKR_OK
}

// CloseSession is C_CloseSession.
func (a *application) CloseSession(_ context.Context, c *wire.CloseSession) pkcs11.RV {
	s, rv := a.session(c.Session)
	if rv != pkcs11.CKR_OK {
		return rv
	}
	if !a.end(s) {
		return pkcs11.CKR_SESSION_HANDLE_INVALID // another thread was quicker
	}
	return pkcs11.CKR_OK
}

// CloseAllSessions is C_CloseAllSessions.
func (a *application) CloseAllSessions(_ context.Context, c *wire.CloseAllSessions) pkcs11.RV {
	sl, rv := a.slot(c.Slot)
	if rv != pkcs11.CKR_OK {
		return rv
	}
	a.mu.RLock()
	var open []*session
	for _, s := range a.sessions {
		if s.slot == sl {
			open = append(open, s)
		}
	}
	a.mu.RUnlock()
	for _, s := range open {
		a.end(s)
	}
	return pkcs11.CKR_OK
}

// end closes a session with its operations and objects. With the last session
// of a slot the login ends (PKCS#11 2.40, C_CloseSession; field-F7).
func (a *application) end(s *session) bool {
	a.mu.Lock()
	_, open := a.sessions[s.handle]
	delete(a.sessions, s.handle)
	a.mu.Unlock()
	if !open {
		return false
	}
	s.mu.Lock()
	s.closed = true
	holders := s.holders
	s.holders, s.search = nil, nil
	for kind, op := range s.active {
		if op != nil {
			op.abandon()
			s.active[kind] = nil
		}
	}
	s.mu.Unlock()
	s.slot.objects.forgetSession(s)
	for _, h := range holders {
		h.Release(false)
	}
	s.slot.mu.Lock()
	s.slot.sessions--
	if s.rw {
		s.slot.rw--
	}
	last := s.slot.sessions == 0 && s.slot.user != nobody
	s.slot.mu.Unlock()
	if last {
		s.slot.logout()
	}
	return true
}

// GetSessionInfo is C_GetSessionInfo.
func (a *application) GetSessionInfo(_ context.Context, c *wire.GetSessionInfo) pkcs11.RV {
	s, rv := a.session(c.Session)
	if rv != pkcs11.CKR_OK {
		return rv
	}
	s.slot.mu.Lock()
	user := s.slot.user
	s.slot.mu.Unlock()
	c.Info.Slot = s.slot.id
	c.Info.Flags = pkcs11.CKF_SERIAL_SESSION
	if s.rw {
		c.Info.Flags |= pkcs11.CKF_RW_SESSION
	}
	c.Info.State = state(s.rw, user)
	return pkcs11.CKR_OK
}

// state is the state of a session (PKCS#11 2.40, 2.6 "Sessions").
func state(rw bool, user int) uint64 {
	switch {
	case user == int(pkcs11.CKU_SO):
		return pkcs11.CKS_RW_SO_FUNCTIONS
	case user == int(pkcs11.CKU_USER) && rw:
		return pkcs11.CKS_RW_USER_FUNCTIONS
	case user == int(pkcs11.CKU_USER):
		return pkcs11.CKS_RO_USER_FUNCTIONS
	case rw:
		return pkcs11.CKS_RW_PUBLIC_SESSION
	}
	return pkcs11.CKS_RO_PUBLIC_SESSION
}

// holder returns the member session for session objects on this connection.
func (s *session) holder(p *group.Place) (*group.Hold, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if h := s.holders[p.Epoch()]; h != nil {
		return h, nil
	}
	h, err := p.Hold()
	if err != nil {
		return nil, err
	}
	if s.holders == nil {
		s.holders = make(map[uint64]*group.Hold)
	}
	for epoch, old := range s.holders {
		if !old.Alive() {
			delete(s.holders, epoch)
		}
	}
	s.holders[p.Epoch()] = h
	return h, nil
}
