// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"
	"slices"
	"testing"

	"oneslot.dev/oneslot/group"
	"oneslot.dev/oneslot/member/fake"
	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/wire"
)

// twin makes a token object of the same value, label and ID as all that it makes.
// Some have a date to tell them apart.
func (w *world) twin(a *application, s uint64, date string) uint64 {
	w.Helper()
	c := wire.CreateObject{Session: s, Template: pkcs11.Template{pkcs11.Bool(pkcs11.CKA_TOKEN, true),
		pkcs11.Bytes(pkcs11.CKA_VALUE, []byte("twin")), pkcs11.Bytes(pkcs11.CKA_LABEL, []byte("same")),
		pkcs11.Bytes(pkcs11.CKA_START_DATE, []byte(date))}}
	w.call(a, &c, pkcs11.CKR_OK)
	return c.Object
}

// date reads the attribute that tells twins apart.
func (w *world) date(a *application, s, object uint64) string {
	w.Helper()
	c := wire.GetAttributeValue{Session: s, Object: object,
		Query: wire.Query{{Type: pkcs11.CKA_START_DATE, Form: wire.AskRoom, Capacity: 8}}}
	w.call(a, &c, pkcs11.CKR_OK)
	if len(c.Values) != 1 {
		return "nothing"
	}
	return string(c.Values[0].Data)
}

// wantFound wants a search to find these handles and no others.
func (w *world) wantFound(a *application, s uint64, want ...uint64) {
	w.Helper()
	found := w.find(a, s)
	if !slices.Equal(slices.Sorted(slices.Values(found)), slices.Sorted(slices.Values(want))) {
		w.Errorf("found %x, want %x", found, want)
	}
}

// reverse gives each member a new connection, on which it shows its objects in the
// opposite order.
func (w *world) reverse(a *application) {
	w.Helper()
	for name, m := range w.members {
		w.lose(a, name)
		m.Token.Reverse()
		m.Up()
		w.allReady(a)
	}
}

// lose takes a member away, and waits until an application knows.
func (w *world) lose(a *application, name string) {
	w.Helper()
	w.members[name].Down()
	w.until("the loss was noticed", func() bool {
		for _, seen := range a.slots[0].group.Snapshot().Members {
			if seen.Name == name {
				return seen.State != group.Ready
			}
		}
		return false
	})
}

// wantDates wants every member to hold objects with these dates and no others.
func (w *world) wantDates(want []string) {
	w.Helper()
	for name, m := range w.members {
		if got := m.Token.Dates(); !slices.Equal(got, want) {
			w.Errorf("member %s holds objects with the dates %q, want %q", name, got, want)
		}
	}
}

// without is the list without one.
func without[T any](list []T, i int) []T { return slices.Delete(slices.Clone(list), i, i+1) }

// eachTwin is for groups of one and of three, and for each of three twins.
func eachTwin(t *testing.T, run func(w *world, which int)) {
	for _, members := range []int{1, 3} {
		for which := range 3 {
			t.Run(fmt.Sprintf("%d members, number %d", members, which), func(t *testing.T) { run(begin(t, members), which) })
		}
	}
}

// H1, H4: whichever of equal objects is destroyed, the others are found under the
// handles that the application has, also after a logout, and nothing has the
// handle of the one that is gone.
func TestTwinsKeepTheirHandles(t *testing.T) {
	eachTwin(t, func(w *world, gone int) {
		a := w.application()
		s := w.loggedIn(a)
		twins := []uint64{w.twin(a, s, ""), w.twin(a, s, ""), w.twin(a, s, "")}
		w.call(a, &wire.DestroyObject{Session: s, Object: twins[gone]}, pkcs11.CKR_OK)
		left := without(twins, gone)
		w.wantFound(a, s, left...)
		w.call(a, &wire.SignInit{Session: s, Key: twins[gone]}, pkcs11.CKR_KEY_HANDLE_INVALID)

		w.call(a, &wire.Logout{Session: s}, pkcs11.CKR_OK)
		w.call(a, &wire.SignInit{Session: s, Key: left[0]}, pkcs11.CKR_KEY_HANDLE_INVALID)
		w.wantFound(a, s)
		w.call(a, &wire.Login{Session: s, User: pkcs11.CKU_USER, Pin: pkcs11.PIN(pin)}, pkcs11.CKR_OK)
		w.wantFound(a, s, left...)
		w.call(a, &wire.SignInit{Session: s, Key: twins[gone]}, pkcs11.CKR_KEY_HANDLE_INVALID)

		again := w.twin(a, s, "")
		if slices.Contains(twins, again) {
			t.Errorf("a new twin has a handle that another had: %x of %x", again, twins)
		}
		w.wantFound(a, s, append(left, again)...)
	})
}

// K5, H2: the twin that is destroyed is the one that was meant, on every member,
// also when the handles on members are new ones and tokens show what they hold in
// another order.
func TestTheRightTwinIsDestroyed(t *testing.T) {
	eachTwin(t, func(w *world, gone int) {
		a := w.application()
		s := w.loggedIn(a)
		dates := []string{"", "20260101", "20270101"}
		var twins []uint64
		for _, date := range dates {
			twins = append(twins, w.twin(a, s, date))
		}
		w.reverse(a)
		for i, o := range twins {
			if got := w.date(a, s, o); got != dates[i] {
				w.Errorf("twin %d reads %q, want %q", i, got, dates[i])
			}
		}
		w.call(a, &wire.DestroyObject{Session: s, Object: twins[gone]}, pkcs11.CKR_OK)
		w.wantDates(without(dates, gone))
		w.wantFound(a, s, without(twins, gone)...)
	})
}

// H1: a label or an attribute that changes leaves twins what they are.
func TestTwinsThatChange(t *testing.T) {
	eachTwin(t, func(w *world, changed int) {
		a := w.application()
		s := w.loggedIn(a)
		twins := []uint64{w.twin(a, s, ""), w.twin(a, s, "20260101"), w.twin(a, s, "20270101")}
		set := func(value pkcs11.Attribute) {
			w.call(a, &wire.SetAttributeValue{Session: s, Object: twins[changed], Template: pkcs11.Template{value}}, pkcs11.CKR_OK)
		}
		set(pkcs11.Bytes(pkcs11.CKA_START_DATE, []byte("20280101")))
		again := func() {
			w.Helper()
			w.reverse(a)
			w.wantFound(a, s, twins...)
			if got := w.date(a, s, twins[changed]); got != "20280101" {
				w.Errorf("it reads %q", got)
			}
		}
		again()
		set(pkcs11.Bytes(pkcs11.CKA_LABEL, []byte("other")))
		again()
		set(pkcs11.Bytes(pkcs11.CKA_LABEL, []byte("same")))
		again()
	})
}

// K5, R3: a member that was away destroys the twin that was meant, and nobody
// destroys another for it, whether something tells them apart or not.
func TestTheTwinThatWasDestroyedMeanwhile(t *testing.T) {
	for name, dates := range map[string][]string{
		"with dates": {"", "20260101", "20270101"}, "alike": {"", "", ""}, "two alike": {"", "20260101", "20260101"},
	} {
		for gone := range dates {
			for _, away := range []string{"a", "c"} {
				t.Run(fmt.Sprintf("%s, number %d, without %s", name, gone, away), func(t *testing.T) {
					w := begin(t, 3)
					a := w.application()
					s := w.loggedIn(a)
					var twins []uint64
					for _, date := range dates {
						twins = append(twins, w.twin(a, s, date))
					}
					w.lose(a, away)
					w.members[away].Token.Reverse()
					w.call(a, &wire.DestroyObject{Session: s, Object: twins[gone]}, pkcs11.CKR_OK)
					w.members[away].Up()
					w.allReady(a)
					w.wantDates(without(dates, gone))
					w.wantFound(a, s, without(twins, gone)...)
					for i, o := range twins {
						if i != gone && w.date(a, s, o) != dates[i] {
							t.Errorf("twin %d reads %q, want %q", i, w.date(a, s, o), dates[i])
						}
					}
				})
			}
		}
	}
}

// K5: an object that another process has destroyed is not there any more, and no
// twin is destroyed in its place.
func TestATwinThatIsGoneAlready(t *testing.T) {
	eachTwin(t, func(w *world, gone int) {
		a, other := w.application(), w.application()
		s, os := w.loggedIn(a), w.loggedIn(other)
		dates := []string{"", "20260101", "20270101"}
		var twins []uint64
		for _, date := range dates {
			twins = append(twins, w.twin(a, s, date))
		}
		for _, o := range w.find(other, os) {
			if w.date(other, os, o) == dates[gone] {
				w.call(other, &wire.DestroyObject{Session: os, Object: o}, pkcs11.CKR_OK)
			}
		}
		w.call(a, &wire.DestroyObject{Session: s, Object: twins[gone]}, pkcs11.CKR_OBJECT_HANDLE_INVALID)
		w.wantDates(without(dates, gone))
		w.wantFound(a, s, without(twins, gone)...)
	})
}

// K5, R3: of two equal objects one that another process has renamed is destroyed, and
// the other one is not: neither by a member that is away for it all, or comes back
// before the end, nor by those that have its record.
func TestATwinThatWasRenamed(t *testing.T) {
	for _, known := range []bool{true, false} {
		for _, c := range []string{"is there", "is away", "comes back"} {
			t.Run(fmt.Sprintf("known %v, member c %s", known, c), func(t *testing.T) {
				w := begin(t, 3)
				a, other := w.application(), w.application()
				s, os := w.loggedIn(a), w.loggedIn(other)
				w.allReady(a)
				w.allReady(other)
				both := func(do func(*application)) { do(a); do(other) }
				if c == "is away" {
					both(func(a *application) { w.lose(a, "c") })
				}
				mine := w.twin(a, s, "20260101")
				theirs := w.find(other, os)[0]
				second := w.twin(other, os, "")
				if known {
					w.find(a, s)
				}
				w.call(other, &wire.SetAttributeValue{Session: os, Object: theirs, Template: pkcs11.Template{pkcs11.Bytes(pkcs11.CKA_LABEL, []byte("new"))}}, pkcs11.CKR_OK)
				if c == "comes back" {
					both(func(a *application) { w.lose(a, "c") })
					w.members["c"].Up()
					both(w.allReady)
				}
				w.call(a, &wire.DestroyObject{Session: s, Object: mine}, pkcs11.CKR_OK)
				if c == "is away" {
					w.members["c"].Up()
					both(w.allReady)
				}
				w.wantDates([]string{""})
				w.wantFound(other, os, second)
			})
		}
	}
}

// K8: an object that cannot be recognised on another member is destroyed like others,
// and is not found any more by a search that began before.
func TestDestroyWithoutIdentity(t *testing.T) {
	w := begin(t, 3)
	a := w.application()
	s := w.loggedIn(a)
	create := wire.CreateObject{Session: s, Template: pkcs11.Template{pkcs11.Bool(pkcs11.CKA_TOKEN, true)}}
	w.call(a, &create, pkcs11.CKR_OK)
	w.wantFound(a, s, create.Object)
	w.call(a, &wire.FindObjectsInit{Session: s}, pkcs11.CKR_OK)
	w.call(a, &wire.DestroyObject{Session: s, Object: create.Object}, pkcs11.CKR_OK)
	c := wire.FindObjects{Session: s, ObjectsRoom: wire.Room{Capacity: 100}}
	if w.call(a, &c, pkcs11.CKR_OK); len(c.Objects.Values) > 0 {
		t.Errorf("found %x after it was destroyed", c.Objects.Values)
	}
	w.call(a, &wire.FindObjectsFinal{Session: s}, pkcs11.CKR_OK)
	w.wantDates(nil)
}

// H1, H4: an object that is found while the application gives it another name is the
// same one, under either handle, and not one of two: what destroys it reaches all
// members.
func TestFoundWhileItIsRenamed(t *testing.T) {
	for _, by := range []string{"the handle it was made with", "the handle it was found by"} {
		w := begin(t, 3)
		a := w.application()
		s, other := w.loggedIn(a), w.open(a, pkcs11.CKF_RW_SESSION)
		w.allReady(a)
		made := w.twin(a, s, "")
		var found []uint64
		w.members["b"].Script(func(c wire.Call) fake.Outcome { // a has the new name by now
			if c.Number() == wire.NumberSetAttributeValue {
				found = w.find(a, other)
			}
			return fake.Answered
		})
		w.call(a, &wire.SetAttributeValue{Session: s, Object: made, Template: pkcs11.Template{pkcs11.Bytes(pkcs11.CKA_LABEL, []byte("new"))}}, pkcs11.CKR_OK)
		if len(found) != 1 {
			t.Fatalf("found %x while it was renamed", found)
		}
		w.wantFound(a, s, made)
		handles := []uint64{made, found[0]}
		if by != "the handle it was made with" {
			slices.Reverse(handles)
		}
		w.call(a, &wire.DestroyObject{Session: s, Object: handles[0]}, pkcs11.CKR_OK)
		w.wantDates(nil)
		w.wantFound(a, s)
		w.call(a, &wire.SignInit{Session: s, Key: handles[1]}, pkcs11.CKR_KEY_HANDLE_INVALID)
	}
}
