// SPDX-License-Identifier: Apache-2.0

package group

import (
	"testing"
	"testing/synctest"
	"time"

	"oneslot.dev/oneslot/config"
	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/wire"
)

// R2, R6: a member that waits for an order waits for that, whatever applications do: also
// one that was to be told of a login when it went out.
func TestNothingButAnOrderBringsAMemberBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, 3, func(g *config.Group) { g.Recovery = config.RecoverManual })
		b.down(0)
		b.members[0].Up()
		for b.state(1) != Quarantined {
			b.g.Do(wire.Use, Balance, func(p *Place) (pkcs11.RV, error) {
				if p.Seat() == 1 {
					p.Expel(NewUnlike("it answers as nobody else"))
				}
				return pkcs11.CKR_OK, nil
			})
		}
		stays := func(after string) {
			t.Helper()
			time.Sleep(time.Hour)
			if b.state(0) != Down || b.state(1) != Quarantined {
				t.Errorf("%s, they are %v and %v", after, b.state(0), b.state(1))
			}
		}
		b.login()
		stays("after a login")
		b.g.Logout()
		stays("after a logout")
		b.login()
		stays("after another login")
		b.g.Recover()
		b.await(0, Ready)
		b.await(1, Ready)
	})
}
