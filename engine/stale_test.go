// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"
	"testing"

	"oneslot.dev/oneslot/member/fake"
	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/wire"
)

// called makes a token object of the value that all twins have, with a label.
func (w *world) called(a *application, s uint64, label, date string) uint64 {
	w.Helper()
	c := wire.CreateObject{Session: s, Template: pkcs11.Template{pkcs11.Bool(pkcs11.CKA_TOKEN, true),
		pkcs11.Bytes(pkcs11.CKA_VALUE, []byte("twin")), pkcs11.Bytes(pkcs11.CKA_LABEL, []byte(label)),
		pkcs11.Bytes(pkcs11.CKA_START_DATE, []byte(date))}}
	w.call(a, &c, pkcs11.CKR_OK)
	return c.Object
}

// dated is the object that an application finds with a date.
func (w *world) dated(a *application, s uint64, date string) uint64 {
	w.Helper()
	for _, o := range w.find(a, s) {
		if w.date(a, s, o) == date {
			return o
		}
	}
	w.Fatalf("nothing with date %q is found", date)
	return 0
}

// H1: the handle of an object that another process has destroyed does not come to mean
// an object of the same key with another label, neither on the connection that it was
// found on nor on a new one: nothing is destroyed or changed by it.
func TestAStaleHandleMeansNoOtherObjectOfTheKey(t *testing.T) {
	for _, members := range []int{1, 3} {
		for _, known := range []bool{true, false} { // whether the application has seen the other one
			for _, renewed := range []bool{true, false} {
				for _, used := range []bool{true, false} {
					t.Run(fmt.Sprintf("%d members, known %v, renewed %v, used %v", members, known, renewed, used), func(t *testing.T) {
						w := begin(t, members)
						a, other := w.application(), w.application()
						s, os := w.loggedIn(a), w.loggedIn(other)
						w.allReady(a)
						w.allReady(other)
						mine := w.called(a, s, "old", "20260101")
						w.called(other, os, "new", "20270101")
						if known {
							w.find(a, s)
						}
						w.call(other, &wire.DestroyObject{Session: os, Object: w.dated(other, os, "20260101")}, pkcs11.CKR_OK)
						if renewed {
							w.reverse(a)
							w.allReady(other)
						}
						if used {
							wire.DispatchCryptoki(t.Context(), a, &wire.SignInit{Session: s, Key: mine})
							wire.DispatchCryptoki(t.Context(), a, &wire.Sign{Session: s})
						}
						w.call(a, &wire.SetAttributeValue{Session: s, Object: mine, Template: pkcs11.Template{pkcs11.Bytes(pkcs11.CKA_START_DATE, nil)}}, pkcs11.CKR_OBJECT_HANDLE_INVALID)
						w.call(a, &wire.DestroyObject{Session: s, Object: mine}, pkcs11.CKR_OBJECT_HANDLE_INVALID)
						w.wantDates([]string{"20270101"})
						w.call(a, &wire.DestroyObject{Session: s, Object: w.dated(a, s, "20270101")}, pkcs11.CKR_OK)
						w.wantDates(nil)
					})
				}
			}
		}
	}
}

// H1, H3: of two objects that are equal in key, label and ID, one of them made by
// another process, nobody can tell on a new connection which one an application knew:
// the handle can be used, and destroys neither. A search tells.
func TestATwinThatNobodyCouldTellApart(t *testing.T) {
	for _, members := range []int{1, 3} {
		t.Run(fmt.Sprint(members, " members"), func(t *testing.T) {
			w := begin(t, members)
			a, other := w.application(), w.application()
			s, os := w.loggedIn(a), w.loggedIn(other)
			w.allReady(a)
			w.allReady(other)
			mine := w.called(a, s, "same", "20260101")
			w.called(other, os, "same", "20270101")
			w.reverse(a)
			w.allReady(other)
			if w.sign(a, s, mine) == "" {
				t.Error("no signature")
			}
			w.call(a, &wire.DestroyObject{Session: s, Object: mine}, pkcs11.CKR_OBJECT_HANDLE_INVALID)
			w.wantDates([]string{"20260101", "20270101"})
			w.call(a, &wire.DestroyObject{Session: s, Object: w.dated(a, s, "20260101")}, pkcs11.CKR_OK)
			w.wantDates([]string{"20270101"})
		})
	}
}

// H2: an object whose label did not change for sure is found under the new one, too.
func TestAnObjectThatIsPerhapsRenamed(t *testing.T) {
	w := begin(t, 1)
	a := w.application()
	s := w.loggedIn(a)
	key := w.called(a, s, "old", "")
	w.members["a"].Once(wire.NumberSetAttributeValue, fake.LostAfter)
	w.call(a, &wire.SetAttributeValue{Session: s, Object: key, Template: pkcs11.Template{pkcs11.Bytes(pkcs11.CKA_LABEL, []byte("new"))}}, pkcs11.CKR_OK)
	w.members["a"].Script(func(c wire.Call) fake.Outcome {
		if c.Number() == wire.NumberSetAttributeValue {
			return fake.LostAfter
		}
		return fake.Answered
	})
	w.call(a, &wire.SetAttributeValue{Session: s, Object: key, Template: pkcs11.Template{pkcs11.Bytes(pkcs11.CKA_LABEL, []byte("newer"))}}, pkcs11.CKR_DEVICE_ERROR)
	w.members["a"].Script(nil)
	w.allReady(a)
	w.call(a, &wire.DestroyObject{Session: s, Object: key}, pkcs11.CKR_OK)
	w.wantDates(nil)
}
