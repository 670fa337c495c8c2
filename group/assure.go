// SPDX-License-Identifier: Apache-2.0

package group

import (
	"errors"
	"sync"
	"sync/atomic"

	"oneslot.dev/oneslot/member"
	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/wire"
)

// When members are examined (format.go). It takes a key pair and a signature, so it is done
// once for each connection, which is a member process, and for those applications only
// that have to do with such signatures: their first Init of one examines all members that
// are ready, at once, and from then on one that comes back is examined before it is
// ready. So all others, and every start, cost nothing; nothing is signed or verified by a
// member that was not examined. Without a login no token makes such a key. A member alone
// is unlike nobody.

// assurance is what is known of the format of the members' signatures.
type assurance struct {
	turn   chan struct{}
	done   atomic.Bool // all that are ready were examined
	wanted bool        // the application has to do with such signatures; guarded by Group.mu
}

// Assure has each member that is ready examined. Callers use it before anything that the
// format matters for.
func (g *Group) Assure() {
	if g.assurance.done.Load() || g.view == wire.TokenView {
		return
	}
	g.assurance.turn <- struct{}{} // for as long as calls to members take
	defer func() { <-g.assurance.turn }()
	if g.assurance.done.Load() {
		return
	}
	g.mu.Lock()
	if g.user == nil || g.user.kind != pkcs11.CKU_USER || len(g.seats) < 2 {
		g.mu.Unlock()
		return
	}
	g.assurance.wanted = true
	login := g.logins
	var links []*link
	for _, s := range g.seats {
		if s.state == Ready && !s.link.examined {
			links = append(links, s.link)
		}
	}
	g.mu.Unlock()
	var all sync.WaitGroup
	for _, l := range links {
		all.Go(func() {
			err := g.examine(l)
			switch {
			case errors.As(err, new(*mismatch)):
				g.expel(l, err)
			case err != nil:
				g.drop(l, err)
			}
		})
	}
	all.Wait()
	g.mu.Lock()
	g.assurance.done.Store(login == g.logins)
	g.mu.Unlock()
}

// reassure has the members examined anew, as far as they were not. g.mu is held.
func (g *Group) reassure() { g.assurance.done.Store(false) }

// isToExamine says whether a member is to be examined before it is ready.
func (g *Group) isToExamine(l *link) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.unexamined(l)
}

// unexamined is isToExamine; g.mu is held.
func (g *Group) unexamined(l *link) bool {
	return g.assurance.wanted && !l.examined && g.user != nil && g.user.kind == pkcs11.CKU_USER && len(g.seats) > 1
}

// examine examines a member. The error is why it cannot be used.
func (g *Group) examine(l *link) error {
	if !l.useOnly() {
		s, err := l.conn.Open(wire.TokenView)
		if err != nil {
			return err
		}
		defer s.Close()
		err = Examine(g.ctx, s, member.Limits{Silence: g.option().CommandTimeout, Stuck: g.option().StuckTimeout}, l.conn.Token())
		if err != nil && !errors.Is(err, ErrNotExamined) {
			return err
		}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	l.examined = true // or it cannot be
	return nil
}

// expel quarantines a member that serves, or is to serve, by this connection.
func (g *Group) expel(l *link, cause error) { g.part(l, Quarantined, cause) }
