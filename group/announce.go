// SPDX-License-Identifier: Apache-2.0

package group

import (
	"slices"
	"time"

	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/wire"
)

// announce notes a creation in the primary's journal before it begins, where
// its end could come in the middle: with several objects, or with key material
// that an older record may be about. A token that takes no record (without a
// login, say) does without. The result is nil if nothing was noted.
func (g *Group) announce(p *Place, h *Hold, sprouts []*sprout) (*record, pkcs11.RV, error) {
	named := !slices.ContainsFunc(sprouts, func(s *sprout) bool { return len(s.identity.Fingerprint) == 0 })
	if !named || len(sprouts) == 1 && (h.fresh || g.alone()) {
		return nil, pkcs11.CKR_OK, nil
	}
	r := record{Op: opCreate, Time: after(h.since), Identity: sprouts[0].identity, With: identities(sprouts[1:])}.pending(g.all())
	r.Open = true
	call := wire.Record{Record: r.encode()}
	if _, err := h.Do(&call); err != nil {
		return nil, 0, err
	}
	switch {
	case call.RV == pkcs11.CKR_OK:
		return &r, pkcs11.CKR_OK, nil
	case blame(call.RV, false) == device:
		return nil, call.RV, nil
	}
	return nil, pkcs11.CKR_OK, nil
}

// conclude ends a creation in the journal. Members that have missed it stand in a
// record if the same key was there before: an older destruction must not hit the new one
// when they return. The primary, if it was lost, learns that the creation is over.
func (g *Group) conclude(p *Place, h *Hold, intent *record, sprouts []*sprout) {
	if intent == nil {
		return
	}
	var on []*link
	for _, l := range g.readyBut(nil) {
		if slices.ContainsFunc(sprouts, func(s *sprout) bool {
			return !slices.ContainsFunc(s.at, func(at At) bool { return at.Seat == l.seat.index && at.Epoch == l.epoch })
		}) {
			continue
		}
		on = append(on, l)
	}
	missed := append(g.names(func(s *seat) bool {
		return !slices.ContainsFunc(on, func(l *link) bool { return l.seat == s })
	}), g.removed()...)
	if len(missed) > 0 && len(sprouts) > 0 && (!h.fresh || !slices.Contains(on, p.link)) {
		over := intent.pending(missed)
		over.Open = false
		g.leaveRecord(on, over)
	}
	g.eraseRecord(p.link, *intent)
}

// age is how long ago something was recorded.
func (r *record) age() time.Duration { return time.Since(r.Time) }
