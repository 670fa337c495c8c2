// SPDX-License-Identifier: Apache-2.0

package group

import (
	"sync"
	"testing"
	"time"

	"oneslot.dev/oneslot/config"
	"oneslot.dev/oneslot/member/fake"
	"oneslot.dev/oneslot/wire"
)

// F3, field-G4: a member that hangs for applications is probed, and dropped, though it
// answers what the group asks behind the scenes, each time just before a probe is due.
func TestAPatrolIsNoSignThatATokenWorks(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		b := start(t, 2, func(o *config.Group) { o.RecoveryInterval = o.ProbeInterval })
		b.login()
		for i := range b.members {
			b.await(i, Ready)
		}
		interval := b.g.option().ProbeInterval
		var mu sync.Mutex
		var probed time.Time
		patrols, hangs := 0, false
		b.members[1].Script(func(c wire.Call) fake.Outcome {
			mu.Lock()
			defer mu.Unlock()
			switch c.Number() {
			case wire.NumberProbe, wire.NumberGenerateRandom:
				probed = time.Now()
				if hangs {
					return fake.Hang
				}
			case wire.NumberRecords:
				patrols++
			}
			return fake.Answered
		})
		time.Sleep(10 * interval)
		mu.Lock()
		never, due := probed.IsZero(), probed.Add(interval)
		for due.Before(time.Now().Add(interval / 4)) {
			due = due.Add(interval)
		}
		mu.Unlock()
		if never {
			t.Fatal("it was never probed")
		}
		time.Sleep(time.Until(due) - interval/4)
		b.g.seats[1].wake() // from now on it is patrolled so long before each probe
		time.Sleep(10 * interval)
		mu.Lock()
		patrols, hangs = 0, true
		mu.Unlock()
		begin := time.Now()
		b.await(1, Down)
		if took, most := time.Since(begin), 2*interval+b.g.option().ProbeTimeout; took > most {
			t.Errorf("dropped after %v, want %v at most", took, most)
		}
		if mu.Lock(); patrols == 0 {
			t.Error("it answered no patrol meanwhile")
		}
		mu.Unlock()
	})
}
