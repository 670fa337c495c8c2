// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"slices"
	"strings"

	"oneslot.dev/oneslot/control"
	"oneslot.dev/oneslot/group"
	"oneslot.dev/oneslot/pkcs11"
)

// Status is what the engine knows of its applications, groups and members
// (rule O2). Engine and Configuration are for the program to fill in. Every
// application has connections of its own; a group's figures are their sums, its
// members' states the worst that any application sees.
func (e *Engine) Status() control.Status {
	e.mu.Lock()
	apps := make([]*application, 0, len(e.applications))
	for a := range e.applications {
		apps = append(apps, a)
	}
	e.mu.Unlock()
	slices.SortFunc(apps, func(a, b *application) int { return a.begun.Compare(b.begun) })
	status := control.Status{Applications: []control.Application{}, Groups: []control.Group{}}
	byName := map[string]int{}
	for _, a := range apps {
		a.mu.RLock()
		status.Applications = append(status.Applications, control.Application{PID: int(a.pid), Name: a.name, Sessions: len(a.sessions)})
		a.mu.RUnlock()
		for _, s := range a.allSlots() {
			if s.virtual == nil {
				continue
			}
			if i, ok := byName[s.virtual.Name]; ok {
				merge(&status.Groups[i], s.status())
				continue
			}
			byName[s.virtual.Name] = len(status.Groups)
			status.Groups = append(status.Groups, s.status())
		}
	}
	for i := range status.Groups {
		status.Groups[i].State = condition(status.Groups[i].Members)
	}
	return status
}

// status is a group as one application sees it.
func (s *slot) status() control.Group {
	snap := s.group.Snapshot()
	deadlines := s.group.Deadlines()
	g := control.Group{Name: s.virtual.Name, Label: s.virtual.Label, Serial: s.virtual.Serial(), Slot: s.id}
	for i, m := range snap.Members {
		member := control.Member{
			Name: m.Name, Role: control.Active, Primary: i == snap.Primary, State: m.State.String(), Since: m.Since,
			Outstanding: m.Outstanding, Calls: m.Answered, Failures: m.Failures, TokenSerial: m.Serial, Objects: m.Objects,
		}
		if m.PID != 0 {
			member.PID, member.PIDs = m.PID, []int{m.PID}
		}
		if m.Standby {
			member.Role = control.Standby
		}
		if m.Cause != nil {
			member.LastError, member.LastErrorAt = strings.TrimPrefix(m.Cause.Error(), "member "+m.Name+": "), m.CauseAt
		}
		if m.About != nil {
			member.TokenLabel = pkcs11.Unpad(m.About.Token.Label[:])
		}
		for _, d := range deadlines[m.Name] {
			member.Deadlines = append(member.Deadlines, control.Deadline{What: d.What, End: d.End, Warning: d.Warning})
		}
		if member.Primary {
			g.Primary = m.Name
		}
		g.Members = append(g.Members, member)
	}
	return g
}

// merge adds what another application sees of the same group.
func merge(g *control.Group, other control.Group) {
	for i := range g.Members {
		m := &g.Members[i]
		k := slices.IndexFunc(other.Members, func(o control.Member) bool { return o.Name == m.Name })
		if k < 0 {
			continue // that application is just being given other members
		}
		o := &other.Members[k]
		m.Outstanding += o.Outstanding
		m.Calls += o.Calls
		m.Failures += o.Failures
		if o.LastErrorAt.After(m.LastErrorAt) {
			m.LastError, m.LastErrorAt = o.LastError, o.LastErrorAt
		}
		if o.State != group.Ready.String() && m.State == group.Ready.String() {
			m.State, m.Since = o.State, o.Since
		}
		m.PIDs = append(m.PIDs, o.PIDs...)
		if len(o.Deadlines) > len(m.Deadlines) { // the appliance has shown its certificate to that one
			m.Deadlines = o.Deadlines
		}
	}
}

// condition sums up the members' states.
func condition(members []control.Member) string {
	ready, missing := 0, 0
	for _, m := range members {
		switch {
		case m.State == group.Ready.String():
			ready++
		case m.Role == control.Active:
			missing++
		}
	}
	switch {
	case ready == 0:
		return control.Down
	case missing > 0:
		return control.Degraded
	}
	return control.Serving
}
