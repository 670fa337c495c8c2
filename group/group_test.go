// SPDX-License-Identifier: Apache-2.0

package group

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"oneslot.dev/oneslot/config"
	"oneslot.dev/oneslot/member"
	"oneslot.dev/oneslot/member/fake"
	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/wire"
)

const pin = "1234"

// A bench is a group of fake members with what a test needs to look at it.
type bench struct {
	t       *testing.T
	g       *Group
	members []*fake.Member

	mu     sync.Mutex
	events []Event
}

// start makes a started group of n members, a, b, c …, all of them ready.
func start(t *testing.T, n int, change func(*config.Group)) *bench {
	b := &bench{t: t}
	options := config.DefaultGroup("g")
	options.Members = nil
	var members []member.Member
	for i := range n {
		name := string(rune('a' + i))
		b.members = append(b.members, fake.New(name, pin))
		members = append(members, b.members[i])
		options.Members = append(options.Members, name)
	}
	if change != nil {
		change(&options)
	}
	b.g = New(options, members, wire.GroupView, func(e Event) {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.events = append(b.events, e)
	})
	b.g.Start()
	b.g.Settle(t.Context())
	t.Cleanup(b.g.Close)
	return b
}

func membersOf(b *bench) (members []member.Member) {
	for _, m := range b.members {
		members = append(members, m)
	}
	return members
}

func (b *bench) login() {
	b.t.Helper()
	if rv := b.g.Login(pkcs11.CKU_USER, pkcs11.PIN(pin)); rv != pkcs11.CKR_OK {
		b.t.Fatalf("login: %v", rv)
	}
	b.g.Settle(b.t.Context())
}

// down takes a member away and waits until the group has noticed.
func (b *bench) down(i int) {
	b.members[i].Down()
	synctest.Wait()
}

func (b *bench) state(i int) State { return b.g.Snapshot().Members[i].State }

// await waits, in fake time, until a member is in a state.
func (b *bench) await(i int, want State) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.t.Context(), time.Hour)
	defer cancel()
	if !b.g.await(ctx, func() bool { return b.g.seats[i].state == want }) {
		b.t.Fatalf("member %d is %v after an hour, want %v", i, b.state(i), want)
	}
}

// random asks the group for random bytes and returns who answered.
func (b *bench) random() (string, pkcs11.RV) {
	call := wire.GenerateRandom{RandomRoom: wire.Room{Capacity: 16}}
	rv, _ := b.g.Do(wire.Use, Balance, func(p *Place) (pkcs11.RV, error) {
		_, err := p.Do(&call)
		return call.RV, err
	})
	if rv != pkcs11.CKR_OK {
		return "", rv
	}
	return string(call.Random.Data[:len(call.Random.Data)-8]), rv
}

// generate creates a key on the group.
func (b *bench) generate(label string) ([]Created, pkcs11.RV) {
	return b.g.Create(func(h *Hold) ([]uint64, pkcs11.RV, error) {
		call := wire.GenerateKey{Template: pkcs11.Template{pkcs11.Bytes(pkcs11.CKA_LABEL, []byte(label))}}
		_, err := h.Do(&call)
		return []uint64{call.Key}, call.RV, err
	})
}

// resolve is the engine's way from an identity to a member's handle.
func resolve(id wire.Identity) Resolver {
	return func(p *Place, _ uint64) (uint64, pkcs11.RV, error) {
		call := wire.Resolve{Wanted: id}
		if _, err := p.Do(&call); err != nil || call.RV != pkcs11.CKR_OK {
			return 0, call.RV, err
		}
		if len(call.Found) == 0 {
			return 0, 0, ErrElsewhere
		}
		return call.Found[0].Object, pkcs11.CKR_OK, nil
	}
}

// equal checks that all members hold the same n keys.
func (b *bench) equal(n int) {
	b.t.Helper()
	for i, m := range b.members {
		if keys := m.Token.Keys(); len(keys) != n || !slices.Equal(keys, b.members[0].Token.Keys()) {
			b.t.Errorf("member %d holds %v, want %d keys as on member 0: %v", i, keys, n, b.members[0].Token.Keys())
		}
	}
}

func TestWorkMovesAwayFromAMemberThatDies(t *testing.T) {
	for _, outcome := range []fake.Outcome{fake.LostBefore, fake.LostAfter, fake.Refused} {
		synctest.Test(t, func(t *testing.T) {
			b := start(t, 3, nil)
			b.members[0].Once(wire.NumberGenerateRandom, outcome)
			var calls sync.WaitGroup
			for range 16 {
				calls.Go(func() {
					for range 20 {
						if _, rv := b.random(); rv != pkcs11.CKR_OK {
							t.Errorf("outcome %d: %v", outcome, rv)
						}
					}
				})
			}
			calls.Wait()
			b.await(0, Ready) // and it is taken back (R1)
		})
	}
}

// F1, F2, F3; field-G4: silence costs a member its place after the probe timeout; beating
// without an end after the stuck timeout.
func TestSilenceAndStuckness(t *testing.T) {
	for _, c := range []struct {
		name    string
		outcome fake.Outcome
		all     bool // every call, the probe too
		most    time.Duration
	}{
		{"a member that is stopped", fake.Hang, true, 6 * time.Second},
		{"a call that hangs without heartbeat", fake.Hang, false, 21 * time.Second},
		{"a call that only beats", fake.Beat, false, 61 * time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			b := start(t, 2, nil)
			b.members[0].Script(func(call wire.Call) fake.Outcome {
				if call.Number() == wire.NumberGenerateRandom || c.all {
					return c.outcome
				}
				return fake.Answered
			})
			begin := time.Now()
			for range 4 { // both members are asked
				if who, rv := b.random(); rv != pkcs11.CKR_OK || who != "serial-b" {
					t.Errorf("%s: answered by %q: %v", c.name, who, rv)
				}
			}
			if d := time.Since(begin); d > c.most || d < time.Second {
				t.Errorf("%s: work moved on after %v, want at most %v", c.name, d, c.most)
			}
		})
	}
}

// F2, F3; field-G4: a token that hangs behind a process that answers is given up, and
// stays out until it works again, however often it is connected with.
func TestAGrayMemberStaysOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, 2, nil)
		ready := 0
		gray := func(call wire.Call) fake.Outcome {
			switch call.Number() {
			case wire.NumberGenerateRandom, wire.NumberProbe:
				return fake.Beat
			}
			return fake.Answered
		}
		b.members[0].Script(gray)
		b.await(0, Down)
		b.mu.Lock()
		b.events = nil
		b.mu.Unlock()
		for range 100 {
			begin := time.Now()
			if who, rv := b.random(); rv != pkcs11.CKR_OK || who != "serial-b" || time.Since(begin) > time.Second {
				t.Fatalf("answered by %q after %v: %v", who, time.Since(begin), rv)
			}
			time.Sleep(7 * time.Second)
		}
		b.mu.Lock()
		for _, e := range b.events {
			if e.Code == MemberReady {
				ready++
			}
		}
		b.mu.Unlock()
		if ready > 0 {
			t.Errorf("it was taken back %d times", ready)
		}
		b.members[0].Script(nil)
		b.await(0, Ready)
	})
}

// F2, field-G3: a slow key generation is no failure, and makes one key.
func TestSlowIsNotDead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, 2, nil)
		b.login()
		slow := time.Now().Add(100 * time.Second)
		b.members[0].Script(func(call wire.Call) fake.Outcome {
			if call.Number() == wire.NumberGenerateKey {
				for time.Now().Before(slow) {
					time.Sleep(wire.Heartbeat)
				}
			}
			return fake.Answered
		})
		if _, rv := b.generate("k"); rv != pkcs11.CKR_OK {
			t.Fatal(rv)
		}
		if n := b.members[1].Token.Executed(wire.NumberGenerateKey); n != 0 {
			t.Errorf("the other member made %d keys", n)
		}
		b.equal(1)
	})
}

// F6: what the members agree on is the request's fault, and nobody is dropped.
func TestUnclearErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, 3, nil)
		for _, m := range b.members {
			m.Refuse(pkcs11.CKR_FUNCTION_FAILED)
			m.Script(func(call wire.Call) fake.Outcome {
				if call.Number() == wire.NumberGenerateRandom {
					return fake.Refused
				}
				return fake.Answered
			})
		}
		if _, rv := b.random(); rv != pkcs11.CKR_FUNCTION_FAILED {
			t.Errorf("all agree: %v", rv)
		}
		for i := range b.members {
			if b.state(i) != Ready {
				t.Errorf("member %d is %v for a fault of the request", i, b.state(i))
			}
		}
		b.members[1].Script(nil)
		b.members[2].Script(nil)
		for range 3 {
			if _, rv := b.random(); rv != pkcs11.CKR_OK {
				t.Errorf("one is wrong: %v", rv)
			}
		}
		if b.g.Snapshot().Members[0].Failures == 0 {
			t.Error("the member that was wrong alone was not dropped")
		}
	})
}

// G5: with all members lost calls fail in bounded time, and work again when
// one is back, with the login it had (R4).
func TestTotalLossAndReturn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, 2, nil)
		b.login()
		b.down(0)
		b.down(1)
		begin := time.Now()
		if _, rv := b.random(); rv != pkcs11.CKR_DEVICE_ERROR {
			t.Errorf("nobody is there: %v", rv)
		}
		if d := time.Since(begin); d > 6*time.Second {
			t.Errorf("the call failed after %v", d)
		}
		time.Sleep(5 * time.Minute)
		b.members[1].Up()
		b.await(1, Ready)
		if _, rv := b.generate("k"); rv != pkcs11.CKR_OK {
			t.Errorf("after the return: %v", rv)
		}
	})
}

// R1: attempts come quickly first, then at the interval; recovery_attempts ends
// them, and an order starts them again (R2).
func TestRecoveryAttempts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, 2, func(g *config.Group) { g.RecoveryAttempts = 5 })
		b.down(0)
		time.Sleep(time.Second)
		if n := b.members[0].Tries(); n < 3 {
			t.Errorf("%d attempts in the first second", n)
		}
		time.Sleep(24 * time.Hour)
		if n := b.members[0].Tries(); n != 1+5 {
			t.Errorf("%d attempts in all, want 1 and then 5", n)
		}
		b.members[0].Up()
		time.Sleep(time.Hour)
		if b.state(0) != Down {
			t.Error("it was taken back though its attempts were used up")
		}
		b.g.Recover()
		b.await(0, Ready)
	})
}

func TestManualRecovery(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, 2, func(g *config.Group) { g.Recovery = config.RecoverManual })
		b.down(0)
		b.members[0].Up()
		time.Sleep(time.Hour)
		if b.state(0) != Down {
			t.Fatal("it was taken back without an order")
		}
		b.g.Recover()
		b.await(0, Ready)
	})
}

func TestPauseDoublesUpToTheInterval(t *testing.T) {
	for failed, want := range map[int]time.Duration{
		1: 50 * time.Millisecond, 2: 100 * time.Millisecond, 6: 1600 * time.Millisecond, 12: time.Minute, 1000: time.Minute,
	} {
		if got := pause(failed, time.Minute); got > want || got < want*4/5 {
			t.Errorf("after %d failures: %v, want %v less at most a fifth", failed, got, want)
		}
	}
}

func TestFlappingMemberIsHeldDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, 2, nil)
		for range 20 {
			b.await(0, Ready)
			b.down(0)
			b.members[0].Up()
		}
		begin := time.Now()
		b.await(0, Ready)
		if d := time.Since(begin); d < 30*time.Second {
			t.Errorf("after 20 quick failures it was taken back after %v", d)
		}
	})
}

func ExampleState() {
	fmt.Println(Connecting, Syncing, Ready, Down, Quarantined)
	// Output: connecting syncing ready down quarantined
}
