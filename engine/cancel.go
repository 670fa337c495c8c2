// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"maps"
	"slices"

	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/wire"
)

// cancelFlags says which operations a flag of C_SessionCancel means.
var cancelFlags = [kinds]uint64{
	encrypting:       pkcs11.CKF_ENCRYPT,
	decrypting:       pkcs11.CKF_DECRYPT,
	digesting:        pkcs11.CKF_DIGEST,
	signing:          pkcs11.CKF_SIGN,
	verifying:        pkcs11.CKF_VERIFY,
	signRecovering:   pkcs11.CKF_SIGN_RECOVER,
	verifyRecovering: pkcs11.CKF_VERIFY_RECOVER,
}

// SessionCancel is C_SessionCancel (PKCS#11 3.0, 5.6.5). Flags of operations
// that are not active, or that oneslot does not have, are ignored.
func (a *application) SessionCancel(_ context.Context, c *wire.SessionCancel) pkcs11.RV {
	s, rv := a.session(c.Session)
	if rv != pkcs11.CKR_OK {
		return rv
	}
	result := pkcs11.CKR_OK
	for k, flag := range cancelFlags {
		if c.Flags&flag == 0 {
			continue
		}
		if rv := s.cancel(kind(k)); rv == pkcs11.CKR_OPERATION_CANCEL_FAILED {
			result = rv
		}
	}
	if c.Flags&pkcs11.CKF_FIND_OBJECTS != 0 {
		s.mu.Lock()
		s.search = nil
		s.mu.Unlock()
	}
	return result
}

// unheard ends what a call has begun whose answer did not reach the application. That
// took it for failed, with CKR_DEVICE_ERROR, after which nothing is active: its next Init
// would find CKR_OPERATION_ACTIVE for what it knows nothing of.
func (a *application) unheard(call wire.Call) {
	a.mu.Lock()
	sessions := slices.Collect(maps.Values(a.sessions))
	a.mu.Unlock()
	for _, s := range sessions {
		s.mu.Lock()
		if s.search != nil && s.search.by == call {
			s.search = nil
		}
		for k, op := range s.active {
			if op != nil && op.by == call && !op.busy {
				op.abandon()
				s.active[k] = nil
			}
		}
		s.mu.Unlock()
	}
}

// cancel ends the session's operation of a kind. The call of another thread
// that works on it cannot be taken back.
func (s *session) cancel(k kind) pkcs11.RV {
	s.mu.Lock()
	defer s.mu.Unlock()
	op := s.active[k]
	switch {
	case op == nil:
		return pkcs11.CKR_OPERATION_NOT_INITIALIZED
	case op.busy:
		return pkcs11.CKR_OPERATION_CANCEL_FAILED
	}
	op.abandon()
	s.active[k] = nil
	return pkcs11.CKR_OK
}

// cancelByInit is an Init without a mechanism: it ends the active operation
// (PKCS#11 3.0, 5.8.1 and its like). Where none is active, it is the mistake
// that it was in 2.40.
func (s *session) cancelByInit(k kind) pkcs11.RV {
	rv := s.cancel(k)
	if rv == pkcs11.CKR_OPERATION_NOT_INITIALIZED {
		rv = pkcs11.CKR_ARGUMENTS_BAD
	}
	return rv
}
