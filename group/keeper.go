// SPDX-License-Identifier: Apache-2.0

package group

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/wire"
)

const (
	// connectTimeout bounds one attempt to connect, in which a vendor module
	// is loaded and initialised.
	connectTimeout = 30 * time.Second

	// owingPause is when a member is compared again that has objects for
	// another which was just being filled by another process.
	owingPause = 10 * time.Second

	// steadyTime is how long a member must have been connected for its past
	// failures to be forgotten, so that a flapping one is held down longer
	// and longer.
	steadyTime = 10 * time.Second
)

// keep lives the life of a member (doc.go) until the group is closed.
func (g *Group) keep(s *seat) {
	failed := 0
	for {
		begin := time.Now()
		l, err := g.connect(s)
		g.warn(s)
		switch {
		case s.hasLeft():
			g.vacate(l)
			return
		case errors.As(err, new(*mismatch)):
			g.quarantine(s, l, err)
		case err != nil:
			g.fail(s, err)
		default:
			g.live(s, l)
		}
		if g.ctx.Err() != nil {
			return
		}
		if time.Since(begin) > steadyTime {
			failed = 0
		}
		failed++
		if !g.rest(s, failed) {
			return
		}
	}
}

// A mismatch is a reason why only an operator can take a member back (R6).
type mismatch struct{ what string }

func (m *mismatch) Error() string { return m.what }

// connect makes a new connection and leaves the member syncing.
func (g *Group) connect(s *seat) (*link, error) {
	ctx, cancel := context.WithTimeout(g.ctx, connectTimeout)
	defer cancel()
	conn, err := s.member.Connect(ctx)
	if err != nil {
		return nil, err
	}
	g.mu.Lock()
	g.epochs++
	epoch := g.epochs
	seen := s.serial
	g.mu.Unlock()
	l, err := g.newLink(s, conn, epoch)
	if err != nil {
		l.close()
		return nil, err
	}
	about := conn.Token()
	serial := pkcs11.Unpad(about.Token.Serial[:])
	if seen != "" && seen != serial {
		return l, &mismatch{fmt.Sprintf("the token has serial number %s, not %s as before: if it was replaced, say so in the configuration", serial, seen)}
	}
	g.mu.Lock()
	s.link, s.serial, s.about, s.login = l, serial, about, 0
	g.told.Add(1)
	event := g.move(s, Syncing, nil)
	g.mu.Unlock()
	g.report(event)
	return l, nil
}

// fail notes that an attempt to connect failed.
func (g *Group) fail(s *seat, cause error) {
	g.mu.Lock()
	event := g.move(s, Down, cause)
	g.mu.Unlock()
	if g.ctx.Err() == nil {
		g.report(event)
	}
}

// live brings a connected member up to date and keeps it so, until its
// connection is gone.
func (g *Group) live(s *seat, l *link) {
	g.lives.Go(func() { g.probe(l) })
	waiting := false
	for !s.hasLeft() {
		if !g.isReady(s, l) {
			err := g.restore(s, l)
			switch {
			case g.ctx.Err() != nil:
				l.close()
				return
			case errors.As(err, new(*mismatch)):
				g.expel(l, err)
				return
			case isShort(err):
				if !waiting {
					g.say(MemberShort, s, err, "it is asked again until it has a session")
				}
				waiting = true
				if err = g.wait(l); err == nil {
					continue
				}
				g.drop(l, err)
				return
			case err != nil:
				g.drop(l, err)
				return
			}
		}
		if !g.outdated(s, l) && !g.watch(s, l) {
			return
		}
	}
	g.drain(s, l)
}

// watch waits until there is something to do for a member that is ready. It is
// false when the connection is over.
func (g *Group) watch(s *seat, l *link) bool {
	pause := g.option().RecoveryInterval
	if g.isOwing(s) {
		pause = min(pause, owingPause)
	}
	look := time.NewTimer(pause)
	defer look.Stop()
	select {
	case <-s.kick:
	case <-look.C:
		g.warn(s)
		g.patrol(l)
	case <-draining(l.conn):
		g.drain(s, l)
		return false
	case <-s.left:
	case <-l.conn.Done():
		g.drop(l, l.conn.Err())
		return false
	case <-g.ctx.Done():
		l.close()
		return false
	}
	return true
}

// patrol looks into the journal of a member that is ready for what other processes left
// there: they may have died, or have taken for away who is ready here.
func (g *Group) patrol(l *link) {
	var err error
	if g.isOwing(l.seat) {
		err = g.catchUp(l)
	} else {
		err = g.lookAround(l)
	}
	if err != nil && !errors.Is(err, errRestless) && !errors.Is(err, errFilling) && !isShort(err) && g.ctx.Err() == nil {
		g.drop(l, err)
	}
}

func (g *Group) isOwing(s *seat) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return s.owing
}

func (g *Group) lookAround(l *link) error {
	_, err := g.inTurn(g.ctx, func() (bool, error) {
		_, records, err := g.readRecords(l)
		if err != nil || !slices.ContainsFunc(records, func(r record) bool { return !r.isRoster() }) {
			return false, err
		}
		with := g.reference(l.seat)
		if with != nil {
			entries, err := g.journal([]*link{l, with})
			if err = errors.Join(g.dropFailed(err, l), g.inherit(l, with, entries)); err != nil && !errors.Is(err, errFilling) {
				return false, err
			}
		}
		err = g.hush(func() error {
			_, err := g.settleJournal(l)
			return err
		})
		if err != nil || !g.isToGet(l) {
			return false, err
		}
		return g.equalise(&comparison{link: l, refused: make(map[refusal]bool)}, false)
	})
	return err
}

func (g *Group) isReady(s *seat, l *link) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return s.link == l && s.state == Ready
}

// outdated says whether the login changed while a member was brought up to date.
func (g *Group) outdated(s *seat, l *link) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return s.link == l && s.state == Syncing
}

// restore gives a member the group's login and what it missed (R3, R4).
func (g *Group) restore(s *seat, l *link) error {
	if g.view == wire.GroupView {
		if err := g.sameDomain(s); err != nil {
			return err // before it gets a PIN
		}
	}
	if s.hasFailed(g) {
		// It can be reached, as before. Whether the token works again it has to
		// show, or calls would meet it hanging each time it is back (field-G4).
		if err := g.ask(l, l.anchor, g.option().ProbeTimeout); err != nil {
			return err
		}
	}
	if err := g.settlePIN(l); err != nil {
		return err
	}
	if err := g.follow(s, l); err != nil {
		return err
	}
	if g.view == wire.TokenView {
		g.admit(s, l, g.now()) // a physical slot is alone with its objects
		return nil
	}
	if g.isToExamine(l) {
		if err := g.examine(l); err != nil {
			return err
		}
	}
	return g.sync(s, l)
}

// admit makes a member ready, unless something happened since begun that it may
// have missed: then it is false. One that was dropped, or that lacks the present
// login, is left as it is.
func (g *Group) admit(s *seat, l *link, begun moment) bool {
	g.mu.Lock()
	if s.link != l || s.state != Syncing || s.login != g.logins {
		g.mu.Unlock()
		return true
	}
	if g.changing > 0 || g.moment != begun {
		g.mu.Unlock()
		return false
	}
	g.moment.admissions++
	if g.unexamined(l) {
		g.reassure() // it was not wanted a moment ago
	}
	event := g.move(s, Ready, nil)
	g.mu.Unlock()
	g.report(event)
	return true
}
