// SPDX-License-Identifier: Apache-2.0

package group

import (
	"testing"
	"testing/synctest"

	"oneslot.dev/oneslot/member/fake"
	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/wire"
)

// G7; field-F4: a member is lost while it changes the PIN, before or after its token acted,
// or while it gets the old one back. All have the old PIN afterwards, and no token has
// seen a PIN that it had refused.
func TestALostMemberDoesNotKeepTheNewPIN(t *testing.T) {
	const other = "5678"
	for name, c := range map[string]struct {
		lost  int // the member whose connection is lost
		by    fake.Outcome
		nth   int // of its C_SetPIN
		login bool
		third bool // the last member refuses, so that the others get the old PIN back
	}{
		"before the first acted":        {0, fake.LostBefore, 1, true, false},
		"after the first acted":         {0, fake.LostAfter, 1, true, false},
		"after the last acted":          {2, fake.LostAfter, 1, true, false},
		"nobody is logged in":           {1, fake.LostAfter, 1, false, false},
		"before it got the old one":     {0, fake.LostBefore, 2, true, true},
		"after it got the old one back": {0, fake.LostAfter, 2, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := start(t, 3, nil)
				if c.login {
					b.login()
				}
				calls := 0
				b.members[c.lost].Script(func(call wire.Call) fake.Outcome {
					if call.Number() == wire.NumberSetPIN {
						if calls++; calls == c.nth {
							return c.by
						}
					}
					return fake.Answered
				})
				if c.third {
					b.members[2].Once(wire.NumberSetPIN, fake.LostBefore)
				}
				before := b.members[c.lost].Token.PINsTried()
				if rv := b.g.SetPIN(pkcs11.PIN(pin), pkcs11.PIN(other)); rv != pkcs11.CKR_DEVICE_ERROR {
					t.Errorf("C_SetPIN: %v", rv)
				}
				for i, m := range b.members {
					b.await(i, Ready)
					if m.Token.PIN() != pin {
						t.Errorf("member %s has PIN %q", m.Name(), m.Token.PIN())
					}
				}
				if n := b.members[c.lost].Token.PINsTried() - before; n > 5 {
					t.Errorf("it was sent %d PINs", n)
				}
				b.g.Logout()
				b.login()
				for i := range b.members {
					b.await(i, Ready)
				}
			})
		})
	}
}

// F7: a token that somebody gave another PIN meanwhile is sent neither of the two again.
func TestAPINThatIsNeitherIsLeftAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, 2, nil)
		b.login()
		b.members[1].Once(wire.NumberSetPIN, fake.LostAfter)
		if rv := b.g.SetPIN(pkcs11.PIN(pin), pkcs11.PIN("5678")); rv != pkcs11.CKR_DEVICE_ERROR {
			t.Errorf("C_SetPIN: %v", rv)
		}
		b.members[1].Token.SetPIN("somebody's")
		before := b.members[1].Token.PINsTried()
		b.await(1, Quarantined)
		for range 3 {
			b.g.Logout()
			b.login()
		}
		if n := b.members[1].Token.PINsTried() - before; n != 2 {
			t.Errorf("it was sent %d PINs", n)
		}
		b.members[1].Token.SetPIN(pin)
		b.g.Recover()
		b.await(1, Ready)
	})
}
