// SPDX-License-Identifier: Apache-2.0

package group

import (
	"bytes"
	"errors"
	"fmt"

	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/wire"
)

// viewOf is the view in which sessions of members are opened: one of a group says
// whether key export is permitted (K7).
func (g *Group) viewOf() wire.View {
	if g.view == wire.GroupView && g.option().KeyExport {
		return wire.ExportView
	}
	return g.view
}

// permission is what to permit, so that secrets are copied to or from a member.
const permission = "its token cannot mark a key as trusted, and key export, which is weaker, is not permitted: set key_export = true in the group if keys are to be copied so"

// byExport says whether a member copies by key export. g.mu must not be held.
func (g *Group) byExport(s *seat) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return s.about != nil && len(s.about.Domain) > 0 && !s.about.Cloning
}

// stays says why keys do not leave a member, "" if they do.
func (g *Group) stays(s *seat) string {
	if g.byExport(s) && !g.option().KeyExport {
		return ": " + permission
	}
	return ""
}

// importError is the answer of a member that did not import an object.
func importError(rv pkcs11.RV) error {
	if rv == pkcs11.CKR_ACTION_PROHIBITED {
		return fmt.Errorf("import: %w: %s", rv, permission)
	}
	return fmt.Errorf("import: %w", rv)
}

// errPermission is why a member is left when key_export changes: its sessions were
// opened under the other rule.
var errPermission = errors.New("key_export was changed: connected anew")

// exporters are the connections of the members that copy by key export; g.mu is held.
func (g *Group) exporters() (links []*link) {
	for _, s := range g.seats {
		if s.link != nil && s.about != nil && len(s.about.Domain) > 0 && !s.about.Cloning {
			links = append(links, s.link)
		}
	}
	return links
}

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
