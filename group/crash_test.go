// SPDX-License-Identifier: Apache-2.0

package group

import (
	"testing"
	"testing/synctest"

	"oneslot.dev/oneslot/config"
	"oneslot.dev/oneslot/member/fake"
	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/wire"
)

// A request that no vendor module stands takes two members down and no more: the
// call ends, the others go on (G5). Members that just die cost it nothing.
func TestARequestThatCrashesModulesSparesTheOthers(t *testing.T) {
	for _, c := range []struct {
		outcome fake.Outcome
		lost    int
		want    pkcs11.RV
	}{
		{fake.Crash, 2, pkcs11.CKR_DEVICE_ERROR},
		{fake.LostAfter, 3, pkcs11.CKR_OK},
	} {
		synctest.Test(t, func(t *testing.T) {
			b := start(t, 4, func(o *config.Group) { o.Recovery = config.RecoverManual })
			for i, m := range b.members {
				if c.outcome == fake.Crash || i < 3 {
					m.Once(wire.NumberGenerateRandom, c.outcome)
				}
			}
			if _, rv := b.random(); rv != c.want {
				t.Errorf("outcome %d: %v, want %v", c.outcome, rv, c.want)
			}
			down := 0
			for i := range b.members {
				if b.state(i) == Down {
					down++
				}
			}
			if down != c.lost {
				t.Errorf("outcome %d: %d members are down, want %d", c.outcome, down, c.lost)
			}
		})
	}
}
