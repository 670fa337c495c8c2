// SPDX-License-Identifier: Apache-2.0

package group

import (
	"errors"
	"testing"

	"oneslot.dev/oneslot/member"
	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/wire"
)

// TestJudge is the table in Judge's comment (field-A10).
func TestJudge(t *testing.T) {
	lost := &member.Fault{Sent: true, Err: errors.New("x")}
	unsent := &member.Fault{Err: errors.New("x")}
	for _, c := range []struct {
		name     string
		rv       pkcs11.RV
		err      error
		ask, mak Verdict
	}{
		{"answered", pkcs11.CKR_OK, nil, Return, Return},
		{"request at fault", pkcs11.CKR_DATA_LEN_RANGE, nil, Return, Return},
		{"wrong PIN", pkcs11.CKR_PIN_INCORRECT, nil, Return, Return},
		{"member short of sessions", pkcs11.CKR_SESSION_COUNT, nil, TryNext, TryNext},
		{"either may be", pkcs11.CKR_FUNCTION_FAILED, nil, Doubt, Return},
		{"vendor's own code", pkcs11.CKR_VENDOR_DEFINED + 26, nil, Doubt, Return},
		{"an Update without parts", pkcs11.CKR_OPERATION_NOT_INITIALIZED, nil, Doubt, Return},
		{"device at fault", pkcs11.CKR_DEVICE_ERROR, nil, DropTry, DropEnd},
		{"object not here", 0, ErrElsewhere, TryNext, TryNext},
		{"not sent", 0, unsent, DropTry, DropTry},
		{"answer of another form", 0, NewUnlike("x"), Expel, Expel},
		{"answer lost", 0, lost, DropTry, DropEnd},
	} {
		for class, want := range map[wire.Class]Verdict{wire.Ask: c.ask, wire.Use: c.ask, wire.Make: c.mak} {
			if got := Judge(class, c.rv, true, c.err); got != want {
				t.Errorf("%s, class %d: verdict %d, want %d", c.name, class, got, want)
			}
		}
	}
	if got := Judge(wire.Use, pkcs11.CKR_USER_NOT_LOGGED_IN, false, nil); got != Return {
		t.Errorf("not logged in, and nobody is: verdict %d", got)
	}
	if got := Judge(wire.Use, pkcs11.CKR_USER_NOT_LOGGED_IN, true, nil); got != DropTry {
		t.Errorf("not logged in, but the group is: verdict %d", got)
	}
}

// TestRequestErrorsNeverCountAgainstAMember reads F6, field-A10 over every return value:
// what is not named as a failure of the device or unclear is the request's.
func TestRequestErrorsNeverCountAgainstAMember(t *testing.T) {
	failures := 0
	for rv := pkcs11.RV(0); rv < 0x400; rv++ {
		if blame(rv, true) != request {
			failures++
		}
	}
	if failures != 23 {
		t.Errorf("%d of the standard's return values count against a member, want 23: was one added without thought?", failures)
	}
}
