// SPDX-License-Identifier: Apache-2.0

package group

import (
	"slices"
	"time"

	"oneslot.dev/oneslot/member"
)

// warnEvery is how often it is told again that something of a member ends soon.
const warnEvery = 24 * time.Hour

// Deadlines are what of each member ends some day, by its name. The caller holds
// no lock: files are read.
func (g *Group) Deadlines() map[string][]member.Deadline {
	g.mu.Lock()
	seats := slices.Clone(g.seats)
	g.mu.Unlock()
	all := map[string][]member.Deadline{}
	for _, s := range seats {
		all[s.member.Name()] = member.Deadlines(s.member)
	}
	return all
}

// warn tells ahead of what ends, and what is unsafe, when a member is connected and daily from then
// on. The keeper calls it.
func (g *Group) warn(s *seat) {
	if time.Since(s.warned) < warnEvery {
		return
	}
	for _, d := range member.Deadlines(s.member) {
		if d.Warning != "" {
			s.warned = time.Now()
			g.say(MemberExpires, s, nil, d.Warning)
		}
	}
	for _, text := range member.Dangers(s.member) {
		s.warned = time.Now()
		g.say(MemberExposed, s, nil, text)
	}
}
