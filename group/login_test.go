// SPDX-License-Identifier: Apache-2.0

package group

import (
	"testing"
	"testing/synctest"
	"time"

	"oneslot.dev/oneslot/member/fake"
	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/wire"
)

// F7, field-F3: a wrong PIN costs one try on one member.
func TestWrongPINCostsOneTry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, 3, nil)
		if rv := b.g.Login(pkcs11.CKU_USER, pkcs11.PIN("0000")); rv != pkcs11.CKR_PIN_INCORRECT {
			t.Errorf("login: %v", rv)
		}
		tried := 0
		for _, m := range b.members {
			tried += m.Token.PINsTried()
		}
		if tried != 1 {
			t.Errorf("the wrong PIN was tried %d times", tried)
		}
	})
}

// F7, R6: a PIN that a member refused is not sent to it again.
func TestRefusedPINIsNotSentAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, 2, nil)
		b.login()
		b.members[1].Token.SetPIN("other")
		before := b.members[1].Token.PINsTried()
		for range 100 {
			b.down(1)
			b.members[1].Up()
			b.g.Recover()
			time.Sleep(time.Minute)
		}
		if n := b.members[1].Token.PINsTried() - before; n != 1 {
			t.Errorf("the PIN was sent %d times", n)
		}
		if b.state(1) != Quarantined {
			t.Errorf("the member is %v", b.state(1))
		}
		if _, rv := b.random(); rv != pkcs11.CKR_OK {
			t.Errorf("the other member does not serve: %v", rv)
		}
	})
}

// F7, facts.md: SoftHSM may answer CKR_GENERAL_ERROR to a login while another
// process logs in. The PIN was not compared then, and may be tried once more.
func TestLoginThatNoTokenCouldCompare(t *testing.T) {
	unclearOnce := func(b *bench) {
		for _, m := range b.members {
			m.Refuse(pkcs11.CKR_GENERAL_ERROR)
			m.Once(wire.NumberLogin, fake.Refused)
		}
	}
	t.Run("it is tried once more", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b := start(t, 3, nil)
			unclearOnce(b)
			b.login()
		})
	})
	t.Run("but not where a wrong PIN was seen", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b := start(t, 1, nil)
			b.g.Login(pkcs11.CKU_USER, pkcs11.PIN("0000"))
			unclearOnce(b)
			if rv := b.g.Login(pkcs11.CKU_USER, pkcs11.PIN("0001")); rv != pkcs11.CKR_GENERAL_ERROR {
				t.Errorf("login: %v", rv)
			}
			if n := b.members[0].Token.PINsTried(); n != 1 {
				t.Errorf("%d PINs were tried", n)
			}
		})
	})
	t.Run("one that is on its way is asked before", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b := start(t, 2, nil)
			b.down(1)
			b.members[1].Up()
			b.members[0].Refuse(pkcs11.CKR_GENERAL_ERROR)
			b.members[0].Once(wire.NumberLogin, fake.Refused)
			b.login()
		})
	})
}

// A logout that comes while a slow member is just following the login holds on
// that member, too.
func TestLogoutWhileAMemberFollows(t *testing.T) {
	for _, wait := range []time.Duration{50 * time.Millisecond, 150 * time.Millisecond, 250 * time.Millisecond, 350 * time.Millisecond} {
		synctest.Test(t, func(t *testing.T) {
			b := start(t, 3, nil)
			b.login()
			b.await(1, Ready)
			b.generate("private")
			b.g.Logout()
			b.members[1].Delay(200 * time.Millisecond)
			go b.g.Login(pkcs11.CKU_USER, pkcs11.PIN(pin))
			time.Sleep(wait)
			b.g.Logout()
			time.Sleep(time.Minute)
			b.await(1, Ready)
			b.g.Each(func(p *Place) {
				var find wire.Find
				if _, err := p.Do(&find); err != nil || len(find.Found) > 0 {
					t.Errorf("after %v member %s shows %d private objects: %v", wait, p.Name(), len(find.Found), err)
				}
			})
		})
	}
}
