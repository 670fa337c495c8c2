// SPDX-License-Identifier: Apache-2.0

package group

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"oneslot.dev/oneslot/config"
	"oneslot.dev/oneslot/member/fake"
	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/wire"
)

// K1: a key is on every member when its creation returns.
func TestCreateIsEverywhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, 3, func(g *config.Group) { g.Standby = []string{"c"} })
		b.login()
		created, rv := b.generate("k")
		if rv != pkcs11.CKR_OK || len(created) != 1 || len(created[0].Places) != 3 {
			t.Fatalf("created %+v: %v", created, rv)
		}
		b.equal(1)
	})
}

// K4, field-C9: whichever answer is lost, before or after the member acted,
// there is one key in the end, also after the member came back.
func TestCreateExactlyOnce(t *testing.T) {
	steps := []wire.Number{wire.NumberGenerateKey, wire.NumberIdentify, wire.NumberResolve, wire.NumberExport, wire.NumberPublish, wire.NumberImport}
	for _, step := range steps {
		for _, outcome := range []fake.Outcome{fake.LostBefore, fake.LostAfter} {
			for victim := range 3 {
				synctest.Test(t, func(t *testing.T) {
					b := start(t, 3, nil)
					b.login()
					b.members[victim].Once(step, outcome)
					_, rv := b.generate("k")
					b.members[victim].Script(nil)
					if rv != pkcs11.CKR_OK {
						t.Errorf("%v lost (%d) on member %d: %v", step, outcome, victim, rv)
					}
					for i := range b.members {
						b.await(i, Ready)
					}
					b.equal(1)
				})
			}
		}
	}
}

// G5, F6: a member that does not export what it has just made, since its domain key
// is gone, is at fault, and another one makes the key. Its answer, which is about a
// key that the application knows nothing of, is not the application's.
func TestCreateWhereNothingIsExported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, 3, nil)
		b.login()
		b.members[0].Refuse(pkcs11.CKR_WRAPPING_KEY_HANDLE_INVALID)
		b.members[0].Once(wire.NumberExport, fake.Refused)
		if _, rv := b.generate("k"); rv != pkcs11.CKR_OK {
			t.Errorf("the creation: %v", rv)
		}
		b.await(0, Ready)
		b.equal(1)
	})
}

// K3: too few members: the creation fails and leaves nothing behind.
func TestMinCopies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, 3, func(g *config.Group) { g.MinCopies = 2 })
		b.login()
		b.down(1)
		b.members[2].Script(func(c wire.Call) fake.Outcome {
			if c.Number() == wire.NumberImport {
				return fake.LostBefore
			}
			return fake.Answered
		})
		if _, rv := b.generate("k"); rv == pkcs11.CKR_OK {
			t.Error("one copy was enough")
		}
		b.members[2].Script(nil)
		b.members[1].Up()
		for i := range b.members {
			b.await(i, Ready)
		}
		b.equal(0)
		if _, rv := b.random(); rv != pkcs11.CKR_OK {
			t.Errorf("use is blocked: %v", rv)
		}
	})
}

// R3, K2, field-C3: a member that was away gets the keys made meanwhile before
// it serves, and gives what only it has.
func TestReturningMemberIsFilled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, 3, nil)
		b.login()
		b.down(1)
		for range 5 {
			if _, rv := b.generate("k"); rv != pkcs11.CKR_OK {
				t.Fatal(rv)
			}
		}
		b.members[1].Up()
		b.await(1, Ready)
		b.equal(5)
		b.down(2)
		b.members[2].Token.Wipe() // an empty member is filled, never copied from (field-D4)
		b.members[2].Up()
		b.await(2, Ready)
		b.equal(5)
	})
}

// K2: what only a returning member has comes to every other, also to one that
// somebody else was just filling.
func TestNewsReachWhoWasBeingFilled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, 3, nil)
		b.login()
		b.plant(1, "news", "", wire.Private|wire.Copyable)
		b.down(1)
		mark, err := b.g.claim(b.g.seats[2].link)
		if err != nil || mark == nil {
			t.Fatal(mark, err)
		}
		b.members[1].Up()
		b.await(1, Ready)
		if n := len(b.members[2].Token.Holds()); n != 0 {
			t.Fatalf("the member that somebody fills has got %d objects", n)
		}
		b.g.release(mark)
		time.Sleep(time.Minute)
		b.equal(1)
	})
}

// K5, field-D1: a key destroyed while a member was away does not come back,
// also when the client that destroyed it is gone.
func TestDestroyedStaysDestroyed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, 3, nil)
		b.login()
		kept, _ := b.generate("kept")
		gone, rv := b.generate("gone")
		if rv != pkcs11.CKR_OK || len(kept) != 1 {
			t.Fatal(rv)
		}
		b.down(1)
		if rv := b.g.Destroy(gone[0].Identity, resolve(gone[0].Identity)); rv != pkcs11.CKR_OK {
			t.Fatalf("destroy: %v", rv)
		}
		b.g.Close() // the process that knew of it ends

		next := &bench{t: t, members: b.members}
		next.g = New(b.g.options, membersOf(b), wire.GroupView, func(Event) {})
		next.g.Start()
		defer next.g.Close()
		next.g.Settle(t.Context())
		next.login()
		b.members[1].Up()
		next.await(1, Ready)
		next.equal(1)
		for i, m := range b.members {
			if n := m.Token.JournalLength(); n != 0 {
				t.Errorf("member %d still has %d records after all confirmed", i, n)
			}
		}
	})
}

// K5: with two members away the record stays until both have confirmed.
func TestJournalWaitsForAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, 3, nil)
		b.login()
		gone, _ := b.generate("gone")
		b.down(1)
		b.down(2)
		if rv := b.g.Destroy(gone[0].Identity, resolve(gone[0].Identity)); rv != pkcs11.CKR_OK {
			t.Fatal(rv)
		}
		b.members[1].Up()
		b.await(1, Ready)
		b.down(0) // who is left holds the record for the last one
		b.members[2].Up()
		b.await(2, Ready)
		b.members[0].Up()
		b.await(0, Ready)
		b.equal(0)
	})
}

// K5: a change of attributes follows a member that was away.
func TestChangeFollows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, 2, nil)
		b.login()
		key, _ := b.generate("old")
		b.down(1)
		rename := pkcs11.Template{pkcs11.Bytes(pkcs11.CKA_LABEL, []byte("new"))}
		if rv := b.g.SetAttributes(key[0].Identity, rename, resolve(key[0].Identity)); rv != pkcs11.CKR_OK {
			t.Fatal(rv)
		}
		b.members[1].Up()
		b.await(1, Ready)
		for i, m := range b.members {
			if labels := m.Token.Labels(); !slices.Equal(labels, []string{"new"}) {
				t.Errorf("member %d: labels %v", i, labels)
			}
		}
	})
}

// Field-C13: a member that refuses a change gets the others their old value
// back, and its answer is the application's.
func TestChangeIsAllOrNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, 3, nil)
		b.login()
		key, _ := b.generate("old")
		b.members[2].Refuse(pkcs11.CKR_ATTRIBUTE_READ_ONLY)
		b.members[2].Script(func(c wire.Call) fake.Outcome {
			if c.Number() == wire.NumberSetAttributeValue {
				return fake.Refused
			}
			return fake.Answered
		})
		rename := pkcs11.Template{pkcs11.Bytes(pkcs11.CKA_LABEL, []byte("new"))}
		if rv := b.g.SetAttributes(key[0].Identity, rename, resolve(key[0].Identity)); rv != pkcs11.CKR_ATTRIBUTE_READ_ONLY {
			t.Errorf("change: %v", rv)
		}
		for i, m := range b.members {
			if labels := m.Token.Labels(); !slices.Equal(labels, []string{"old"}) {
				t.Errorf("member %d: labels %v", i, labels)
			}
		}
	})
}
