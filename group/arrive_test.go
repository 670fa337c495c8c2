// SPDX-License-Identifier: Apache-2.0

package group

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"oneslot.dev/oneslot/config"
	"oneslot.dev/oneslot/member"
	"oneslot.dev/oneslot/member/fake"
	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/wire"
)

// slowStart is a member that takes its time to connect.
type slowStart struct {
	*fake.Member
	takes *atomic.Int64 // a time.Duration
}

func (m slowStart) Connect(ctx context.Context) (member.Conn, error) {
	select {
	case <-time.After(time.Duration(m.takes.Load())):
	case <-ctx.Done():
	}
	return m.Member.Connect(ctx)
}

// startSlowly is a group of a, which is there at once, and b, which takes so long.
func startSlowly(t *testing.T, takes time.Duration, change func(*config.Group)) (*bench, *atomic.Int64) {
	b := &bench{t: t, members: []*fake.Member{fake.New("a", pin), fake.New("b", pin)}}
	options := config.DefaultGroup("g")
	options.Members = []string{"a", "b"}
	if change != nil {
		change(&options)
	}
	slow := new(atomic.Int64)
	slow.Store(int64(takes))
	b.g = New(options, []member.Member{b.members[0], slowStart{b.members[1], slow}}, wire.GroupView, func(Event) {})
	b.g.Start()
	t.Cleanup(b.g.Close)
	b.g.AwaitFirst(t.Context())
	return b, slow
}

// K1, K3: a creation right after the start gets its copies, whoever is still
// connecting when the application logs in: C_Login waits.
func TestACreationWaitsForMembersThatStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, _ := startSlowly(t, 2*time.Second, func(o *config.Group) { o.MinCopies = 2 })
		if b.state(0) != Ready || b.state(1) != Connecting {
			t.Fatalf("the members are %v and %v", b.state(0), b.state(1))
		}
		if rv := b.g.Login(pkcs11.CKU_USER, pkcs11.PIN(pin)); rv != pkcs11.CKR_OK {
			t.Fatalf("login: %v", rv)
		}
		if b.state(0) != Ready || b.state(1) != Ready {
			t.Errorf("after the login the members are %v and %v", b.state(0), b.state(1))
		}
		if _, rv := b.random(); rv != pkcs11.CKR_OK {
			t.Errorf("a call of the first member: %v", rv)
		}
		made, rv := b.generate("k")
		if rv != pkcs11.CKR_OK || len(made[0].Places) != 2 {
			t.Errorf("created at %v: %v", made, rv)
		}
	})
}

// A member that never comes is waited for as long as at a start, once.
func TestWhoNeverArrivesIsWaitedForOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, _ := startSlowly(t, 20*time.Second, nil)
		begin := time.Now()
		if rv := b.g.Login(pkcs11.CKU_USER, pkcs11.PIN(pin)); rv != pkcs11.CKR_OK {
			t.Fatalf("login: %v", rv)
		}
		if took := time.Since(begin); took < 3*time.Second || took > arrivalPatience {
			t.Errorf("the login took %v", took)
		}
		begin = time.Now()
		if _, rv := b.generate("k"); rv != pkcs11.CKR_OK || time.Since(begin) > 0 {
			t.Errorf("a creation took %v: %v", time.Since(begin), rv)
		}
		if b.g.AwaitArrivals() {
			t.Error("a search waits for a member that did not come in time")
		}
	})
}

// A member that comes back later is not waited for: it gets what it missed (K2).
func TestWhoComesBackIsNotWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, slow := startSlowly(t, 0, nil)
		b.login()
		b.down(1)
		b.members[1].Up()
		slow.Store(int64(3 * time.Second))
		b.await(1, Connecting)
		begin := time.Now()
		if made, rv := b.generate("k"); rv != pkcs11.CKR_OK || len(made[0].Places) != 1 || time.Since(begin) > 0 {
			t.Errorf("after %v: %v, %v", time.Since(begin), made, rv)
		}
	})
}

// G3, G8: what tokens have in common is told when all were heard.
func TestAboutWaitsForMembersThatStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, _ := startSlowly(t, time.Second, nil)
		if about := b.g.About(); len(about) != 2 {
			t.Errorf("%d of 2 tokens were heard", len(about))
		}
	})
}

// F7: a login that a member still gets when the application has logged out again
// does not stay there.
func TestALoginThatIsLateIsTakenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, 2, nil)
		var logins, logouts atomic.Int32
		b.members[1].Script(func(c wire.Call) fake.Outcome {
			switch c.Number() {
			case wire.NumberLogin:
				logins.Add(1)
				time.Sleep(10 * time.Millisecond) // C_Logout comes meanwhile
			case wire.NumberLogout:
				logouts.Add(1)
			}
			return fake.Answered
		})
		login := make(chan pkcs11.RV)
		go func() { login <- b.g.Login(pkcs11.CKU_USER, pkcs11.PIN(pin)) }()
		time.Sleep(5 * time.Millisecond) // fake time: the login waits for the member
		if rv := b.g.Logout(); rv != pkcs11.CKR_OK {
			t.Fatalf("logout: %v", rv)
		}
		if rv := <-login; rv != pkcs11.CKR_OK {
			t.Errorf("login: %v", rv)
		}
		b.g.Settle(t.Context())
		if logins.Load() != 1 || logouts.Load() != 2 || b.state(1) != Ready {
			t.Errorf("%d logins, %d logouts, the member is %v", logins.Load(), logouts.Load(), b.state(1))
		}
	})
}

// G7: a new PIN waits for members that come back just now, if only for so long.
func TestANewPINWaitsForWhoComesBack(t *testing.T) {
	for takes, want := range map[time.Duration]pkcs11.RV{3 * time.Second: pkcs11.CKR_OK, 10 * time.Second: pkcs11.CKR_DEVICE_ERROR} {
		synctest.Test(t, func(t *testing.T) {
			b, slow := startSlowly(t, 0, nil)
			b.login()
			b.down(1)
			b.members[1].Up()
			slow.Store(int64(takes))
			b.await(1, Connecting)
			begin := time.Now()
			if rv := b.g.SetPIN(pkcs11.PIN(pin), pkcs11.PIN("5678")); rv != want || time.Since(begin) > arrivalPatience {
				t.Errorf("who takes %v: %v after %v", takes, rv, time.Since(begin))
			}
			for _, m := range b.members {
				if changed := m.Token.PIN() == "5678"; changed != (want == pkcs11.CKR_OK) {
					t.Errorf("who takes %v: member %s has PIN %q", takes, m.Name(), m.Token.PIN())
				}
			}
		})
	}
}
