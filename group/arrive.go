// SPDX-License-Identifier: Apache-2.0

package group

import (
	"context"
	"time"

	"oneslot.dev/oneslot/wire"
)

// An application is served as soon as one member is ready; the others join as in
// any recovery. What needs them all waits for them here, as long as C_Initialize
// would have: a login, a creation, for its copies (K1, K3), other changes, what the
// tokens have in common (G3, G8), and a search that found nothing.

// arrivalPatience is how long members that start are waited for.
const arrivalPatience = 4 * time.Second

// expect has what needs every member wait for those that start now, or follow a
// login. g.mu must be held.
func (g *Group) expect(patience time.Duration) {
	if until := time.Now().Add(patience); until.After(g.arriving) {
		g.arriving = until
	}
}

// arrived ends that, once each member is ready or has failed. One that comes back
// later is not waited for. g.mu must be held.
func (g *Group) arrived() {
	for _, s := range g.seats {
		if s.state == Connecting || s.state == Syncing {
			return
		}
	}
	g.arriving = time.Time{}
}

// awaitArrivals waits until some condition holds or every member has arrived, or
// the patience is over. It is true if it had to wait. g.mu is held for the
// condition.
func (g *Group) awaitArrivals(enough func() bool) (waited bool) {
	g.mu.Lock()
	until := g.arriving
	g.mu.Unlock()
	if !time.Now().Before(until) {
		return false // nobody is expected, or for too long
	}
	ctx, cancel := context.WithDeadline(g.ctx, until)
	defer cancel()
	g.await(ctx, func() bool {
		if g.arriving.IsZero() || enough() {
			return true
		}
		waited = true
		return false
	})
	return waited
}

// AwaitArrivals waits while members start, or follow a login. It is true if it had
// to: then there may be more to find than before.
func (g *Group) AwaitArrivals() bool { return g.awaitArrivals(func() bool { return false }) }

// Told counts what changed in what About returns: it is the same as long as that is.
func (g *Group) Told() uint64 { return g.told.Load() }

// About is what the tokens of the group said of themselves. While members start
// it waits for what they say, since it is to stay the same (G3, G8).
func (g *Group) About() (about []*wire.Description) {
	g.awaitArrivals(func() bool {
		for _, s := range g.seats {
			if s.about == nil && s.state == Connecting {
				return false
			}
		}
		return true
	})
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, s := range g.seats {
		if s.about != nil {
			about = append(about, s.about)
		}
	}
	return about
}
