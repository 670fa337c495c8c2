// SPDX-License-Identifier: Apache-2.0

package group

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"oneslot.dev/oneslot/member"
	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/wire"
)

// loginPatience is how long Login waits for the members that follow it; slower ones
// follow in the background (arrive.go).
const loginPatience = 2 * time.Second

// Login logs a user in. The PIN is tried on one member; only when that has
// accepted it do the others get it (F7). It is kept until Logout for members
// that come back (R4). PIN pads are asked within it (pad.go).
func (g *Group) Login(kind uint64, pin pkcs11.PIN) pkcs11.RV {
	// Members that start get the login before they are compared, if they are there by
	// now, rather than be compared before it and after it. Which of them have a pad is
	// known then.
	g.awaitArrivals(func() bool { return !slices.ContainsFunc(g.seats, func(s *seat) bool { return s.state == Connecting }) })
	accepted, rv := g.loginFirst(kind, pin, false)
	if rv == notCompared {
		// No token could compare the PIN. They are built up anew and asked
		// once more.
		ctx, cancel := context.WithTimeout(g.ctx, g.option().ProbeTimeout)
		g.AwaitFirst(ctx)
		cancel()
		accepted, rv = g.loginFirst(kind, pin, true)
	}
	if rv != pkcs11.CKR_OK {
		return rv
	}
	g.mu.Lock()
	g.stepIn(-1)
	if g.user != nil { // two logins at once; the member accepted both
		g.mu.Unlock()
		return pkcs11.CKR_USER_ALREADY_LOGGED_IN
	}
	g.logins++
	g.user = &user{kind, pin.Clone()}
	accepted.seat.login = g.logins
	g.reassure()
	login := g.logins
	g.pads.attended = login
	events := g.resync(accepted.seat)
	g.expect(loginPatience)
	g.arrived()
	g.mu.Unlock()
	for _, e := range events {
		g.report(e)
	}
	g.waitForPads(login)
	// What comes after a login mostly needs the others, too; and an unclear
	// answer of one member is passed on if there is no other (F1).
	g.awaitArrivals(func() bool { return !slices.ContainsFunc(g.seats, func(s *seat) bool { return s.state == Syncing }) })
	g.mu.Lock()
	g.arriving = time.Time{} // who is not here by now was waited for
	g.mu.Unlock()
	return pkcs11.CKR_OK
}

// notCompared is what a token answers that could not compare a PIN, as SoftHSM while
// another process rewrites its files. Other unclear answers may be a refusal, or a
// user who cancelled, and are final.
const notCompared = pkcs11.CKR_GENERAL_ERROR

// loginFirst tries a PIN on one member after the other until one has compared
// it. Those that could not are dropped if none has. With careful set no
// token gets the PIN that has seen a wrong one.
func (g *Group) loginFirst(kind uint64, pin pkcs11.PIN, careful bool) (accepted *link, rv pkcs11.RV) {
	closed := pkcs11.CKR_DEVICE_ERROR
	run := &run{}
	rv, err := g.do(run, wire.Ask, Primary, func(p *Place) (pkcs11.RV, error) {
		if careful {
			if wrong, err := g.hasSeenWrong(p.link, kind); wrong || err != nil {
				return notCompared, nil
			}
		}
		if pin == nil && !p.link.hasPad() {
			return 0, ErrElsewhere // it cannot be logged in so
		}
		g.mu.Lock()
		g.stepIn(1)
		g.mu.Unlock()
		rv, err := p.link.login(kind, pin, g.limits(nil))
		if err != nil || rv != pkcs11.CKR_OK {
			g.mu.Lock()
			g.stepIn(-1)
			g.mu.Unlock()
		}
		switch {
		case err != nil:
		case takesNoPIN(p.link, pin, rv):
			closed = rv // its pad is asked when another member has accepted the PIN
			return rv, ErrElsewhere
		case rv == pkcs11.CKR_OK:
			accepted = p.link
		case rv == pkcs11.CKR_USER_PIN_NOT_INITIALIZED, rv == pkcs11.CKR_PIN_LOCKED:
			// The PIN was not compared; another member may know it (field-G7).
			closed = rv
			return rv, ErrElsewhere
		}
		return rv, err
	})
	if errors.Is(err, ErrElsewhere) {
		return nil, closed
	}
	if rv == notCompared {
		for _, l := range run.doubted {
			g.drop(l, errRefused(wire.NumberLogin, rv))
		}
	}
	return accepted, rv
}

// entering are the logins that some member may have and the group does not know of yet.
// Members are not compared meanwhile: one that is without login, with one that has it,
// would seem to lack all private objects.
type entering struct {
	under int    // way
	moves uint64 // counts their beginnings and ends
}

// errLogin is why a comparison says nothing.
var errLogin = fmt.Errorf("%w: somebody is just logging in", errRestless)

// stepIn begins or ends one. g.mu must be held.
func (g *Group) stepIn(by int) {
	g.entering.under += by
	g.entering.moves++
	g.broadcast()
}

// loginMoment is a number that changes with each login and logout; under way says that
// one is just between.
func (g *Group) loginMoment() (number uint64, underWay bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.entering.moves + g.logins, g.entering.under > 0
}

// resync sends every ready member but one back to be brought up to date. g.mu
// must be held.
func (g *Group) resync(but *seat) (events []Event) {
	for _, s := range g.seats {
		if s != but && s.state == Ready {
			events = append(events, g.move(s, Syncing, nil))
		}
		s.wake()
	}
	return events
}

// Logout logs the user out, on every member. The PIN is forgotten first, so a
// member that fails now comes back logged out.
func (g *Group) Logout() pkcs11.RV {
	g.mu.Lock()
	if g.user == nil {
		g.mu.Unlock()
		return pkcs11.CKR_USER_NOT_LOGGED_IN
	}
	g.user.pin.Wipe()
	g.user = nil
	g.logins++
	var links []*link
	for _, s := range g.seats {
		s.login = g.logins
		if s.link != nil {
			links = append(links, s.link)
		}
		if s.state == Quarantined && isNeedsLogin(s.cause) {
			s.summon() // there is no login any more that it would need
		}
	}
	g.mu.Unlock()
	done := make(chan struct{})
	for _, l := range links {
		go func() {
			defer func() { done <- struct{}{} }()
			if err := g.logout(l); err != nil {
				g.drop(l, err)
			}
		}()
	}
	for range links {
		<-done
	}
	return pkcs11.CKR_OK
}

// login sends a PIN to a member, once.
func (l *link) login(kind uint64, pin pkcs11.PIN, limits member.Limits) (pkcs11.RV, error) {
	call := wire.Login{User: kind, Pin: pin}
	_, err := l.background(context.Background(), limits, &call)
	if call.RV == pkcs11.CKR_USER_ALREADY_LOGGED_IN {
		call.RV = pkcs11.CKR_OK // someone was quicker; the token is logged in
	}
	if err == nil && call.RV == pkcs11.CKR_OK {
		l.entered.Store(true)
	}
	return call.RV, err
}

// wrongBefore are the flags of a token that has seen a wrong PIN since the last
// right one. It gets no PIN unattended: the next try may be its last (field-F3).
const wrongBefore = pkcs11.CKF_USER_PIN_COUNT_LOW | pkcs11.CKF_USER_PIN_FINAL_TRY | pkcs11.CKF_USER_PIN_LOCKED

// follow gives a member the login of the group. It is a *mismatch when the
// member refuses the PIN, which is then never sent to it again.
func (g *Group) follow(s *seat, l *link) error {
	g.mu.Lock()
	generation, has := g.logins, s.login
	var kind uint64
	var pin pkcs11.PIN
	if g.user != nil {
		kind, pin = g.user.kind, g.user.pin.Clone()
	}
	g.mu.Unlock()
	defer pin.Wipe()
	if has == generation {
		return nil
	}
	if g.anyoneLoggedIn(generation) {
		if err := g.followAs(l, generation, kind, pin); err != nil {
			return err
		}
	}
	g.mu.Lock()
	late := g.logins != generation
	if s.link == l && !late {
		s.login = generation
	}
	g.mu.Unlock()
	if late {
		return g.logout(l) // the group had none any more, and its C_Logout may have come first
	}
	return nil
}

// logout logs a member out.
func (g *Group) logout(l *link) error {
	var call wire.Logout
	_, err := l.background(context.Background(), g.limits(nil), &call)
	if err == nil && call.RV != pkcs11.CKR_OK && call.RV != pkcs11.CKR_USER_NOT_LOGGED_IN {
		err = errRefused(call.Number(), call.RV)
	}
	return err
}

// generation counts the logins and logouts of the group.
func (g *Group) generation() uint64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.logins
}

func (g *Group) anyoneLoggedIn(generation uint64) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.user != nil && g.logins == generation
}

func (g *Group) followAs(l *link, generation, kind uint64, pin pkcs11.PIN) error {
	wrong, err := g.hasSeenWrong(l, kind)
	if err != nil {
		return err
	}
	if wrong {
		return &mismatch{"the token has seen a wrong PIN since the last right one and gets none unattended: log in on it once with its vendor's tool, or by its physical slot where group_only is not set; then `oneslot group recover`"}
	}
	switch {
	case pin == nil && l.hasPad():
		return g.askPad(l, generation, kind)
	case pin == nil && l.needsNone():
		return nil
	case pin == nil:
		return errNoPIN
	}
	rv, err := l.login(kind, pin, g.limits(nil))
	switch {
	case err != nil:
		return err
	case takesNoPIN(l, pin, rv):
		return g.askPad(l, generation, kind)
	case rv == pkcs11.CKR_OK:
		return nil
	case refused(rv):
		return &mismatch{fmt.Sprintf("the PIN that another member accepted was refused with %v: it is not sent again; set the same PIN on this token, then `oneslot group recover`", rv)}
	}
	return fmt.Errorf("login: the token answered %w", rv)
}

// hasSeenWrong says whether a token has seen a wrong PIN since the last right one.
func (g *Group) hasSeenWrong(l *link, kind uint64) (bool, error) {
	if kind != pkcs11.CKU_USER || l.proven.Swap(false) {
		return false, nil
	}
	var info wire.GetTokenInfo
	_, err := l.background(g.ctx, g.limits(nil), &info)
	if err == nil && info.RV != pkcs11.CKR_OK {
		err = errRefused(info.Number(), info.RV)
	}
	return info.Info.Flags&wrongBefore != 0, err
}

// refused says whether a login was turned down because of the PIN.
func refused(rv pkcs11.RV) bool {
	for _, r := range []pkcs11.RV{pkcs11.CKR_PIN_INCORRECT, pkcs11.CKR_PIN_INVALID, pkcs11.CKR_PIN_LEN_RANGE, pkcs11.CKR_PIN_EXPIRED,
		pkcs11.CKR_PIN_LOCKED, pkcs11.CKR_USER_PIN_NOT_INITIALIZED, pkcs11.CKR_USER_TYPE_INVALID} {
		if errors.Is(rv, r) {
			return true
		}
	}
	return false
}
