// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"

	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/wire"
)

// Login is C_Login. The login belongs to the application, not to the session
// (PKCS#11 2.40, 2.6). A wrong PIN costs one try on one member (rule F7).
func (a *application) Login(_ context.Context, c *wire.Login) pkcs11.RV {
	s, rv := a.session(c.Session)
	if rv != pkcs11.CKR_OK {
		return rv
	}
	if c.Pin == nil && !s.slot.ownPINPad() {
		return pkcs11.CKR_ARGUMENTS_BAD
	}
	switch c.User {
	case pkcs11.CKU_SO, pkcs11.CKU_USER:
		return s.login(c.User, c.Pin)
	case pkcs11.CKU_CONTEXT_SPECIFIC:
		return s.loginContext(c.Pin)
	}
	return pkcs11.CKR_USER_TYPE_INVALID
}

// LoginUser is C_LoginUser. The tokens have one user without a name, so that
// any other name is wrong (PKCS#11 3.0, 5.6.9: "the token may impose subset
// restrictions" on names).
func (a *application) LoginUser(ctx context.Context, c *wire.LoginUser) pkcs11.RV {
	if _, rv := a.session(c.Session); rv != pkcs11.CKR_OK {
		return rv
	}
	if c.Username.Len() != 0 {
		return pkcs11.CKR_ARGUMENTS_BAD
	}
	return a.Login(ctx, &wire.Login{Session: c.Session, User: c.User, Pin: c.Pin})
}

func (s *session) login(kind uint64, pin pkcs11.PIN) pkcs11.RV {
	sl := s.slot
	sl.turn <- struct{}{}
	defer func() { <-sl.turn }()
	sl.mu.Lock()
	user, readers := sl.user, sl.sessions-sl.rw
	sl.mu.Unlock()
	switch {
	case kind == pkcs11.CKU_SO && readers > 0:
		return pkcs11.CKR_SESSION_READ_ONLY_EXISTS
	case user == int(kind):
		return pkcs11.CKR_USER_ALREADY_LOGGED_IN
	case user != nobody:
		return pkcs11.CKR_USER_ANOTHER_ALREADY_LOGGED_IN
	}
	if rv := sl.group.Login(kind, pin); rv != pkcs11.CKR_OK {
		return rv
	}
	sl.mu.Lock()
	open := sl.sessions > 0
	if open {
		sl.user = int(kind)
	}
	sl.mu.Unlock()
	if !open { // the last one was closed meanwhile, and a login ends with that (field-F7)
		sl.group.Logout()
		return pkcs11.CKR_SESSION_CLOSED
	}
	return pkcs11.CKR_OK
}

// ownPINPad is whether a member takes its PIN by a path of its own.
func (s *slot) ownPINPad() bool {
	for _, d := range s.about() {
		if d.Token.Flags&pkcs11.CKF_PROTECTED_AUTHENTICATION_PATH != 0 {
			return true
		}
	}
	return false
}

// loginContext unlocks a key that wants its PIN for each use. The PIN goes to
// the member that the operation is bound to, once, and is not kept (field-F8).
func (s *session) loginContext(pin pkcs11.PIN) pkcs11.RV {
	s.mu.Lock()
	var op *operation
	for _, candidate := range s.active {
		if candidate != nil && candidate.hold != nil && candidate.bound() {
			op = candidate
		}
	}
	if op == nil {
		s.mu.Unlock()
		return pkcs11.CKR_OPERATION_NOT_INITIALIZED
	}
	if op.busy {
		s.mu.Unlock()
		return pkcs11.CKR_OPERATION_ACTIVE
	}
	op.busy = true
	hold := op.hold
	s.mu.Unlock()
	call := wire.Login{User: pkcs11.CKU_CONTEXT_SPECIFIC, Pin: pin}
	_, err := hold.Do(&call)
	s.finish(op, err == nil)
	if err != nil {
		return pkcs11.CKR_DEVICE_ERROR
	}
	return call.RV
}

// Logout is C_Logout.
func (a *application) Logout(_ context.Context, c *wire.Logout) pkcs11.RV {
	s, rv := a.session(c.Session)
	if rv != pkcs11.CKR_OK {
		return rv
	}
	return s.slot.logout()
}

// logout ends the login of the application: operations with private objects
// end, and their handles mean nothing any more (PKCS#11 2.40, C_Logout).
func (s *slot) logout() pkcs11.RV {
	s.turn <- struct{}{}
	defer func() { <-s.turn }()
	s.mu.Lock()
	if s.user == nobody {
		s.mu.Unlock()
		return pkcs11.CKR_USER_NOT_LOGGED_IN
	}
	s.user = nobody
	s.mu.Unlock()
	s.app.endPrivate(s)
	s.objects.forgetPrivate()
	return s.group.Logout()
}

// endPrivate ends the operations of a slot that use private objects. One that a call of
// another thread is just working on ends with that call.
func (a *application) endPrivate(sl *slot) {
	a.mu.RLock()
	defer a.mu.RUnlock()
	for _, s := range a.sessions {
		if s.slot != sl {
			continue
		}
		s.mu.Lock()
		for kind, op := range s.active {
			if op != nil && op.key != nil && op.key.id.Flags&wire.Private != 0 {
				if !op.busy {
					op.abandon()
				}
				s.active[kind] = nil
			}
		}
		s.mu.Unlock()
	}
}
