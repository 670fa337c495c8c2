// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"testing"

	"oneslot.dev/oneslot/member/fake"
	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/wire"
)

// H1, H4, field-B1: one object, one handle, found as it was created; the same in
// a later application, as Apache's children need it.
func TestHandlesAreStable(t *testing.T) {
	w := begin(t, 2)
	a := w.application()
	s := w.loggedIn(a)
	key := w.generate(a, s, "k", true)
	for range 3 {
		if found := w.find(a, s); len(found) != 1 || found[0] != key {
			t.Fatalf("created %x, found %x", key, found)
		}
		w.members["a"].Down()
		w.members["a"].Up()
	}
	later := w.application()
	s = w.loggedIn(later)
	if w.sign(later, s, key) == "" { // without a search before
		t.Error("the handle means nothing later")
	}
	w.call(later, &wire.SignInit{Session: s, Key: key + 1}, pkcs11.CKR_KEY_HANDLE_INVALID)
}

// Field-C10: twins by label and ID are two objects, each found once.
func TestTwinsAreKeptApart(t *testing.T) {
	w := begin(t, 3)
	a := w.application()
	s := w.loggedIn(a)
	one, two := w.generate(a, s, "same", true), w.generate(a, s, "same", true)
	if found := w.find(a, s); len(found) != 2 || one == two {
		t.Errorf("found %x", found)
	}
	first := w.sign(a, s, one)
	w.call(a, &wire.DestroyObject{Session: s, Object: one}, pkcs11.CKR_OK)
	if found := w.find(a, s); len(found) != 1 || found[0] != two {
		t.Errorf("after one was destroyed: %x, want %x", found, two)
	}
	if w.sign(a, s, two) == first {
		t.Error("the other one was destroyed")
	}
	w.call(a, &wire.SignInit{Session: s, Key: one}, pkcs11.CKR_KEY_HANDLE_INVALID)
}

// K9, field-I4: a session object works on every member, survives the one that
// made it, and goes with its session.
func TestSessionObjects(t *testing.T) {
	w := begin(t, 3)
	a := w.application()
	s, other := w.loggedIn(a), w.open(a, 0)
	key := w.generate(a, s, "session", false)
	whose := w.sign(a, other, key)
	for _, lost := range []string{"a", "b", "c"} {
		for range 6 {
			if w.sign(a, other, key) != whose {
				t.Fatal("another key signs")
			}
		}
		w.members[lost].Down()
		w.sign(a, other, key)
		w.members[lost].Up()
		w.allReady(a)
	}
	w.call(a, &wire.CloseSession{Session: s}, pkcs11.CKR_OK)
	w.call(a, &wire.SignInit{Session: other, Key: key}, pkcs11.CKR_KEY_HANDLE_INVALID)
	for name, m := range w.members {
		if keys := m.Token.Keys(); len(keys) > 0 {
			t.Errorf("member %s keeps %v", name, keys)
		}
	}
}

// Field-F2: after C_Logout private objects cannot be used.
func TestLogoutHidesPrivateObjects(t *testing.T) {
	w := begin(t, 2)
	a := w.application()
	s := w.loggedIn(a)
	key := w.generate(a, s, "k", true)
	w.call(a, &wire.SignInit{Session: s, Key: key}, pkcs11.CKR_OK)
	w.call(a, &wire.Logout{Session: s}, pkcs11.CKR_OK)
	w.call(a, &wire.Sign{Session: s, SignatureRoom: wire.Room{Capacity: 64}}, pkcs11.CKR_OPERATION_NOT_INITIALIZED)
	w.call(a, &wire.SignInit{Session: s, Key: key}, pkcs11.CKR_KEY_HANDLE_INVALID)
	if found := w.find(a, s); len(found) > 0 {
		t.Errorf("found %x", found)
	}
}

// K9, field-F2: private session objects end with the login, for good: no later search
// brings them back to a member.
func TestLogoutEndsPrivateSessionObjects(t *testing.T) {
	w := begin(t, 2)
	a := w.application()
	s := w.loggedIn(a)
	key := w.generate(a, s, "k", false)
	w.call(a, &wire.Logout{Session: s}, pkcs11.CKR_OK)
	w.call(a, &wire.SignInit{Session: s, Key: key}, pkcs11.CKR_KEY_HANDLE_INVALID)
	w.call(a, &wire.Login{Session: s, User: pkcs11.CKU_USER, Pin: pkcs11.PIN(pin)}, pkcs11.CKR_OK)
	for _, m := range w.members {
		m.Script(func(c wire.Call) fake.Outcome {
			if c.Number() == wire.NumberImport {
				t.Error("it is brought to a member again")
			}
			return fake.Answered
		})
	}
	if found := w.find(a, s); len(found) > 0 {
		t.Errorf("found %x", found)
	}
	if all := a.slots[0].objects.sessionObjects(); len(all) > 0 {
		t.Errorf("the engine keeps %d of them", len(all))
	}
}

// Field-F2: what another thread is just doing with a private key when the application
// logs out ends with its call.
func TestLogoutInTheMiddleOfAPart(t *testing.T) {
	w := begin(t, 1)
	a := w.application()
	s := w.loggedIn(a)
	key := w.generate(a, s, "k", true)
	w.call(a, &wire.EncryptInit{Session: s, Key: key}, pkcs11.CKR_OK)
	working, goOn := make(chan struct{}), make(chan struct{})
	w.members["a"].Script(func(c wire.Call) fake.Outcome {
		if c.Number() == wire.NumberEncryptUpdate {
			close(working)
			<-goOn
		}
		return fake.Answered
	})
	part := func() pkcs11.RV {
		c := wire.EncryptUpdate{Session: s, Part: wire.Data([]byte("data")), EncryptedRoom: wire.Room{Capacity: 64}}
		wire.DispatchCryptoki(t.Context(), a, &c)
		return c.RV
	}
	done := make(chan pkcs11.RV)
	go func() { done <- part() }()
	<-working
	w.members["a"].Script(nil)
	w.call(a, &wire.Logout{Session: s}, pkcs11.CKR_OK)
	close(goOn)
	<-done
	if rv := part(); rv != pkcs11.CKR_OPERATION_NOT_INITIALIZED {
		t.Errorf("after the logout the operation goes on: %v", rv)
	}
}

// Field-G8: a search that nobody can answer is an error, never an empty result.
func TestSearchWithoutMembersFails(t *testing.T) {
	w := begin(t, 2, `probe_interval = "100ms"`, `probe_timeout = "200ms"`)
	a := w.application()
	s := w.loggedIn(a)
	w.generate(a, s, "k", true)
	w.members["a"].Down()
	w.members["b"].Down()
	w.call(a, &wire.FindObjectsInit{Session: s}, pkcs11.CKR_DEVICE_ERROR)
	w.members["b"].Up()
	w.until("found again", func() bool {
		c := wire.FindObjectsInit{Session: s}
		wire.DispatchCryptoki(t.Context(), a, &c)
		return c.RV == pkcs11.CKR_OK
	})
}

// Field-C15: keys that count their signatures are refused (K8).
func TestStatefulKeysAreRefused(t *testing.T) {
	w := begin(t, 2)
	a := w.application()
	s := w.loggedIn(a)
	for _, kind := range []uint64{pkcs11.CKK_HSS, pkcs11.CKK_XMSS, pkcs11.CKK_XMSSMT} {
		w.call(a, &wire.GenerateKey{Session: s, Template: pkcs11.Template{pkcs11.Ulong(pkcs11.CKA_KEY_TYPE, kind)}}, pkcs11.CKR_ATTRIBUTE_VALUE_INVALID)
	}
}

func TestReadOnlySessionsCreateNoTokenObjects(t *testing.T) {
	w := begin(t, 2)
	a := w.application()
	s := w.loggedIn(a)
	key := w.generate(a, s, "k", true)
	ro := w.open(a, 0)
	w.call(a, &wire.GenerateKey{Session: ro, Template: pkcs11.Template{pkcs11.Bool(pkcs11.CKA_TOKEN, true)}}, pkcs11.CKR_SESSION_READ_ONLY)
	w.call(a, &wire.DestroyObject{Session: ro, Object: key}, pkcs11.CKR_SESSION_READ_ONLY)
	w.call(a, &wire.SetAttributeValue{Session: ro, Object: key, Template: pkcs11.Template{pkcs11.Bytes(pkcs11.CKA_LABEL, nil)}}, pkcs11.CKR_SESSION_READ_ONLY)
	w.generate(a, ro, "session", false)
}

// What oneslot reads in a template it also has to check.
func TestTruthValuesHaveTheirSize(t *testing.T) {
	w := begin(t, 2)
	a := w.application()
	s := w.loggedIn(a)
	for _, kind := range []pkcs11.AttributeType{pkcs11.CKA_TOKEN, pkcs11.CKA_SENSITIVE, pkcs11.CKA_EXTRACTABLE, pkcs11.CKA_CLASS} {
		wrong := pkcs11.Template{pkcs11.Bytes(kind, []byte{1, 0})}
		w.call(a, &wire.GenerateKey{Session: s, Template: wrong}, pkcs11.CKR_ATTRIBUTE_VALUE_INVALID)
	}
	key := w.generate(a, s, "k", true)
	w.call(a, &wire.SetAttributeValue{Session: s, Object: key}, pkcs11.CKR_ARGUMENTS_BAD)
	w.call(a, &wire.SetAttributeValue{Session: s, Object: key, Template: pkcs11.Template{}}, pkcs11.CKR_OK)
	w.call(a, &wire.GetAttributeValue{Session: s, Object: key}, pkcs11.CKR_ARGUMENTS_BAD)
	w.call(a, &wire.GetAttributeValue{Session: s, Object: key, Query: wire.Query{}}, pkcs11.CKR_OK)
}
