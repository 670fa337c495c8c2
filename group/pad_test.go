// SPDX-License-Identifier: Apache-2.0

package group

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"oneslot.dev/oneslot/config"
	"oneslot.dev/oneslot/member/fake"
	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/wire"
)

// A room is where the pads are: who was asked, in which order, and what they answer.
type room struct {
	asked   []string
	answers map[string]pkcs11.RV
}

// pads gives these members a PIN pad.
func (b *bench) pads(names string) *room {
	r := &room{answers: map[string]pkcs11.RV{}}
	for i, m := range b.members {
		if name := m.Name(); strings.Contains(names, name) {
			m.Token.Pad(func() pkcs11.RV {
				r.asked = append(r.asked, name)
				return r.answers[name]
			})
		}
		b.down(i) // so that it describes itself anew
		m.Up()
	}
	b.g.Recover()
	synctest.Wait()
	b.g.Settle(b.t.Context())
	return r
}

func (b *bench) states() (states []State) {
	for i := range b.members {
		states = append(states, b.state(i))
	}
	return states
}

// F7, K1; field-F6: one C_Login asks the pad of each member that has one, in the order of
// the group, once; members without one get the PIN, if there is one. Who does not get a login
// stays out, and says what it needs, until the application logs in anew.
func TestOneLoginForAllPads(t *testing.T) {
	const in, out = Ready, Quarantined
	for _, c := range []struct {
		name    string
		pads    string // members with one, of a, b, c
		pin     pkcs11.PIN
		answers map[string]pkcs11.RV
		open    string // members that need no login
		rv      pkcs11.RV
		asked   []string
		states  []State
		why     string // of those that are out
	}{
		{"pads everywhere", "abc", nil, nil, "", pkcs11.CKR_OK, []string{"a", "b", "c"}, []State{in, in, in}, ""},
		{"a PIN, where all have pads", "abc", pkcs11.PIN(pin), nil, "", pkcs11.CKR_ARGUMENTS_BAD, nil, []State{in, in, in}, ""},
		{"the first is refused", "abc", nil, map[string]pkcs11.RV{"a": pkcs11.CKR_PIN_INCORRECT}, "", pkcs11.CKR_PIN_INCORRECT, []string{"a"}, []State{in, in, in}, ""},
		{"the user gives up at the second", "abc", nil, map[string]pkcs11.RV{"b": pkcs11.CKR_FUNCTION_CANCELED}, "", pkcs11.CKR_OK,
			[]string{"a", "b", "c"}, []State{in, out, in}, "CKR_FUNCTION_CANCELED"},
		{"a pad and two PINs", "b", pkcs11.PIN(pin), nil, "", pkcs11.CKR_OK, []string{"b"}, []State{in, in, in}, ""},
		{"a pad first and two PINs", "a", pkcs11.PIN(pin), nil, "", pkcs11.CKR_OK, []string{"a"}, []State{in, in, in}, ""},
		{"no PIN for two", "b", nil, nil, "", pkcs11.CKR_OK, []string{"b"}, []State{out, in, out}, "needs a PIN from the application"},
		{"no PIN for one that needs none", "b", nil, nil, "c", pkcs11.CKR_OK, []string{"b"}, []State{out, in, in}, "needs a PIN from the application"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := start(t, 3, nil)
				for _, m := range b.members {
					if strings.Contains(c.open, m.Name()) {
						m.Token.NeedsNoLogin()
					}
				}
				r := b.pads(c.pads)
				r.answers = c.answers
				if rv := b.g.Login(pkcs11.CKU_USER, c.pin); rv != c.rv {
					t.Errorf("login: %v, want %v", rv, c.rv)
				}
				if !slices.Equal(r.asked, c.asked) {
					t.Errorf("asked were %v, want %v", r.asked, c.asked)
				}
				synctest.Wait()
				b.g.Settle(t.Context())
				if got := b.states(); !slices.Equal(got, c.states) {
					t.Errorf("the members are %v, want %v", got, c.states)
				}
				for _, m := range b.g.Snapshot().Members {
					if m.State == out && !strings.Contains(m.Cause.Error(), c.why) {
						t.Errorf("member %s says %v", m.Name, m.Cause)
					}
				}
				time.Sleep(time.Hour)
				if !slices.Equal(r.asked, c.asked) {
					t.Errorf("after an hour asked were %v, want %v", r.asked, c.asked)
				}
				if c.rv != pkcs11.CKR_OK {
					return
				}
				b.g.Logout()
				synctest.Wait()
				b.g.Settle(t.Context())
				if got := b.states(); !slices.Equal(got, []State{in, in, in}) {
					t.Errorf("without a login the members are %v", got)
				}
			})
		})
	}
}

// field-F6: a member that comes back, or was away at the login, is not asked unattended.
// A pad at which nobody answers costs the login stuck_timeout, and is not asked a second
// time for it.
func TestPadsUnattended(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, 3, func(o *config.Group) { o.RecoveryInterval = time.Second })
		r := b.pads("abc")
		b.down(2)
		if rv := b.g.Login(pkcs11.CKU_USER, nil); rv != pkcs11.CKR_OK {
			t.Fatalf("login: %v", rv)
		}
		b.members[2].Up()
		for range 3 {
			b.down(1)
			b.members[1].Up()
			b.g.Recover()
			time.Sleep(time.Minute)
		}
		if len(r.asked) != 2 || b.state(1) != Quarantined || b.state(2) != Quarantined {
			t.Errorf("asked were %v, and the members are %v", r.asked, b.states())
		}
		b.g.Logout()
		synctest.Wait()
		b.g.Settle(t.Context())
		attempts := map[int]int{}
		for _, i := range []int{1, 2} {
			b.members[i].Script(func(c wire.Call) fake.Outcome {
				if c.Number() == wire.NumberLogin {
					attempts[i]++
					return fake.Beat
				}
				return fake.Answered
			})
		}
		begin := time.Now()
		if rv := b.g.Login(pkcs11.CKU_USER, nil); rv != pkcs11.CKR_OK {
			t.Errorf("login: %v", rv)
		}
		took, stuck := time.Since(begin), b.g.Options().StuckTimeout
		if took < 2*stuck || took > 2*stuck+10*time.Second {
			t.Errorf("the login took %v, with two pads that are given up after %v", took, stuck)
		}
		time.Sleep(time.Hour)
		if attempts[1] != 1 || attempts[2] != 1 || b.state(0) != Ready || b.state(1) != Quarantined || b.state(2) != Quarantined {
			t.Errorf("the pads were asked %v times; the members are %v", attempts, b.states())
		}
	})
}

// F4; field-F6: while the pads are asked, those that are logged in serve.
func TestServiceWhilePadsAreAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, 2, nil)
		b.pads("ab")
		b.members[1].Script(func(c wire.Call) fake.Outcome {
			if c.Number() == wire.NumberLogin {
				return fake.Beat
			}
			return fake.Answered
		})
		done := make(chan pkcs11.RV)
		go func() { done <- b.g.Login(pkcs11.CKU_USER, nil) }()
		time.Sleep(10 * time.Second)
		select {
		case rv := <-done:
			t.Fatalf("the login did not wait for the second pad: %v", rv)
		default:
		}
		begin := time.Now()
		if _, rv := b.random(); rv != pkcs11.CKR_OK || time.Since(begin) > time.Second {
			t.Errorf("meanwhile a call took %v: %v", time.Since(begin), rv)
		}
		if rv := <-done; rv != pkcs11.CKR_OK {
			t.Errorf("login: %v", rv)
		}
	})
}
