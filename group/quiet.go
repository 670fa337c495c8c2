// SPDX-License-Identifier: Apache-2.0

package group

import (
	"context"
	"errors"
	"time"
)

// A member becomes ready at a moment when nothing changes: after the last look
// at the journals no destruction, change or creation of this process may be
// under way that took it for away. Other processes are seen by their records.

// quietPatience is how long a member that joins waits for changes under way. It
// tries again later, and they go on.
const quietPatience = 2 * time.Second

var errRestless = errors.New("objects are being changed all the time")

// enter begins a change. It is false when the group has ended.
func (g *Group) enter() bool {
	return g.await(g.ctx, func() bool {
		if g.quiet {
			return false
		}
		g.changing++
		return true
	})
}

// exit ends a change.
func (g *Group) exit() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.changing--
	g.changes++
	g.broadcast()
}

// changesSoFar counts the changes that were made or are under way.
func (g *Group) changesSoFar() uint64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.changes
}

// hush runs something while nothing changes. New changes wait for it; one that
// is under way is waited for a little, else it is errRestless.
func (g *Group) hush(run func() error) error {
	if !g.await(g.ctx, func() bool {
		free := !g.quiet
		g.quiet = true
		return free
	}) {
		return g.ctx.Err()
	}
	defer func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.quiet = false
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
