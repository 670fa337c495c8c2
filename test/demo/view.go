// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"oneslot.dev/oneslot/control"
	"oneslot.dev/oneslot/test/cluster"
)

// A view shows members and application side by side.
type view struct {
	out     *screen
	cluster *cluster.Cluster
	begin   time.Time

	mu      sync.Mutex // guards what follows
	states  map[string]string
	pids    map[string]int
	started map[string]int    // process of the member that was struck
	calls   map[string]uint64 // of each member
}

func (v *view) heads() string {
	var b strings.Builder
	for _, name := range v.cluster.Members {
		fmt.Fprintf(&b, "%-8s", name)
	}
	return b.String()
}

// second prints what the application did in one second.
func (v *view) second(n int, r result) {
	v.mu.Lock()
	var b strings.Builder
	for _, name := range v.cluster.Members {
		fmt.Fprintf(&b, "%-8.7s", v.states[name])
	}
	v.mu.Unlock()
	colour := plain
	if r.failed+r.wrong > 0 {
		colour = red
	}
	v.out.paint(colour, fmt.Sprintf("   %3ds  %s  %12d  %9d  %12v", n, b.String(), r.verified, r.failed+r.wrong, r.longest))
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
	v.pids, v.calls = map[string]int{}, map[string]uint64{}
	for _, m := range members {
		before := v.states[m.Name]
		v.states[m.Name], v.pids[m.Name], v.calls[m.Name] = m.State, m.PID, m.Calls
		if before != "" && before != m.State && v.started[m.Name] != 0 {
			v.say(m)
		}
	}
}

// say tells of a change of a member that was struck; v.mu is held.
func (v *view) say(m control.Member) {
	switch m.State {
	case "ready":
		if m.PID != v.started[m.Name] {
			v.out.paint(green, fmt.Sprintf("   --->  member %s is back in a new process, without help, and gets work", m.Name))
		}
	case "down", "quarantined":
		v.out.paint(amber, fmt.Sprintf("   --->  member %s is %s: %s", m.Name, m.State, m.LastError))
	}
}

// strike does harm to a member.
func (v *view) strike(member, what string, blow func(string) error) error {
	v.mu.Lock()
	if v.started == nil {
		v.started = map[string]int{}
	}
	v.started[member] = v.pids[member]
	pid := v.pids[member]
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
	first := uint64(0)
	back := false
	return await(ctx, "member "+member+" comes back", func() (bool, error) {
		v.mu.Lock()
		defer v.mu.Unlock()
		if v.states[member] != "ready" || v.pids[member] == 0 || v.pids[member] == v.started[member] {
			return false, nil
		}
		if !back {
			back, first = true, v.calls[member]
		}
		return v.calls[member] > first, nil
	})
}
