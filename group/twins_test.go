// SPDX-License-Identifier: Apache-2.0

package group

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"oneslot.dev/oneslot/member/fake"
	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/wire"
)

// Objects of one key: which of them is meant when members follow later.

// twin brings a key once more, with a label and a date.
func (b *bench) twin(label, date string) Created {
	b.t.Helper()
	created, rv := b.g.Create(func(h *Hold) ([]uint64, pkcs11.RV, error) {
		call := wire.CreateObject{Template: pkcs11.Template{pkcs11.Bytes(pkcs11.CKA_VALUE, []byte("twin")),
			pkcs11.Bytes(pkcs11.CKA_LABEL, []byte(label)), pkcs11.Bytes(pkcs11.CKA_START_DATE, []byte(date))}}
		_, err := h.Do(&call)
		return []uint64{call.Object}, call.RV, err
	})
	if rv != pkcs11.CKR_OK {
		b.t.Fatalf("%s %s: %v", label, date, rv)
	}
	return created[0]
}

// placed resolves an object to where it was created, and nowhere else.
func placed(c Created) Resolver {
	return func(p *Place, stale uint64) (uint64, pkcs11.RV, error) {
		for _, at := range c.Places {
			if at.Seat == p.Seat() && at.Epoch == p.Epoch() && at.Object != stale {
				return at.Object, pkcs11.CKR_OK, nil
			}
		}
		return 0, 0, ErrElsewhere
	}
}

func (b *bench) destroyTwin(c Created) {
	b.t.Helper()
	if rv := b.g.Destroy(c.Identity, placed(c)); rv != pkcs11.CKR_OK {
		b.t.Fatalf("destroy %s: %v", c.Identity.Label, rv)
	}
}

func (b *bench) changeTwin(c Created, kind pkcs11.AttributeType, value string) {
	b.t.Helper()
	if rv := b.g.SetAttributes(c.Identity, pkcs11.Template{pkcs11.Bytes(kind, []byte(value))}, placed(c)); rv != pkcs11.CKR_OK {
		b.t.Fatalf("change %s: %v", c.Identity.Label, rv)
	}
}

// up has members come back one after the other, each with time for every process to
// look into the journals.
func (b *bench) up(which ...int) {
	for _, i := range which {
		b.members[i].Up()
		b.await(i, Ready)
		time.Sleep(3 * time.Minute)
	}
}

// holdsOnly wants every member to hold objects of these labels and dates, and no
// record of anything.
func (b *bench) holdsOnly(labels, dates []string) {
	b.t.Helper()
	for _, m := range b.members {
		if got := m.Token.Labels(); !slices.Equal(got, labels) {
			b.t.Errorf("member %s: labels %q, want %q", m.Name(), got, labels)
		}
		if got := m.Token.Dates(); !slices.Equal(got, dates) {
			b.t.Errorf("member %s: dates %q, want %q", m.Name(), got, dates)
		}
		if j := m.Token.Journal(); len(j) > 0 {
			b.t.Errorf("member %s: journal %v", m.Name(), j)
		}
	}
}

// K5, H3: an object that comes to look like a destroyed one of the same key is not
// destroyed by the record, where that was carried out already: neither by its label
// nor by what told the two apart.
func TestATwinThatTakesThePlaceOfADestroyedOne(t *testing.T) {
	for _, everywhere := range []bool{true, false} { // else it is made while others are away
		for _, by := range []pkcs11.AttributeType{pkcs11.CKA_LABEL, pkcs11.CKA_START_DATE} {
			t.Run(fmt.Sprintf("everywhere %v, by %v", everywhere, by), func(t *testing.T) {
				inBubble(t, func(t *testing.T) {
					b := start(t, 4, nil)
					b.login()
					old := b.twin("old", "")
					label, value := "new", "old"
					if by == pkcs11.CKA_START_DATE {
						label, value = "old", ""
					}
					var other Created
					if everywhere {
						other = b.twin(label, "20270101")
					}
					b.down(2)
					b.down(3)
					if !everywhere {
						other = b.twin(label, "20270101")
					}
					b.destroyTwin(old)
					b.changeTwin(other, by, value)
					b.up(2, 3)
					date := "20270101"
					if by == pkcs11.CKA_START_DATE {
						date = ""
					}
					b.holdsOnly([]string{"old"}, []string{date})
					if n := b.members[0].Token.Executed(wire.NumberDestroyObject); n != 1 {
						t.Errorf("member a destroyed %d objects", n)
					}
				})
			})
		}
	}
}

// K5: changes of several objects of one key reach a member that was away, each its
// own object.
func TestChangesOfTwinsFollow(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		b := start(t, 3, nil)
		b.login()
		one, two, three := b.twin("one", ""), b.twin("same", "20260101"), b.twin("same", "20270101")
		b.down(2)
		b.changeTwin(one, pkcs11.CKA_LABEL, "first")
		b.changeTwin(two, pkcs11.CKA_LABEL, "second")
		b.changeTwin(three, pkcs11.CKA_START_DATE, "20280101") // twice, the same attribute
		b.changeTwin(three, pkcs11.CKA_START_DATE, "20290101")
		b.up(2)
		b.holdsOnly([]string{"first", "same", "second"}, []string{"", "20260101", "20290101"})
		if b.heard(ChangeConflict) {
			t.Error("changes of one process were called a conflict")
		}
	})
}

// K2: a member that comes back gets the object that it lacks, and not once more one
// that it has.
func TestTheMissingTwinIsCopied(t *testing.T) {
	for _, lost := range []string{"20260101", "20270101", "20280101"} {
		t.Run(lost, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				b := start(t, 3, nil)
				b.login()
				all := []string{"20260101", "20270101", "20280101"}
				for _, date := range all {
					b.twin("same", date)
				}
				l := b.g.seats[2].link
				for _, id := range must(b.g.list(l)) { // behind everybody's back
					read := wire.GetAttributeValue{Object: id.Object, Query: wire.Query{{Type: pkcs11.CKA_START_DATE, Form: wire.AskRoom, Capacity: 8}}}
					if b.on(l, &read); string(read.Values[0].Data) == lost {
						b.on(l, &wire.DestroyObject{Object: id.Object})
					}
				}
				b.down(2)
				b.up(2)
				b.holdsOnly([]string{"same", "same", "same"}, all)
			})
		})
	}
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

// K5: a C_Logout that comes while a member is told what it missed does not make it
// look as if it had it: what does not show its private objects lacks none.
func TestLogoutWhileRecordsAreCarriedOut(t *testing.T) {
	for _, destroy := range []bool{false, true} {
		for n, finished := 0, false; !finished; n++ {
			t.Run(fmt.Sprintf("destroy %v, journal read %d", destroy, n), func(t *testing.T) {
				inBubble(t, func(t *testing.T) { finished = logoutWhileFollowing(t, destroy, n) })
			})
		}
	}
}

func logoutWhileFollowing(t *testing.T, destroy bool, n int) (finished bool) {
	b := start(t, 3, nil)
	b.login()
	key, _ := b.generate("old")
	b.down(2)
	want := []string{"new"}
	if destroy {
		want = nil
		b.destroyKey(key)
	} else {
		setLabel(b, key[0], "new")
	}
	var reads atomic.Int32
	b.members[2].Script(func(c wire.Call) fake.Outcome {
		if c.Number() == wire.NumberRecords && int(reads.Add(1)) == n+1 {
			go b.g.Logout()
			for inLogout := false; !inLogout; time.Sleep(time.Millisecond) { // it waits for this call to end
				b.g.mu.Lock()
				inLogout = b.g.user == nil
				b.g.mu.Unlock()
			}
		}
		return fake.Answered
	})
	b.members[2].Up()
	b.await(2, Ready)
	finished = int(reads.Load()) <= n
	b.members[2].Script(nil)
	time.Sleep(time.Minute)
	if !finished {
		b.login()
	}
	for i := range b.members {
		b.await(i, Ready)
	}
	time.Sleep(3 * time.Minute)
	for _, m := range b.members {
		if labels := m.Token.Labels(); !slices.Equal(labels, want) || m.Token.JournalLength() > 0 {
			t.Errorf("member %s: labels %v, journal %v", m.Name(), labels, m.Token.Journal())
		}
	}
	return finished
}

// plant puts an object on one member behind everybody's back.
func (b *bench) plant(i int, label, date string, flags wire.IdentityFlags) {
	b.t.Helper()
	id := identityOf("twin")
	id.Flags, id.Label = flags, []byte(label)
	blob := must(json.Marshal(struct {
		Identity wire.Identity
		Start    []byte
	}{id, []byte(date)}))
	b.on(b.g.seats[i].link, &wire.Import{Blob: blob, Token: true, Copies: 99})
}

// K8, H4: a key that was made on one member so that it stays there, and was brought
// to all of them besides, is not replaced there by one copy more with each sync.
func TestATwinThatStaysOnItsMember(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		b := start(t, 3, nil)
		b.login()
		b.plant(0, "same", "20250101", wire.Private)
		b.twin("same", "20260101")
		for range 3 {
			b.down(2)
			b.up(2)
		}
		for i, want := range [][]string{{"20250101", "20260101"}, {"20260101"}, {"20260101"}} {
			if got := b.members[i].Token.Dates(); !slices.Equal(got, want) {
				t.Errorf("member %d: %q, want %q", i, got, want)
			}
		}
	})
}

// K1, K4: two processes that bring one key at the same time under two names make two
// objects, on every member; neither is taken for the other.
func TestTwoBringOneKeyUnderTwoNames(t *testing.T) {
	for _, primaries := range []int{1, 2} {
		inBubble(t, func(t *testing.T) {
			members := three()
			var benches []*bench
			for i := range 2 {
				from := i % primaries
				b := launch(t, slices.Concat(members[from:], members[:from]), nil).bench(t, members)
				b.login()
				benches = append(benches, b)
			}
			for i := range members {
				members[i].Delay(time.Duration(i+1) * time.Millisecond)
				benches[0].await(i, Ready)
				benches[1].await(i, Ready)
			}
			var both sync.WaitGroup
			for i, b := range benches {
				both.Go(func() { b.twin(fmt.Sprint("name ", i), "") })
			}
			both.Wait()
			benches[0].holdsOnly([]string{"name 0", "name 1"}, []string{"", ""})
		})
	}
}

// K5: what is destroyed while another process copies it to a member, from one that did
// not hear of that yet, does not come back; nor does what needs no login.
func TestDestroyedWhileItIsCopied(t *testing.T) {
	for _, private := range []wire.IdentityFlags{wire.Private, 0} {
		inBubble(t, func(t *testing.T) {
			members := three()
			b := launch(t, members, nil).bench(t, members)
			b.login()
			for i := range members {
				b.plant(i, "gone", "", wire.Copyable|private)
			}
			b.g.Close()
			one := launch(t, members[:2], nil).bench(t, members[:2])
			one.login()
			two := launch(t, []*fake.Member{members[2], members[1]}, nil).bench(t, members)
			two.login()
			id := must(two.g.list(two.g.seats[1].link))[0]
			two.on(two.g.seats[1].link, &wire.DestroyObject{Object: id.Object}) // b lacks it
			var once atomic.Bool
			members[1].Script(func(c wire.Call) fake.Outcome {
				if c.Number() == wire.NumberImport && once.CompareAndSwap(false, true) {
					one.plant(1, "gone", "", wire.Copyable|private) // b has it for a moment, and confirms
					if rv := one.g.Destroy(id, resolve(id)); rv != pkcs11.CKR_OK {
						t.Errorf("destroy: %v", rv)
					}
				}
				return fake.Answered
			})
			two.g.drop(two.g.seats[1].link, errors.New("a test"))
			time.Sleep(10 * time.Minute)
			if !once.Load() {
				t.Fatal("nothing was copied")
			}
			afterwards(t, members)
			b.holdsOnly(nil, nil)
		})
	}
}

// K5: a public object that is made once more by who has no login, of which no record can
// tell, is not destroyed by the record of the one before, that a member has still to hear of.
func TestAPublicObjectMadeAgainWithoutALogin(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		b := start(t, 3, nil)
		b.login()
		for i := range b.members {
			b.plant(i, "certificate", "20250101", wire.Copyable)
		}
		b.down(2)
		id := must(b.g.list(b.g.seats[0].link))[0]
		if rv := b.g.Destroy(id, resolve(id)); rv != pkcs11.CKR_OK {
			t.Fatal(rv)
		}
		b.plant(0, "certificate", "20260101", wire.Copyable)
		b.plant(1, "certificate", "20260101", wire.Copyable)
		time.Sleep(10 * time.Minute)
		b.up(2)
		b.holdsOnly([]string{"certificate"}, []string{"20260101"})
	})
}

// K1, K2: a key that was brought on one side of a split and once more, by another name, on
// the other is two objects, which each side gets when they meet.
func TestBroughtOnTwoSidesOfASplit(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		b := start(t, 3, nil)
		b.login()
		b.down(0)
		b.down(1)
		b.twin("one", "")
		b.down(2)
		b.members[0].Up()
		b.await(0, Ready)
		b.twin("two", "")
		b.up(1, 2)
		b.holdsOnly([]string{"one", "two"}, []string{"", ""})
	})
}
