// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"context"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/wire"
)

// The process of a connection ends when Serve returns: not in the middle of a call, and
// not never.
func TestAConnectionEndsAfterWhatIsUnderWay(t *testing.T) {
	for name, hangs := range map[string]bool{"call": false, "call that hangs": true} {
		t.Run(name, func(t *testing.T) {
			began, hang := make(chan struct{}), make(chan struct{})
			release := func() { close(hang) }
			bound := ample
			if hangs {
				bound = time.Millisecond
				defer release()
			} else {
				release()
			}
			var finished atomic.Bool
			host := hostFunc{random: func(ctx context.Context, _ *wire.GenerateRandom) pkcs11.RV {
				close(began)
				<-ctx.Done()
				<-hang
				for range 1000 {
					runtime.Gosched()
				}
				finished.Store(true)
				return pkcs11.CKR_OK
			}}
			ours, theirs := loopback(t)
			served := make(chan error, 1)
			go func() { served <- Service{Host: host}.serve(theirs, bound) }()
			client := New(ours)
			session, idle := open(t, client), open(t, client)
			idle.Do(t.Context(), ample, ample, &wire.SeedRandom{})
			go session.Do(t.Context(), ample, ample, random(1))
			<-began
			client.Close()
			if err := <-served; err != nil {
				t.Error(err)
			}
			if finished.Load() == hangs {
				t.Errorf("finished: %v", finished.Load())
			}
		})
	}
}
