// SPDX-License-Identifier: Apache-2.0

package group

import (
	"context"
	"errors"
	"time"
)

// A member becomes ready only if no destruction, change or creation of this
// process was under way since its last comparison that took it for away, and no
// other member has become ready that it was not compared with. So that this comes to an end, new
// changes wait a little for a member that is about to be admitted. Other
// processes are seen by their records.

const (
	// quietPatience is how long a member that joins waits for changes under
	// way. It tries again later, and they go on.
	quietPatience = 2 * time.Second

	// changePatience is how long a change waits for a member that joins. Then
	// the change goes on, and the member is compared again.
	changePatience = time.Second
)

var errRestless = errors.New("objects are being changed all the time")

// A moment is what has happened to a group so far.
type moment struct{ changes, admissions uint64 }

func (g *Group) now() moment {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.moment
}

// enter begins a change. It is false when the group has ended.
func (g *Group) enter() bool {
	g.AwaitArrivals()
	ctx, cancel := context.WithTimeout(g.ctx, changePatience)
	defer cancel()
	g.await(ctx, func() bool { return g.quiet == 0 })
	if g.ctx.Err() != nil {
		return false
	}
	g.reenter()
	return true
}

// reenter goes on with a change.
func (g *Group) reenter() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.changing++
	g.moment.changes++
}

// exit ends a change.
func (g *Group) exit() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.changing--
	g.moment.changes++
	g.broadcast()
}

// hush runs something while new changes wait. One that is under way is waited
// for a little, else it is errRestless.
func (g *Group) hush(run func() error) error {
	g.mu.Lock()
	g.quiet++
	g.mu.Unlock()
	defer func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.quiet--
		g.broadcast()
	}()
	ctx, cancel := context.WithTimeout(g.ctx, quietPatience)
	defer cancel()
	if !g.await(ctx, func() bool { return g.changing == 0 }) {
		return errRestless
	}
	return run()
}

// broadcast wakes whoever awaits a condition. g.mu must be held.
func (g *Group) broadcast() {
	close(g.changed)
	g.changed = make(chan struct{})
}
