// SPDX-License-Identifier: Apache-2.0

package group

import (
	"errors"

	"oneslot.dev/oneslot/member"
	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/wire"
)

// ErrElsewhere is the error of an attempt that found the object it needs
// missing on this member. It says nothing against the member, and nothing
// about the object (rule H3, field-D4).
var ErrElsewhere = errors.New("the object is not on this member")

// A Verdict is what follows one attempt.
type Verdict uint8

// The verdicts.
const (
	Return  Verdict = iota // the answer is the application's
	TryNext                // another member is asked; this one did nothing wrong
	Doubt                  // another member is asked; if it succeeds, this one was at fault
	DropTry                // this member has failed; another one is asked
	DropEnd                // this member has failed, and what it did is not known
	Expel                  // another member is asked; this one is left out until an operator has acted
)

// Judge decides what follows one attempt. It is the whole failover policy.
//
//	                              Ask, Use   Make
//	answered, request at fault    Return     Return
//	answered, member short of     TryNext    TryNext
//	answered, either may be       Doubt      Return
//	answered, device at fault     DropTry    DropEnd
//	object is not here            TryNext    TryNext
//	not sent                      DropTry    DropTry
//	answer lost                   DropTry    DropEnd
//	answer of another form        Expel      Expel
func Judge(class wire.Class, rv pkcs11.RV, loggedIn bool, err error) Verdict {
	var fault *member.Fault
	switch {
	case errors.As(err, &fault):
		if !fault.Sent || class.Repeatable() {
			return DropTry
		}
		return DropEnd
	case errors.As(err, new(*mismatch)):
		return Expel
	case err != nil:
		return TryNext
	}
	switch blame(rv, loggedIn) {
	case short:
		return TryNext
	case unclear:
		if class.Repeatable() {
			return Doubt
		}
	case device:
		if class.Repeatable() {
			return DropTry
		}
		return DropEnd
	}
	return Return
}

// whose says who is to blame for a return value.
type whose uint8

const (
	request whose = iota // the application asked for what cannot be (F6)
	short                // the member lacks sessions just now (H6)
	unclear              // vendors use it for both
	device               // the member must be built up anew
)

// blame sorts the return values of members (field-A10). What is not named is
// the request's own fault, and never counts against the member (F6).
func blame(rv pkcs11.RV, loggedIn bool) whose {
	switch rv {
	case pkcs11.CKR_SESSION_COUNT, pkcs11.CKR_TOKEN_RESOURCE_EXCEEDED:
		return short
	case pkcs11.CKR_GENERAL_ERROR, pkcs11.CKR_FUNCTION_FAILED, pkcs11.CKR_HOST_MEMORY, pkcs11.CKR_DEVICE_MEMORY,
		pkcs11.CKR_FUNCTION_CANCELED, pkcs11.CKR_FUNCTION_REJECTED,
		// SoftHSM says so to an Update with a mechanism that has no parts.
		pkcs11.CKR_OPERATION_NOT_INITIALIZED,
		pkcs11.CKR_OBJECT_HANDLE_INVALID, pkcs11.CKR_KEY_HANDLE_INVALID:
		return unclear
	case pkcs11.CKR_DEVICE_ERROR, pkcs11.CKR_DEVICE_REMOVED, pkcs11.CKR_TOKEN_NOT_PRESENT, pkcs11.CKR_TOKEN_NOT_RECOGNIZED,
		pkcs11.CKR_SESSION_HANDLE_INVALID, pkcs11.CKR_SESSION_CLOSED, pkcs11.CKR_SLOT_ID_INVALID,
		pkcs11.CKR_CRYPTOKI_NOT_INITIALIZED,
		pkcs11.CKR_CANT_LOCK, pkcs11.CKR_MUTEX_BAD, pkcs11.CKR_MUTEX_NOT_LOCKED:
		return device
	case pkcs11.CKR_USER_NOT_LOGGED_IN:
		// The group's login is on every ready member, so one that says
		// otherwise has lost it.
		if loggedIn {
			return device
		}
	}
	if rv >= pkcs11.CKR_VENDOR_DEFINED {
		return unclear
	}
	return request
}

// orNil is rv as an error, nil for CKR_OK.
func orNil(rv pkcs11.RV) error {
	if rv == pkcs11.CKR_OK {
		return nil
	}
	return rv
}
