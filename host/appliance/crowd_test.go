// SPDX-License-Identifier: Apache-2.0

package appliance

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"oneslot.dev/oneslot/wire"
)

// A held host lets nobody go until it is told to.
type held struct {
	wire.HostSession
	inside  atomic.Int64
	release chan struct{}
}

func (h *held) wait() {
	h.inside.Add(1)
	<-h.release
	h.inside.Add(-1)
}

func (h *held) Open(wire.View) (wire.HostSession, error) { h.wait(); return h, nil }
func (h *held) Close()                                   { h.wait() }

// N2: whatever a client does, its process is in the vendor's module with a bounded number
// of threads: sessions that begin or end and probes too are no more than calls. Each of
// these takes a thread, and all clients together have those that the unit allows.
func TestSessionsAndProbesAreLimited(t *testing.T) {
	for what, do := range map[string]func(g *guard, h *held){
		"sessions that begin": func(g *guard, _ *held) { g.Open(wire.TokenView) },
		"sessions that end":   func(g *guard, h *held) { (&guarded{HostSession: h, guard: g}).Close() },
		"probes":              func(g *guard, h *held) { (&guarded{guard: g}).Around(context.Background(), &wire.Probe{}, h.wait) },
	} {
		synctest.Test(t, func(t *testing.T) {
			limit := defaultLimits
			limit.Calls = 2
			h := &held{release: make(chan struct{})}
			g := newGuard(h, "ca", Grant{}, &limit, nil, nil, slog.New(slog.DiscardHandler))
			var all sync.WaitGroup
			for range 10 {
				all.Go(func() { do(g, h) })
			}
			synctest.Wait()
			if n := h.inside.Load(); n != 2 {
				t.Errorf("%s: %d are in the module, not 2", what, n)
			}
			// Nobody waits for a probe any more: it is not begun.
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			(&guarded{guard: g}).Around(ctx, &wire.Probe{}, func() { t.Errorf("%s: one more probe", what) })
			close(h.release)
			all.Wait()
		})
	}
}
