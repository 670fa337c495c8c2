// SPDX-License-Identifier: Apache-2.0

package group

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"oneslot.dev/oneslot/member"
	"oneslot.dev/oneslot/member/fake"
	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/wire"
)

// reconfigure gives a bench's group these members, in this order.
func (b *bench) reconfigure(standby []string, members ...*fake.Member) {
	options := *b.g.option()
	options.Members, options.Standby = nil, standby
	var list []member.Member
	for _, m := range members {
		list = append(list, m)
		options.Members = append(options.Members, m.Name())
	}
	b.g.Reconfigure(options, list)
	b.members = members
}

// R5: while calls run a member is replaced: the old one gets nothing new, the
// fresh one has every key before it serves, and no call fails.
func TestMemberIsReplacedWhileCallsRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, 2, nil)
		b.login()
		for range 5 {
			b.generate("k")
		}
		var calls sync.WaitGroup
		stop := make(chan struct{})
		for range 4 {
			calls.Go(func() {
				for {
					select {
					case <-stop:
						return
					case <-time.After(10 * time.Millisecond):
					}
					if _, rv := b.random(); rv != pkcs11.CKR_OK {
						t.Errorf("a call failed: %v", rv)
					}
				}
			})
		}
		gone, fresh := b.members[1], fake.New("c", pin)
		fresh.Token.Slow(time.Millisecond)
		b.reconfigure(nil, b.members[0], fresh)
		b.await(1, Ready)
		b.equal(5)
		before := gone.Token.Executed(wire.NumberGenerateRandom)
		time.Sleep(time.Minute)
		if n := gone.Token.Executed(wire.NumberGenerateRandom); n != before {
			t.Errorf("the member that was removed got %d calls more", n-before)
		}
		if fresh.Token.Executed(wire.NumberGenerateRandom) == 0 {
			t.Error("the new member got no call")
		}
		close(stop)
		calls.Wait()
		created, rv := b.generate("k")
		if rv != pkcs11.CKR_OK || created[0].Places[1].Seat != 2 {
			t.Errorf("the new member's seat is not its own: %+v %v", created, rv)
		}
	})
}

// A call that runs on a member that is removed finishes there.
func TestRemovedMemberFinishes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, 2, nil)
		slow := b.members[0]
		slow.Script(func(c wire.Call) fake.Outcome {
			if c.Number() == wire.NumberGenerateRandom {
				time.Sleep(3 * time.Second)
			}
			return fake.Answered
		})
		var who string
		var calls sync.WaitGroup
		calls.Go(func() { who, _ = b.random() })
		synctest.Wait()
		b.reconfigure(nil, b.members[1])
		begin := time.Now()
		calls.Wait()
		if who != "serial-a" {
			t.Errorf("the call was answered by %s", who)
		}
		time.Sleep(time.Second)
		b.mu.Lock()
		defer b.mu.Unlock()
		for _, e := range b.events {
			if e.Member == "a" && e.To == Down && e.Time.Sub(begin) < 3*time.Second {
				t.Errorf("it was left after %v", e.Time.Sub(begin))
			}
		}
	})
}

// Standby, order and members that were never reached change at once.
func TestRolesChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, 3, nil)
		b.reconfigure([]string{"b"}, b.members[2], b.members[0], b.members[1])
		snap := b.g.Snapshot()
		if snap.Members[snap.Primary].Name != "c" || !snap.Members[2].Standby || snap.Members[2].State != Ready {
			t.Errorf("after the change: %+v", snap)
		}
		b.reconfigure(nil)
		if _, rv := b.random(); rv != pkcs11.CKR_DEVICE_ERROR {
			t.Errorf("without members: %v", rv)
		}
		b.reconfigure(nil, fake.New("d", pin))
		b.await(0, Ready)
		if who, _ := b.random(); who != "serial-d" {
			t.Errorf("answered by %q", who)
		}
	})
}

// A key that was destroyed while a member was away does not come back with it,
// also if it was removed from the group and added again.
func TestRecordOutlivesRemoval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, 3, nil)
		b.login()
		gone, _ := b.generate("gone")
		all := b.members
		b.down(1)
		if rv := b.g.Destroy(gone[0].Identity, resolve(gone[0].Identity)); rv != pkcs11.CKR_OK {
			t.Fatal(rv)
		}
		b.reconfigure(nil, all[0], all[2])
		time.Sleep(time.Hour)
		all[1].Up()
		b.reconfigure(nil, all...)
		b.await(1, Ready)
		b.equal(0)
		time.Sleep(2 * time.Minute)
		for _, m := range all {
			if n := m.Token.JournalLength(); n != 0 {
				t.Errorf("member %s has %d records", m.Name(), n)
			}
		}
	})
}
