// SPDX-License-Identifier: Apache-2.0

package group

import "bytes"

// sameDomain refuses a member whose token is in another domain than that of the
// member the group compares with, or in none: it could get no key, and would
// lack each one that is made from now on (R6).
func (g *Group) sameDomain(s *seat) error {
	with := g.reference(s)
	if with == nil {
		return nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if s.about == nil || with.seat.about == nil {
		return nil
	}
	mine, theirs := s.about.Domain, with.seat.about.Domain
	other := with.seat.member.Name()
	switch {
	case bytes.Equal(mine, theirs):
		return nil
	case len(mine) == 0:
		return &mismatch{"its token is in no domain, that of member " + other + " is: keys cannot be copied to it; make it a member with `oneslot domain join`"}
	case len(theirs) == 0:
		return &mismatch{"its token is in a domain, that of member " + other + " is in none: keys cannot be copied between them; make them members of one with `oneslot domain join`"}
	}
	return &mismatch{"its token is in another domain than that of member " + other + ": keys cannot be copied between them; take it out of the group, or initialise it and join it to the group's domain"}
}
