// SPDX-License-Identifier: Apache-2.0

package group

import (
	"maps"

	"oneslot.dev/oneslot/wire"
)

// Searches go to the primary (L3), which has what the others have. It lacks what
// cannot come to it: a key that was made elsewhere so that it stays in its token, or
// that it did not take. Such a key stays usable (K8), so it has to be found, too. What
// a member is seen to hold that another one does not get is noted at its seat for as
// long as its connection lasts.

// A Sole tells the objects of a member that another one does not get from all others.
type Sole map[identityKey]bool

// Has says whether an object that was found on the member is one of them.
func (s Sole) Has(id *wire.Identity) bool { return s[keyOf(id)] }

// keeps notes objects of a member that another one does not get.
func (g *Group) keeps(s *seat, ids ...*wire.Identity) {
	g.mu.Lock()
	defer g.mu.Unlock()
	var grown Sole // searches read the one that is there
	for _, id := range ids {
		switch {
		case s.link == nil || s.sole.Has(id):
			continue
		case grown == nil:
			if grown = maps.Clone(s.sole); grown == nil {
				grown = Sole{}
			}
		}
		grown[keyOf(id)] = true
	}
	if grown != nil {
		s.sole = grown
	}
}

// Beside runs something on every ready member, but one, that holds what another one
// does not get. A member that fails in it is dropped.
func (g *Group) Beside(but int, run func(p *Place, sole Sole) error) {
	type place struct {
		Place
		sole Sole
	}
	var places []place
	g.mu.Lock()
	for _, s := range g.seats {
		if s.index != but && s.state == Ready && len(s.sole) > 0 {
			places = append(places, place{Place{g, s, s.link}, s.sole})
		}
	}
	g.mu.Unlock()
	for i := range places {
		if err := run(&places[i].Place, places[i].sole); isFault(err) {
			g.drop(places[i].link, err)
		}
	}
}

// nameless are the objects that cannot be recognised on another member, as far as that
// has none of the same name. A comparison leaves them out: they may be copies.
func nameless(has, lacks []wire.Identity) (out []wire.Identity) {
	names := make(map[string]bool)
	for i := range lacks {
		if len(lacks[i].Fingerprint) == 0 {
			names[nameOf(&lacks[i])] = true
		}
	}
	for i := range has {
		if len(has[i].Fingerprint) == 0 && !names[nameOf(&has[i])] {
			out = append(out, has[i])
		}
	}
	return out
}
