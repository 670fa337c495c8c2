// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"oneslot.dev/oneslot/test/cluster"
)

// A view shows members and application side by side.
type view struct {
	out     *screen
	cluster *cluster.Cluster

	mu     sync.Mutex // guards what follows
	log    *log
	states map[string]string
	pids   map[string]int
	calls  map[string]uint64 // answered by each member
	struck map[string]int    // members that were struck and are not back: process
}

func (v *view) heads() string {
	var b strings.Builder
	for _, name := range v.cluster.Members {
		fmt.Fprintf(&b, "%-12s", name)
	}
	return b.String()
}

// second prints what the application did in one second.
func (v *view) second(n int, r result) {
	v.mu.Lock()
	var b strings.Builder
	for _, name := range v.cluster.Members {
		fmt.Fprintf(&b, "%-12s", v.states[name])
	}
	v.mu.Unlock()
	colour := plain
	if r.failed+r.wrong > 0 {
		colour = red
	}
	v.out.paint(colour, fmt.Sprintf("   %3ds  %s%12d  %6d  %12v", n, b.String(), r.verified, r.failed+r.wrong, r.longest))
}

// watch says when a member leaves or comes back.
func (v *view) watch(ctx context.Context) {
	tick := time.NewTicker(glance)
	defer tick.Stop()
	for {
		v.look()
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

func (v *view) look() {
	members := states(v.cluster)
	v.mu.Lock()
	defer v.mu.Unlock()
	v.log.each(v.noticed)
	v.pids, v.calls = map[string]int{}, map[string]uint64{}
	for _, m := range members {
		v.states[m.Name], v.pids[m.Name], v.calls[m.Name] = m.State, m.PID, m.Calls
		if struck := v.struck[m.Name]; struck != 0 && m.State == "ready" && m.PID != 0 && m.PID != struck {
			delete(v.struck, m.Name)
			v.out.paint(green, fmt.Sprintf("   --->  member %s is back by itself, as process %d", m.Name, m.PID))
		}
	}
}

// noticed repeats what the engine's log says of a member that was struck; v.mu
// is held.
func (v *view) noticed(e entry) {
	if e["event"] == "member-down" && v.struck[e["member"]] != 0 {
		v.out.paint(amber, "   --->  engine: "+e["msg"])
	}
}

// strike does harm to a member.
func (v *view) strike(member, what string, blow func(string) error) error {
	v.mu.Lock()
	pid := v.pids[member]
	v.struck[member] = pid
	v.mu.Unlock()
	v.out.paint(red, fmt.Sprintf("   --->  member %s, process %d, %s", member, pid, what))
	return blow(member)
}

// all waits until every member is in this state.
func (v *view) all(ctx context.Context, state string) error {
	return await(ctx, "all members are "+state, func() (bool, error) {
		v.mu.Lock()
		defer v.mu.Unlock()
		for _, name := range v.cluster.Members {
			if v.states[name] != state {
				return false, nil
			}
		}
		return true, nil
	})
}

// recovers waits until a member is back in a new process and gets work.
func (v *view) recovers(ctx context.Context, member string) error {
	var before *uint64
	return await(ctx, "member "+member+" comes back", func() (bool, error) {
		v.mu.Lock()
		defer v.mu.Unlock()
		now := v.calls[member]
		switch {
		case v.struck[member] != 0 || v.states[member] != "ready":
			before = nil
		case before == nil:
			before = &now
		}
		return before != nil && now > *before, nil
	})
}
