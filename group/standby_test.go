// SPDX-License-Identifier: Apache-2.0

package group

import (
	"testing"
	"testing/synctest"
	"time"

	"oneslot.dev/oneslot/config"
	"oneslot.dev/oneslot/member/fake"
	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/wire"
)

// withStandby is a group of members a and b, and c, a standby.
func withStandby(t *testing.T) *bench {
	b := start(t, 3, func(g *config.Group) { g.Standby = []string{"c"} })
	b.login()
	b.await(2, Ready)
	return b
}

// K1, S1: a creation waits for a standby far away for one round trip, also with a
// pair.
func TestStandbyFarAwayCostsOneRoundTrip(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const far = 200 * time.Millisecond
		b := withStandby(t)
		b.members[2].Delay(far)
		for _, create := range []func(string) ([]Created, pkcs11.RV){b.generate, b.generatePair} {
			begin := time.Now()
			created, rv := create("k")
			if rv != pkcs11.CKR_OK || len(created[0].Places) != 3 {
				t.Fatalf("created %+v: %v", created, rv)
			}
			if d := time.Since(begin); d != far {
				t.Errorf("%d objects took %v, want %v", len(created), d, far)
			}
		}
		b.equal(3)
	})
}

// S1: a standby is not the only holder of a new key while an active member serves,
// which did not take it.
func TestStandbyIsNotTheOnlyHolder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := withStandby(t)
		b.down(0)
		b.members[1].Refuse(pkcs11.CKR_DEVICE_MEMORY)
		b.members[1].Script(func(c wire.Call) fake.Outcome {
			if c.Number() == wire.NumberImport || c.Number() == wire.NumberPublish {
				return fake.Refused
			}
			return fake.Answered
		})
		if _, rv := b.generate("k"); rv == pkcs11.CKR_OK {
			t.Error("created on the standby only")
		}
		b.members[1].Script(nil)
		b.members[0].Up()
		for i := range b.members {
			b.await(i, Ready)
		}
		b.equal(0)
	})
}
