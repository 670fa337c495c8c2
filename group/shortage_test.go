// SPDX-License-Identifier: Apache-2.0

package group

import (
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"oneslot.dev/oneslot/member/fake"
	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/wire"
)

// H6, field-I1: when every member is short of sessions a call waits for one that
// becomes free; no member is dropped. Without one it passes the answer on.
func TestShortageOfSessions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, 2, nil)
		var free atomic.Int32
		free.Store(1) // session on each member
		for _, m := range b.members {
			m.Refuse(pkcs11.CKR_SESSION_COUNT)
			var taken atomic.Bool
			m.Script(func(c wire.Call) fake.Outcome {
				if c.Number() != wire.NumberGenerateRandom {
					return fake.Answered
				}
				if free.Load() == 0 || !taken.CompareAndSwap(false, true) {
					return fake.Refused
				}
				time.Sleep(time.Second)
				taken.Store(false)
				return fake.Answered
			})
		}
		var calls sync.WaitGroup
		for range 6 {
			calls.Go(func() {
				if _, rv := b.random(); rv != pkcs11.CKR_OK {
					t.Errorf("with sessions that become free: %v", rv)
				}
			})
		}
		calls.Wait()
		free.Store(0)
		begin := time.Now()
		if _, rv := b.random(); rv != pkcs11.CKR_SESSION_COUNT {
			t.Errorf("without any: %v", rv)
		}
		if d := time.Since(begin); d > 6*time.Second {
			t.Errorf("it waited %v", d)
		}
		for i := range b.members {
			if b.state(i) != Ready {
				t.Errorf("member %d is %v", i, b.state(i))
			}
		}
	})
}

// H6: a member whose journal cannot be read for want of sessions is not dropped:
// one that is ready goes on, one that returns is waited for, and serves only when
// it was told what it missed.
func TestAJournalIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, 2, nil)
		b.login()
		journals := func(m *fake.Member, o func() fake.Outcome) {
			m.Refuse(pkcs11.CKR_SESSION_COUNT)
			m.Script(func(c wire.Call) fake.Outcome {
				if c.Number() == wire.NumberRecords {
					return o()
				}
				return fake.Answered
			})
		}
		var asked atomic.Int32
		refused := func() fake.Outcome { asked.Add(1); return fake.Refused }
		journals(b.members[0], refused)
		time.Sleep(10 * time.Minute) // patrols go on
		if asked.Load() == 0 || b.state(0) != Ready {
			t.Fatalf("asked %d times, the ready member is %v", asked.Load(), b.state(0))
		}
		// The first look finds no session to have, the second uses the anchor.
		turn := 0
		journals(b.members[0], func() fake.Outcome {
			if turn++; turn%2 == 1 {
				return fake.Refused
			}
			return fake.Answered
		})

		b.members[1].Down()
		time.Sleep(time.Second)
		asked.Store(0)
		journals(b.members[1], refused)
		b.members[1].Up()
		time.Sleep(5 * time.Minute)
		if asked.Load() == 0 || b.state(1) != Syncing || b.state(0) != Ready {
			t.Errorf("asked %d times, the returning member is %v, the other %v", asked.Load(), b.state(1), b.state(0))
		}
		if n := b.count(MemberShort); n != 1 {
			t.Errorf("it was told %d times", n)
		}
		b.members[1].Script(nil)
		time.Sleep(time.Minute)
		if b.state(1) != Ready {
			t.Errorf("with a session, the returning member is %v", b.state(1))
		}
	})
}

// count is how many events there were of a kind.
func (b *bench) count(c Code) (n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, e := range b.events {
		if e.Code == c {
			n++
		}
	}
	return n
}
