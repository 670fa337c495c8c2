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
