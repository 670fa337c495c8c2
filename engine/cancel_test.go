// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"testing"

	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/wire"
)

// Field-J4: an operation that was begun and is not wanted any more does not
// stay active.
func TestOperationsCanBeCancelled(t *testing.T) {
	w := begin(t, 2)
	a := w.application()
	s := w.loggedIn(a)
	key := w.generate(a, s, "k", true)
	room := wire.Room{Capacity: 64}
	none := pkcs11.Mechanism{Absent: true}
	w.call(a, &wire.SignInit{Session: s, Key: key}, pkcs11.CKR_OK)
	w.call(a, &wire.DigestInit{Session: s}, pkcs11.CKR_OK)
	w.call(a, &wire.FindObjectsInit{Session: s}, pkcs11.CKR_OK)

	w.call(a, &wire.SessionCancel{Session: 12345}, pkcs11.CKR_SESSION_HANDLE_INVALID)
	w.call(a, &wire.SessionCancel{Session: s}, pkcs11.CKR_OK) // no flag, no change
	w.call(a, &wire.SessionCancel{Session: s, Flags: pkcs11.CKF_SIGN | pkcs11.CKF_VERIFY | pkcs11.CKF_GENERATE}, pkcs11.CKR_OK)
	w.call(a, &wire.Sign{Session: s, SignatureRoom: room}, pkcs11.CKR_OPERATION_NOT_INITIALIZED)
	w.call(a, &wire.FindObjects{Session: s, ObjectsRoom: room}, pkcs11.CKR_OK)
	w.call(a, &wire.SessionCancel{Session: s, Flags: pkcs11.CKF_FIND_OBJECTS}, pkcs11.CKR_OK)
	w.call(a, &wire.FindObjects{Session: s, ObjectsRoom: room}, pkcs11.CKR_OPERATION_NOT_INITIALIZED)
	w.call(a, &wire.DigestInit{Session: s}, pkcs11.CKR_OPERATION_ACTIVE) // was not meant

	w.call(a, &wire.DigestInit{Session: s, Mechanism: none}, pkcs11.CKR_OK)
	w.call(a, &wire.DigestInit{Session: s, Mechanism: none}, pkcs11.CKR_ARGUMENTS_BAD)
	w.call(a, &wire.SignInit{Session: s, Key: key}, pkcs11.CKR_OK)
	w.call(a, &wire.SignInit{Session: s, Mechanism: none}, pkcs11.CKR_OK)
	w.call(a, &wire.SignInit{Session: s, Key: key}, pkcs11.CKR_OK)
}

// A call of another thread that is under way cannot be cancelled.
func TestBusyOperationCannotBeCancelled(t *testing.T) {
	w := begin(t, 1)
	a := w.application()
	s := w.loggedIn(a)
	w.call(a, &wire.SignInit{Session: s, Key: w.generate(a, s, "k", true)}, pkcs11.CKR_OK)
	session, op, _ := a.claim(s, signing)
	w.call(a, &wire.SessionCancel{Session: s, Flags: pkcs11.CKF_SIGN}, pkcs11.CKR_OPERATION_CANCEL_FAILED)
	session.finish(op, true)
	w.call(a, &wire.SessionCancel{Session: s, Flags: pkcs11.CKF_SIGN}, pkcs11.CKR_OK)
}

func TestLoginUserHasNoName(t *testing.T) {
	w := begin(t, 2)
	a := w.application()
	s := w.open(a, 0)
	login := func(session uint64, p, name string, want pkcs11.RV) {
		t.Helper()
		w.call(a, &wire.LoginUser{Session: session, User: pkcs11.CKU_USER, Pin: pkcs11.PIN(p), Username: wire.Data([]byte(name))}, want)
	}
	login(12345, pin, "", pkcs11.CKR_SESSION_HANDLE_INVALID)
	login(s, pin, "somebody", pkcs11.CKR_ARGUMENTS_BAD)
	login(s, "wrong", "", pkcs11.CKR_PIN_INCORRECT)
	login(s, pin, "", pkcs11.CKR_OK)
	login(s, pin, "", pkcs11.CKR_USER_ALREADY_LOGGED_IN)
}

// What follows a change of label goes by the handle that the application has,
// in searches as well.
func TestHandleStaysOverANewLabel(t *testing.T) {
	w := begin(t, 2)
	a := w.application()
	s := w.loggedIn(a)
	key := w.generate(a, s, "old", true)
	w.call(a, &wire.SetAttributeValue{Session: s, Object: key, Template: pkcs11.Template{pkcs11.Bytes(pkcs11.CKA_LABEL, []byte("new"))}}, pkcs11.CKR_OK)
	if found := w.find(a, s); len(found) != 1 || found[0] != key {
		t.Errorf("found %v, want %d", found, key)
	}
	w.call(a, &wire.DestroyObject{Session: s, Object: key}, pkcs11.CKR_OK)
	again := w.generate(a, s, "new", true)
	if found := w.find(a, s); len(found) != 1 || found[0] != again {
		t.Errorf("found %v, want %d", found, again)
	}
}
