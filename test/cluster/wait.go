// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"
	"time"

	"oneslot.dev/oneslot/control"
)

// Patience is how long a condition may take to come about. It says nothing of
// how long it should: the machine may be very busy.
const Patience = 90 * time.Second

// pause is between two looks at a condition.
const pause = 20 * time.Millisecond

// Status is what `oneslot status` shows, without starting it each time.
func (c *Cluster) Status() ([]control.Status, error) {
	ctx, cancel := context.WithTimeout(context.Background(), Patience)
	defer cancel()
	return control.Engines(ctx, c.runtime) // an engine that does not answer is in there
}

// Groups is the group as each engine sees it.
func (c *Cluster) Groups() ([]control.Group, error) {
	engines, err := c.Status()
	var groups []control.Group
	for _, e := range engines {
		groups = append(groups, e.Groups...)
	}
	return groups, err
}

// Await looks at something until it holds.
func Await(what string, holds func() (bool, error)) error {
	for end := time.Now().Add(Patience); ; time.Sleep(pause) {
		ok, err := holds()
		switch {
		case ok:
			return nil
		case time.Now().Before(end):
		case err != nil:
			return fmt.Errorf("waited in vain: %s: %w", what, err)
		default:
			return fmt.Errorf("waited in vain: %s", what)
		}
	}
}

// Wait waits until there is an engine and a member is as wanted in all of them.
func (c *Cluster) Wait(member, what string, holds func(control.Member) bool) error {
	var last []control.Member
	err := Await("member "+member+" "+what, func() (bool, error) {
		groups, err := c.Groups()
		last = nil
		good := len(groups) > 0
		for _, g := range groups {
			for _, m := range g.Members {
				if m.Name == member {
					last = append(last, m)
					good = good && holds(m)
				}
			}
		}
		return good && err == nil, err
	})
	if err != nil {
		return fmt.Errorf("%w: %+v", err, last)
	}
	return nil
}

// Ready waits until the members are ready: all of them, if none is named.
func (c *Cluster) Ready(members ...string) error {
	if len(members) == 0 {
		members = c.Members
	}
	for _, name := range members {
		if err := c.Wait(name, "is ready", func(m control.Member) bool { return m.State == "ready" }); err != nil {
			return err
		}
	}
	return nil
}

// Gone waits until the member is noticed to be away.
func (c *Cluster) Gone(member string) error {
	return c.Wait(member, "is down", func(m control.Member) bool { return m.State == "down" || m.State == "connecting" })
}

// Works waits until a member answers more calls than it had when asked first, in
// every engine that runs.
func (c *Cluster) Works(member string) error {
	first := map[string]uint64{}
	return Await("member "+member+" gets work", func() (bool, error) {
		engines, err := c.Status()
		asked, more := 0, 0
		for _, e := range engines {
			for _, g := range e.Groups {
				for _, m := range g.Members {
					if m.Name != member {
						continue
					}
					key := fmt.Sprint(e.Engine.PID, g.Name) // engines come and go meanwhile
					if _, seen := first[key]; !seen {
						first[key] = m.Calls
					}
					asked++
					if m.Calls > first[key] {
						more++
					}
				}
			}
		}
		return asked > 0 && more == asked, err
	})
}
