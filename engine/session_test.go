// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"testing"

	"oneslot.dev/oneslot/member/fake"
	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/wire"
)

func TestSessionStates(t *testing.T) {
	w := begin(t, 2)
	a := w.application()
	ro, rw := w.open(a, 0), w.open(a, pkcs11.CKF_RW_SESSION)
	state := func(s uint64) uint64 {
		c := wire.GetSessionInfo{Session: s}
		w.call(a, &c, pkcs11.CKR_OK)
		return c.Info.State
	}
	if state(ro) != pkcs11.CKS_RO_PUBLIC_SESSION || state(rw) != pkcs11.CKS_RW_PUBLIC_SESSION {
		t.Error("states before the login")
	}
	w.call(a, &wire.Login{Session: ro, User: pkcs11.CKU_USER, Pin: pkcs11.PIN(pin)}, pkcs11.CKR_OK)
	if state(ro) != pkcs11.CKS_RO_USER_FUNCTIONS || state(rw) != pkcs11.CKS_RW_USER_FUNCTIONS {
		t.Error("states after the login")
	}
	w.call(a, &wire.OpenSession{Slot: w.slot}, pkcs11.CKR_SESSION_PARALLEL_NOT_SUPPORTED)
	w.call(a, &wire.OpenSession{Slot: 99, Flags: pkcs11.CKF_SERIAL_SESSION}, pkcs11.CKR_SLOT_ID_INVALID)
	w.call(a, &wire.CloseSession{Session: ro}, pkcs11.CKR_OK)
	w.call(a, &wire.CloseSession{Session: ro}, pkcs11.CKR_SESSION_HANDLE_INVALID)
	w.call(a, &wire.GenerateKey{Session: ro}, pkcs11.CKR_SESSION_HANDLE_INVALID)
}

// Field-F7: the last session that closes ends the login.
func TestLastSessionEndsTheLogin(t *testing.T) {
	w := begin(t, 2)
	a := w.application()
	s, other := w.loggedIn(a), w.open(a, 0)
	w.call(a, &wire.CloseSession{Session: s}, pkcs11.CKR_OK)
	w.call(a, &wire.Login{Session: other, User: pkcs11.CKU_USER, Pin: pkcs11.PIN(pin)}, pkcs11.CKR_USER_ALREADY_LOGGED_IN)
	w.call(a, &wire.CloseAllSessions{Slot: w.slot}, pkcs11.CKR_OK)
	s = w.open(a, 0)
	w.call(a, &wire.Logout{Session: s}, pkcs11.CKR_USER_NOT_LOGGED_IN)
	w.loggedIn(a)
}

// Field-F7: the last session is closed while its C_Login is under way. Who opens one later
// is not logged in.
func TestLastSessionIsClosedDuringTheLogin(t *testing.T) {
	w := begin(t, 1)
	a := w.application()
	s := w.open(a, pkcs11.CKF_RW_SESSION)
	working, goOn := make(chan struct{}), make(chan struct{})
	w.members["a"].Script(func(c wire.Call) fake.Outcome {
		if c.Number() == wire.NumberLogin {
			working <- struct{}{}
			<-goOn
		}
		return fake.Answered
	})
	done := make(chan pkcs11.RV)
	go func() {
		c := wire.Login{Session: s, User: pkcs11.CKU_USER, Pin: pkcs11.PIN(pin)}
		wire.DispatchCryptoki(t.Context(), a, &c)
		done <- c.RV
	}()
	<-working
	w.members["a"].Script(nil)
	w.call(a, &wire.CloseSession{Session: s}, pkcs11.CKR_OK)
	close(goOn)
	if rv := <-done; rv != pkcs11.CKR_SESSION_CLOSED {
		t.Errorf("C_Login: %v", rv)
	}
	info := wire.GetSessionInfo{Session: w.open(a, pkcs11.CKF_RW_SESSION)}
	w.call(a, &info, pkcs11.CKR_OK)
	if info.Info.State != pkcs11.CKS_RW_PUBLIC_SESSION {
		t.Errorf("a session that was opened later is in state %d", info.Info.State)
	}
}

func TestLoginRules(t *testing.T) {
	w := begin(t, 3)
	a := w.application()
	ro := w.open(a, 0)
	login := func(user uint64, pin pkcs11.PIN, want pkcs11.RV) {
		t.Helper()
		w.call(a, &wire.Login{Session: ro, User: user, Pin: pin}, want)
	}
	login(pkcs11.CKU_SO, pkcs11.PIN(pin), pkcs11.CKR_SESSION_READ_ONLY_EXISTS)
	login(7, pkcs11.PIN(pin), pkcs11.CKR_USER_TYPE_INVALID)
	login(pkcs11.CKU_CONTEXT_SPECIFIC, pkcs11.PIN(pin), pkcs11.CKR_OPERATION_NOT_INITIALIZED)
	login(pkcs11.CKU_USER, nil, pkcs11.CKR_ARGUMENTS_BAD)
	login(pkcs11.CKU_USER, pkcs11.PIN("0000"), pkcs11.CKR_PIN_INCORRECT)
	login(pkcs11.CKU_USER, pkcs11.PIN(pin), pkcs11.CKR_OK)
	login(pkcs11.CKU_USER, pkcs11.PIN(pin), pkcs11.CKR_USER_ALREADY_LOGGED_IN)
	login(pkcs11.CKU_SO, pkcs11.PIN(pin), pkcs11.CKR_SESSION_READ_ONLY_EXISTS)
	w.call(a, &wire.Logout{Session: ro}, pkcs11.CKR_OK)
	w.call(a, &wire.Logout{Session: ro}, pkcs11.CKR_USER_NOT_LOGGED_IN)
}

// G7, field-M1: administrative calls on a group reach no member.
func TestAdministrationIsRefused(t *testing.T) {
	w := begin(t, 2)
	a := w.application()
	w.call(a, &wire.InitToken{Slot: w.slot, Pin: pkcs11.PIN("so")}, pkcs11.CKR_FUNCTION_NOT_SUPPORTED)
	s := w.loggedIn(a)
	w.call(a, &wire.InitPIN{Session: s, Pin: pkcs11.PIN("x")}, pkcs11.CKR_FUNCTION_NOT_SUPPORTED)
	for name, m := range w.members {
		if n := m.Token.Executed(wire.NumberInitToken) + m.Token.Executed(wire.NumberInitPIN); n > 0 {
			t.Errorf("member %s ran %d of them", name, n)
		}
	}
}

// G3, field-E1: what a slot says of itself does not depend on its members.
func TestIdentityOfTheSlot(t *testing.T) {
	w := begin(t, 3)
	one := w.application()
	info := wire.GetTokenInfo{Slot: w.slot}
	w.call(one, &info, pkcs11.CKR_OK)
	w.members["a"].Down()
	w.members["b"].Down()
	other := w.application()
	again := wire.GetTokenInfo{Slot: w.slot}
	w.call(other, &again, pkcs11.CKR_OK)
	if info.Info != again.Info {
		t.Errorf("token info with all members:\n%+v\nwith one:\n%+v", info.Info, again.Info)
	}
}

// Field-H6: the loss of the last member is an event, and so is its return.
func TestSlotEvents(t *testing.T) {
	w := begin(t, 2)
	a := w.application()
	w.call(a, &wire.WaitForSlotEvent{Flags: pkcs11.CKF_DONT_BLOCK}, pkcs11.CKR_NO_EVENT)
	w.members["a"].Down()
	w.members["b"].Down()
	event := wire.WaitForSlotEvent{}
	w.call(a, &event, pkcs11.CKR_OK)
	if event.Slot != w.slot {
		t.Errorf("slot %x", event.Slot)
	}
	w.members["b"].Up()
	w.call(a, &wire.WaitForSlotEvent{}, pkcs11.CKR_OK)
	ended := make(chan pkcs11.RV)
	go func() {
		c := wire.WaitForSlotEvent{}
		wire.DispatchCryptoki(a.ctx, a, &c)
		ended <- c.RV
	}()
	a.stop()
	if rv := <-ended; rv != pkcs11.CKR_CRYPTOKI_NOT_INITIALIZED {
		t.Errorf("waiting when the application ends: %v", rv)
	}
}

// Field-F4: the PIN changes on all members or on none.
func TestSetPINNeedsAllMembers(t *testing.T) {
	w := begin(t, 2)
	a := w.application()
	s := w.loggedIn(a)
	w.members["b"].Script(func(c wire.Call) fake.Outcome {
		if c.Number() == wire.NumberSetPIN {
			return fake.LostBefore
		}
		return fake.Answered
	})
	w.call(a, &wire.SetPIN{Session: s, Old: pkcs11.PIN(pin), New: pkcs11.PIN("9999")}, pkcs11.CKR_DEVICE_ERROR)
	if p := w.members["a"].Token.PIN(); p != pin {
		t.Error("the first member kept the new PIN")
	}
	w.members["b"].Script(nil)
	w.allReady(a)
	w.call(a, &wire.SetPIN{Session: s, Old: pkcs11.PIN(pin), New: pkcs11.PIN("9999")}, pkcs11.CKR_OK)
	w.members["a"].Down()
	w.members["a"].Up()
	w.until("the member is back with the new PIN", func() bool {
		return a.slots[0].group.Snapshot().Members[0].State.String() == "ready"
	})
}

// H6: virtual sessions cost the members nothing until they need one.
func TestManySessionsCostNothing(t *testing.T) {
	w := begin(t, 2)
	a := w.application()
	before := w.members["a"].Sessions() + w.members["b"].Sessions()
	handles := map[uint64]bool{}
	for range 10_000 {
		handles[w.open(a, 0)] = true
	}
	if len(handles) != 10_000 {
		t.Errorf("%d different handles for 10000 sessions", len(handles))
	}
	if n := w.members["a"].Sessions() + w.members["b"].Sessions() - before; n > 2 {
		t.Errorf("%d member sessions were opened for them", n)
	}
	w.call(a, &wire.CloseAllSessions{Slot: w.slot}, pkcs11.CKR_OK)
}
