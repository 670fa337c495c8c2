// SPDX-License-Identifier: Apache-2.0

package group

import (
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"oneslot.dev/oneslot/member/fake"
	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/wire"
)

// What the model test found, each as a case of its own.

func three() []*fake.Member {
	return []*fake.Member{fake.New("a", pin), fake.New("b", pin), fake.New("c", pin)}
}

func (b *bench) destroyKey(key []Created) {
	b.t.Helper()
	if rv := b.g.Destroy(key[0].Identity, resolve(key[0].Identity)); rv != pkcs11.CKR_OK {
		b.t.Fatalf("destroy: %v", rv)
	}
}

// Field-D4, G8: a search that shows nothing is no reason to delete, to copy
// everything once more, or to call the member in sync.
func TestFrozenSearch(t *testing.T) {
	for frozen := range 2 {
		synctest.Test(t, func(t *testing.T) {
			b := start(t, 2, nil)
			b.login()
			b.generate("k")
			b.down(frozen)
			b.members[frozen].Token.Freeze(true)
			b.members[frozen].Up()
			time.Sleep(time.Minute)
			if b.state(frozen) == Ready {
				t.Errorf("member %d serves though its search shows nothing", frozen)
			}
			b.equal(1)
			b.members[frozen].Token.Freeze(false)
			b.await(frozen, Ready)
			b.equal(1)
		})
	}
}

// K5: a key that was destroyed while a member was away, and then created again
// from the same value, survives that member's return; its old copy does not.
func TestRecreatedKeySurvives(t *testing.T) {
	for back := range 2 {
		synctest.Test(t, func(t *testing.T) {
			b := start(t, 3, nil)
			b.login()
			old, _ := b.bring("value", "old")
			b.down(1)
			b.destroyKey(old)
			if back == 1 { // the holders of the record are away for the creation
				b.down(0)
				b.down(2)
				b.members[1].Up()
				b.await(1, Ready)
				b.destroyKey(old) // it cannot know
			}
			if _, rv := b.bring("value", "new"); rv != pkcs11.CKR_OK {
				t.Fatal(rv)
			}
			for i, m := range b.members {
				m.Up()
				b.await(i, Ready)
			}
			time.Sleep(3 * time.Minute)
			b.equal(1)
			for _, m := range b.members {
				if labels := m.Token.Labels(); !slices.Equal(labels, []string{"new"}) || m.Token.JournalLength() > 0 {
					t.Errorf("member %s: labels %v, journal %v", m.Name(), labels, m.Token.Journal())
				}
			}
		})
	}
}

// Field-C16: two processes on two sides of a split change the same label: the
// later one wins everywhere, and it is said.
func TestTwoWriters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		members := three()[:2]
		b := launch(t, members, nil).bench(t, members)
		b.login()
		key, _ := b.generate("k")
		b.down(1)
		setLabel(b, key[0], "first")
		b.down(0)
		members[1].Up()
		b.await(1, Ready)
		time.Sleep(time.Second)
		setLabel(b, key[0], "second")
		members[0].Up()
		b.await(0, Ready)
		for _, m := range members {
			if labels := m.Token.Labels(); !slices.Equal(labels, []string{"second"}) {
				t.Errorf("member %s: labels %v", m.Name(), labels)
			}
		}
	})
}

// Field-C10: processes that fill one empty member at the same time make no twins,
// though the token looks and makes in two steps.
func TestManyFillOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		members := three()
		b := launch(t, members, nil).bench(t, members)
		b.login()
		for range 10 {
			b.generate("k")
		}
		members[2].Token.Slow(50 * time.Millisecond)
		var benches []*bench
		for range 4 {
			other := launch(t, members, nil).bench(t, members)
			other.login()
			benches = append(benches, other)
		}
		b.down(2)
		members[2].Token.Wipe()
		members[2].Up()
		var waits sync.WaitGroup
		for _, other := range append(benches, b) {
			waits.Go(func() { other.await(2, Ready) })
		}
		waits.Wait()
		b.equal(10)
		b.same()
	})
}

// A token that gives a changed object another handle is followed.
func TestHandleChangesWithTheObject(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, 2, nil)
		b.login()
		key, _ := b.generate("k")
		cached := func(p *Place, stale uint64) (uint64, pkcs11.RV, error) { // as the engine remembers it
			for _, at := range key[0].Places {
				if at.Seat == p.Seat() && at.Epoch == p.Epoch() && at.Object != stale {
					return at.Object, pkcs11.CKR_OK, nil
				}
			}
			return resolve(key[0].Identity)(p, stale)
		}
		for _, m := range b.members {
			m.Token.Renumber()
		}
		for _, label := range []string{"one", "two"} {
			change := pkcs11.Template{pkcs11.Bytes(pkcs11.CKA_LABEL, []byte(label))}
			if rv := b.g.SetAttributes(key[0].Identity, change, cached); rv != pkcs11.CKR_OK {
				t.Errorf("%s: %v", label, rv)
			}
		}
		for _, m := range b.members {
			if labels := m.Token.Labels(); !slices.Equal(labels, []string{"two"}) {
				t.Errorf("member %s: labels %v", m.Name(), labels)
			}
		}
	})
}

// A record of a newer version, or one that is none, is left alone and deletes
// nothing.
func TestForeignRecords(t *testing.T) {
	for _, text := range []string{`{"version":2,"op":"destroy"}`, `{"version":1,"op":"purge"}`, "no record"} {
		synctest.Test(t, func(t *testing.T) {
			b := start(t, 2, nil)
			b.login()
			b.generate("k")
			session := b.g.seats[0].link.anchor
			if _, err := session.Do(t.Context(), b.g.limits(nil), &wire.Record{Record: []byte(text)}); err != nil {
				t.Fatal(err)
			}
			b.down(1)
			b.members[1].Up()
			b.await(1, Ready)
			time.Sleep(time.Hour)
			b.equal(1)
			if left := b.members[0].Token.Journal(); !slices.Equal(left, []string{text}) {
				t.Errorf("the journal is now %q", left)
			}
		})
	}
}

// A member that is full or may not be written to is reported and left out of
// the creation; min_copies decides, and what it has it goes on serving.
func TestFullMember(t *testing.T) {
	for rv, serves := range map[pkcs11.RV]bool{pkcs11.CKR_DEVICE_MEMORY: true, pkcs11.CKR_TOKEN_WRITE_PROTECTED: true} {
		synctest.Test(t, func(t *testing.T) {
			b := start(t, 2, nil)
			b.login()
			b.generate("before")
			b.members[1].Refuse(rv)
			b.members[1].Script(func(c wire.Call) fake.Outcome {
				if c.Number() == wire.NumberImport || c.Number() == wire.NumberRecord {
					return fake.Refused
				}
				return fake.Answered
			})
			created, got := b.generate("k")
			if got != pkcs11.CKR_OK || len(created[0].Places) != 1 {
				t.Errorf("%v: %+v %v", rv, created, got)
			}
			if (b.state(1) == Ready) != serves || !b.heard(ObjectNotCopied) {
				t.Errorf("%v: member b is %v", rv, b.state(1))
			}
		})
	}
}

// heard says whether an event of this kind was reported.
func (b *bench) heard(code Code) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.ContainsFunc(b.events, func(e Event) bool { return e.Code == code })
}

// A member that hangs while it is compared does not keep the last one that works
// from serving (G5).
func TestHangingSyncKeepsNobodyOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, 3, nil)
		b.login()
		b.down(1)
		b.down(2)
		b.members[1].Once(wire.NumberRecords, fake.Hang)
		b.members[1].Up()
		time.Sleep(5 * time.Second)
		b.members[2].Up()
		for b.state(2) != Syncing {
			time.Sleep(10 * time.Millisecond)
		}
		b.down(0)
		if _, rv := b.random(); rv != pkcs11.CKR_OK {
			t.Errorf("a member works, and a call failed: %v", rv)
		}
	})
}

// K5: a record that a member does not let go of would later undo a newer change
// on who has carried it out: that member is left out until it does.
func TestRecordThatStays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, 3, nil)
		b.login()
		key, _ := b.generate("one")
		b.down(2)
		setLabel(b, key[0], "two")
		b.members[0].Refuse(pkcs11.CKR_GENERAL_ERROR)
		b.members[0].Script(func(c wire.Call) fake.Outcome {
			if c.Number() == wire.NumberUnrecord {
				return fake.Refused
			}
			return fake.Answered
		})
		b.members[2].Up()
		b.await(2, Ready)
		setLabel(b, key[0], "three")
		b.members[0].Script(nil)
		b.await(0, Ready)
		b.down(2)
		b.members[2].Up()
		b.await(2, Ready)
		time.Sleep(3 * time.Minute)
		for _, m := range b.members {
			if labels := m.Token.Labels(); !slices.Equal(labels, []string{"three"}) || m.Token.JournalLength() > 0 {
				t.Errorf("member %s: labels %v, journal %v", m.Name(), labels, m.Token.Journal())
			}
		}
	})
}
