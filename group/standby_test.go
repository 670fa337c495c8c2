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

// K1, S1: a creation waits for standbys far away for one round trip, with several of
// them and with a pair too, since they are asked at the same time and once. One of key
// material that may have been there before needs another one: the journals are
// looked into first, for a destruction that the new object must not fall to (K5).
func TestStandbyFarAwayCostsOneRoundTrip(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const far = 200 * time.Millisecond
		b := start(t, 4, func(g *config.Group) { g.Standby = []string{"c", "d"} })
		b.login()
		for i := range b.members {
			b.await(i, Ready)
		}
		b.members[2].Delay(far)
		b.members[3].Delay(far)
		for _, c := range []struct {
			what   string
			create func() ([]Created, pkcs11.RV)
			want   time.Duration
		}{
			{"a key", func() ([]Created, pkcs11.RV) { return b.generate("k") }, far},
			{"a pair", func() ([]Created, pkcs11.RV) { return b.generatePair("k") }, far},
			{"a given key", func() ([]Created, pkcs11.RV) { return b.bring("value", "k") }, 2 * far},
		} {
			begin := time.Now()
			created, rv := c.create()
			if rv != pkcs11.CKR_OK || len(created[0].Places) != 4 {
				t.Fatalf("%s: created %+v: %v", c.what, created, rv)
			}
			if d := time.Since(begin); d != c.want {
				t.Errorf("%s took %v, want %v", c.what, d, c.want)
			}
		}
		b.equal(4)
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
