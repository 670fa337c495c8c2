// SPDX-License-Identifier: Apache-2.0

package group

import (
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"oneslot.dev/oneslot/config"
	"oneslot.dev/oneslot/member/fake"
	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/wire"
)

// What happened to others (docs/field-reports.md), where no other test is about it.

// answers has a member answer calls of one kind in some way.
func answers(m *fake.Member, n wire.Number, o fake.Outcome, rv pkcs11.RV) {
	m.Refuse(rv)
	m.Script(func(c wire.Call) fake.Outcome {
		if c.Number() == n {
			return o
		}
		return fake.Answered
	})
}

// works makes a few calls, so that each member gets some.
func (b *bench) works(when string) {
	b.t.Helper()
	for range 2 * len(b.members) {
		if _, rv := b.random(); rv != pkcs11.CKR_OK {
			b.t.Errorf("%s: %v", when, rv)
		}
	}
}

// field-A3: a session that gave a fatal code is used no more, and no caller sees it.
// A member without sessions costs nothing but its share.
func TestDeadSessionsAreNotHandedOut(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		b := start(t, 2, nil)
		for _, rv := range []pkcs11.RV{pkcs11.CKR_SESSION_HANDLE_INVALID, pkcs11.CKR_SESSION_CLOSED, pkcs11.CKR_DEVICE_ERROR} {
			failures := b.g.Snapshot().Members[0].Failures
			b.members[0].Refuse(rv)
			b.members[0].Once(wire.NumberGenerateRandom, fake.Refused)
			b.works(rv.String())
			b.await(0, Ready)
			if n := b.g.Snapshot().Members[0].Failures; n != failures+1 {
				t.Errorf("%v: %d failures, want one more than %d", rv, n, failures)
			}
		}
		answers(b.members[0], wire.NumberGenerateRandom, fake.Refused, pkcs11.CKR_SESSION_COUNT)
		b.works("no sessions")
		if b.state(0) != Ready {
			t.Errorf("the member without sessions is %v", b.state(0))
		}
	})
}

// field-A4: a call a minute for days, and an odd answer now and then: no caller
// sees one, and each is told once.
func TestOddAnswersNowAndThen(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		b := start(t, 2, nil)
		b.login()
		odd := []pkcs11.RV{pkcs11.CKR_SESSION_HANDLE_INVALID, pkcs11.CKR_TOKEN_NOT_PRESENT, pkcs11.CKR_USER_NOT_LOGGED_IN}
		lot := rand.New(rand.NewPCG(4, 0))
		var given atomic.Int32
		for minute := range 2 * 24 * 60 {
			if lot.IntN(60) == 0 {
				m := b.members[lot.IntN(2)]
				m.Refuse(odd[lot.IntN(len(odd))])
				var once atomic.Bool
				m.Script(func(c wire.Call) fake.Outcome {
					if c.Number() != wire.NumberGenerateRandom || !once.CompareAndSwap(false, true) {
						return fake.Answered
					}
					given.Add(1)
					return fake.Refused
				})
			}
			if _, rv := b.random(); rv != pkcs11.CKR_OK {
				t.Fatalf("minute %d: %v", minute, rv)
			}
			time.Sleep(time.Minute)
		}
		if n := b.count(codeOf(Down)); given.Load() == 0 || n != int(given.Load()) {
			t.Errorf("%d odd answers were told %d times", given.Load(), n)
		}
	})
}

// field-A6: recovery costs no caller anything, and does not need one.
func TestAnIdleProcessRecovers(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		b := start(t, 2, nil)
		b.down(0)
		for range 10 * 60 {
			begin := time.Now()
			if _, rv := b.random(); rv != pkcs11.CKR_OK || time.Since(begin) > 0 {
				t.Fatalf("%v after %v", rv, time.Since(begin))
			}
			time.Sleep(time.Second)
		}
		b.members[0].Up()
		time.Sleep(2 * time.Minute) // nobody calls
		b.down(1)
		if who, rv := b.random(); rv != pkcs11.CKR_OK || who != "serial-a" {
			t.Errorf("answered by %q: %v", who, rv)
		}
	})
}

// field-A7: the channel dies while nobody uses it. The next call does not notice.
func TestTheChannelDiesWhenIdle(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		b := start(t, 1, nil)
		b.login()
		for range 5 {
			b.members[0].Down()
			b.members[0].Up()
			if _, rv := b.generate("k"); rv != pkcs11.CKR_OK {
				t.Errorf("at once: %v", rv)
			}
			time.Sleep(40 * time.Second)
			b.works("later")
		}
	})
}

// field-A8: a module that gives device errors, then codes of its vendor, until it is
// loaded anew: that is done for it alone.
func TestAModuleThatMustBeLoadedAnew(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		b := start(t, 2, nil)
		for _, rv := range []pkcs11.RV{pkcs11.CKR_DEVICE_ERROR, pkcs11.CKR_VENDOR_DEFINED + 0x1a} {
			m := b.members[0]
			m.Refuse(rv)
			limbo := m.Tries()
			m.Script(func(wire.Call) fake.Outcome {
				if m.Tries() == limbo {
					return fake.Refused
				}
				return fake.Answered
			})
			b.works(rv.String())
			b.await(0, Ready)
			if m.Tries() == limbo || b.members[1].Tries() != 1 {
				t.Errorf("%v: connected %d times since, the other one %d times in all", rv, m.Tries()-limbo, b.members[1].Tries())
			}
			m.Script(nil)
		}
	})
}

// field-C1: a key is used from everywhere, and its first holder lost, the moment
// that its creation returns.
func TestAKeyOutlivesItsFirstHolder(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		b := start(t, 3, nil)
		b.login()
		b.members[1].Script(func(c wire.Call) fake.Outcome {
			if c.Number() == wire.NumberImport {
				time.Sleep(3 * time.Second)
			}
			return fake.Answered
		})
		w := &world{t: t}
		for lost := range 2 {
			created, rv := b.generate("k")
			if rv != pkcs11.CKR_OK {
				t.Fatal(rv)
			}
			var all sync.WaitGroup
			for range 16 {
				all.Go(func() {
					if rv := w.use(b.g, &expectation{id: created[0].Identity}); rv != pkcs11.CKR_OK {
						t.Errorf("at once: %v", rv)
					}
				})
			}
			b.down(lost)
			all.Wait()
			if rv := w.use(b.g, &expectation{id: created[0].Identity}); rv != pkcs11.CKR_OK || len(w.wrong) > 0 {
				t.Errorf("without its first holder: %v %v", rv, w.wrong)
			}
		}
	})
}

// K3; field-C2: too few members for a new key are enough to use those there are.
func TestTooFewMembersForANewKeyUseTheOld(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		b := start(t, 2, func(g *config.Group) { g.MinCopies = 2 })
		b.login()
		old, rv := b.generate("old")
		if rv != pkcs11.CKR_OK {
			t.Fatal(rv)
		}
		b.down(1)
		if rv := (&world{t: t}).use(b.g, &expectation{id: old[0].Identity}); rv != pkcs11.CKR_OK {
			t.Errorf("the old key: %v", rv)
		}
		if _, rv := b.generate("new"); rv != pkcs11.CKR_DEVICE_ERROR || labelled(b.members[0], "new") > 0 {
			t.Errorf("a new key: %v, labels %v", rv, b.members[0].Token.Labels())
		}
	})
}

// field-C6: a new key that its HSM cannot use yet is no failure while another can.
func TestAKeyThatIsNotReadyYet(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		b := start(t, 2, nil)
		b.login()
		pending := time.Now().Add(2 * time.Second)
		b.members[0].Refuse(pkcs11.CKR_FUNCTION_FAILED)
		b.members[0].Script(func(c wire.Call) fake.Outcome {
			if n := c.Number(); (n == wire.NumberIdentify || n == wire.NumberSign) && time.Now().Before(pending) {
				return fake.Refused
			}
			return fake.Answered
		})
		created, rv := b.generate("k")
		if rv != pkcs11.CKR_OK {
			t.Fatal(rv)
		}
		for range 4 {
			if rv := (&world{t: t}).use(b.g, &expectation{id: created[0].Identity}); rv != pkcs11.CKR_OK {
				t.Errorf("used at once: %v", rv)
			}
		}
		b.await(0, Ready)
		b.equal(1)
	})
}

// field-D5: a private key without its public half is no orphan: it is copied to a
// member that returns, and used there.
func TestAPrivateKeyAlone(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		b := start(t, 2, nil)
		b.login()
		b.down(1)
		pair, rv := b.generatePair("k")
		if rv != pkcs11.CKR_OK {
			t.Fatal(rv)
		}
		if rv := b.g.Destroy(pair[0].Identity, resolve(pair[0].Identity)); rv != pkcs11.CKR_OK {
			t.Fatal(rv)
		}
		b.members[1].Up()
		b.await(1, Ready)
		b.equal(1)
		b.down(0)
		if rv := (&world{t: t}).use(b.g, &expectation{id: pair[1].Identity}); rv != pkcs11.CKR_OK {
			t.Errorf("on the other member: %v", rv)
		}
	})
}

// field-G7: a member that is locked after a restart, and shows nothing, counts as
// failed: no key is declared missing by it, and no PIN is tried again and again.
func TestALockedMember(t *testing.T) {
	for _, rv := range []pkcs11.RV{pkcs11.CKR_TOKEN_NOT_RECOGNIZED, pkcs11.CKR_USER_PIN_NOT_INITIALIZED, pkcs11.CKR_PIN_LOCKED} {
		inBubble(t, func(t *testing.T) {
			b := start(t, 2, nil)
			b.login()
			if _, rv := b.generate("k"); rv != pkcs11.CKR_OK {
				t.Fatal(rv)
			}
			b.down(0)
			b.members[0].Token.Freeze(true)
			answers(b.members[0], wire.NumberLogin, fake.Refused, rv)
			b.members[0].Up()
			for range 60 {
				time.Sleep(time.Minute)
				b.works(rv.String())
				if b.state(0) == Ready {
					t.Fatalf("%v: the locked member serves", rv)
				}
			}
			if keys := b.members[1].Token.Keys(); len(keys) != 1 {
				t.Errorf("%v: the other one holds %v", rv, keys)
			}
			b.members[0].Script(nil)
			b.members[0].Token.Freeze(false)
			b.g.Recover()
			b.await(0, Ready)
			b.equal(1)
		})
	}
}

// field-G9: with one member, each fault of the way to it has one code: never what a
// bad key or a vendor would say.
func TestFaultsOfTheWayHaveOneCode(t *testing.T) {
	for _, outcome := range []fake.Outcome{fake.LostBefore, fake.LostAfter, fake.Hang, fake.Beat, fake.Crash} {
		inBubble(t, func(t *testing.T) {
			b := start(t, 1, nil)
			answers(b.members[0], wire.NumberGenerateRandom, outcome, 0)
			begin := time.Now()
			if _, rv := b.random(); rv != pkcs11.CKR_DEVICE_ERROR || time.Since(begin) > 3*time.Minute {
				t.Errorf("outcome %d: %v after %v", outcome, rv, time.Since(begin))
			}
		})
	}
}

// field-G12, L3: a search costs one member one call, however many there are, and
// goes on while another is compared.
func TestASearchAsksOneMember(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		b := start(t, 4, nil)
		b.login()
		for range 500 {
			b.generate("k")
		}
		searched := func() (n int) {
			for _, m := range b.members {
				n += m.Token.Executed(wire.NumberFind)
			}
			return n
		}
		before := searched()
		var found int
		rv, err := b.g.Do(wire.Ask, Primary, func(p *Place) (pkcs11.RV, error) {
			var call wire.Find
			_, err := p.Do(&call)
			found = len(call.Found)
			return call.RV, err
		})
		if n := searched() - before; errors.Join(err, orNil(rv)) != nil || found != 500 || n != 1 {
			t.Errorf("%d of 500 objects with %d searches: %v %v", found, n, rv, err)
		}
	})
}

// L1, L5; field-M5: of 64 threads no more than its share wait for a member that
// hangs, and none of them fails.
func TestAHangingMemberHoldsItsShare(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		b := start(t, 4, nil)
		var held atomic.Int32
		b.members[0].Script(func(c wire.Call) fake.Outcome {
			if c.Number() != wire.NumberGenerateRandom {
				return fake.Answered
			}
			if time.Since(epoch) < 10*time.Second { // until it is given up
				held.Add(1)
			}
			return fake.Hang
		})
		for i := 1; i < 4; i++ {
			b.members[i].Script(func(c wire.Call) fake.Outcome {
				if c.Number() == wire.NumberGenerateRandom {
					time.Sleep(10 * time.Millisecond)
				}
				return fake.Answered
			})
		}
		var all sync.WaitGroup
		for range 64 {
			all.Go(func() {
				for range 20 {
					if _, rv := b.random(); rv != pkcs11.CKR_OK {
						t.Error(rv)
					}
				}
			})
		}
		all.Wait()
		if n := held.Load(); n == 0 || n > 64/4 {
			t.Errorf("%d calls waited for the member that hangs", n)
		}
	})
}
