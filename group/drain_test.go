// SPDX-License-Identifier: Apache-2.0

package group

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"oneslot.dev/oneslot/config"
	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/wire"
)

// N4: what runs on a draining member finishes there, nothing new begins, and no
// call fails or waits.
func TestDrainingMember(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, 2, nil)
		var hold *Hold
		b.g.Do(wire.Use, Primary, func(p *Place) (rv pkcs11.RV, err error) {
			hold, err = p.Hold()
			return pkcs11.CKR_OK, err
		})
		b.members[0].Drain()
		b.await(0, Draining)
		begin := time.Now()
		for range 20 {
			if name, rv := b.random(); rv != pkcs11.CKR_OK || name != "serial-b" {
				t.Errorf("a call got %v from %q", rv, name)
			}
		}
		if waited := time.Since(begin); waited != 0 {
			t.Errorf("calls waited %v", waited)
		}
		if _, err := hold.Do(&wire.GenerateRandom{RandomRoom: wire.Room{Capacity: 8}}); err != nil {
			t.Errorf("what ran on the draining member: %v", err)
		}
		if b.state(0) != Draining {
			t.Errorf("it was left with an operation active: %v", b.state(0))
		}
		hold.Release(true)
		b.await(0, Down)
		if s := b.g.Snapshot().Members[0]; s.Failures != 0 {
			t.Errorf("draining counts as %d failures", s.Failures)
		}
		b.await(0, Ready) // it is back from maintenance
		b.equal(0)
	})
}

// The only member of a group drains when its connection is as old as it may be,
// and can be had again at once: no call fails.
func TestTheOnlyMemberDrains(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, 1, func(g *config.Group) { g.RecoveryInterval = time.Second })
		var calls sync.WaitGroup
		for range 3 {
			b.await(0, Ready)
			time.Sleep(time.Minute)
			b.members[0].Drain()
			for range 8 {
				calls.Go(func() {
					if _, rv := b.random(); rv != pkcs11.CKR_OK {
						t.Errorf("a call got %v", rv)
					}
				})
			}
			calls.Wait()
		}
	})
}
