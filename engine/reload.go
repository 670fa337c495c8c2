// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"reflect"
	"slices"

	"oneslot.dev/oneslot/config"
	"oneslot.dev/oneslot/member"
)

// Reload puts another configuration in force while applications run (rule R5).
// Groups take their new members, roles and options; new groups are appended as
// slots; the slots of groups and members that are gone stay in the list, without
// a token. The identity of a slot never changes, so a new label shows in
// applications that start later, as does group_only.
func (e *Engine) Reload(cfg *config.Config) {
	e.reloading.Lock()
	defer e.reloading.Unlock()
	e.mu.Lock()
	e.config = cfg
	apps := make([]*application, 0, len(e.applications))
	for a := range e.applications {
		apps = append(apps, a)
	}
	e.mu.Unlock()
	for _, a := range apps {
		a.reload(cfg)
	}
}

// catchUp reloads an application that began with a configuration which was
// replaced before the engine knew of the application.
func (e *Engine) catchUp(a *application) {
	e.reloading.Lock()
	defer e.reloading.Unlock()
	if now := e.present(); now != a.began {
		a.reload(now)
	}
}

// Recover has every application try its failed members now (rule R2).
func (e *Engine) Recover() {
	e.mu.Lock()
	apps := make([]*application, 0, len(e.applications))
	for a := range e.applications {
		apps = append(apps, a)
	}
	e.mu.Unlock()
	for _, a := range apps {
		for _, s := range a.allSlots() {
			s.group.Recover()
		}
	}
}

func (a *application) allSlots() []*slot {
	a.mu.RLock()
	defer a.mu.RUnlock()
	return a.slots
}

// reload brings the slots of one application up to date.
func (a *application) reload(cfg *config.Config) {
	known := make(map[uint64]bool)
	var groups []*slot
	for _, s := range a.allSlots() {
		known[s.id] = true
		if s.virtual != nil {
			s.regroup(cfg)
			groups = append(groups, s)
		}
	}
	var fresh []*slot
	for i := range cfg.Groups {
		if g := &cfg.Groups[i]; !known[g.Slot()] {
			s := a.virtualSlot(cfg, g)
			fresh, groups = append(fresh, s), append(groups, s)
		}
	}
	for _, s := range a.allSlots() {
		if m := s.physical; m != nil {
			s.repoint(cfg.Member(m.Name))
		}
	}
	if !cfg.GroupOnly {
		for i := range cfg.Members {
			if m := &cfg.Members[i]; !known[m.Slot()] {
				fresh = append(fresh, a.physicalSlot(m, groups))
			}
		}
	}
	a.adoptSlots(fresh)
}

// adoptSlots appends slots, so that the others keep their places.
func (a *application) adoptSlots(fresh []*slot) {
	a.mu.Lock()
	closed := a.closed
	a.slots = append(slices.Clone(a.slots), fresh...)
	a.mu.Unlock()
	for _, s := range fresh {
		switch {
		case closed:
			s.group.Close()
		case s.virtual != nil:
			s.start()
		}
	}
}

// regroup gives a virtual slot's group its new options and members; none if the
// group is gone.
func (s *slot) regroup(cfg *config.Config) {
	i := slices.IndexFunc(cfg.Groups, func(g config.Group) bool { return g.Name == s.virtual.Name })
	if i < 0 {
		s.group.Reconfigure(*s.virtual, nil)
		return
	}
	g := &cfg.Groups[i]
	s.group.Reconfigure(*g, s.membersOf(cfg, g))
}

// membersOf makes the members of a group. One that is defined as before is the
// one that the group has.
func (s *slot) membersOf(cfg *config.Config, g *config.Group) []member.Member {
	members := make([]member.Member, len(g.Members))
	defined := make(map[string]config.Member)
	for i, name := range g.Members {
		m := *cfg.Member(name)
		defined[name] = m
		if s.group != nil && reflect.DeepEqual(s.defined[name], m) {
			members[i] = s.group.Member(name)
		}
		if members[i] == nil {
			members[i] = s.app.engine.connect(m)
		}
	}
	s.defined = defined
	return members
}

// repoint gives a physical slot its member as it is defined now, if at all.
func (s *slot) repoint(m *config.Member) {
	if m == nil {
		s.group.Reconfigure(config.DefaultGroup(s.physical.Name), nil)
		return
	}
	if reflect.DeepEqual(*m, *s.physical) && s.group.Member(m.Name) != nil {
		return
	}
	s.group.Reconfigure(config.DefaultGroup(m.Name), []member.Member{s.app.engine.connect(*m)})
}
