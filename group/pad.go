// SPDX-License-Identifier: Apache-2.0

package group

import (
	"context"
	"errors"
	"fmt"

	"oneslot.dev/oneslot/pkcs11"
)

// Tokens with a PIN pad of their own (CKF_PROTECTED_AUTHENTICATION_PATH) take the PIN there,
// and C_Login has none for them. A user stands before the pads only while a C_Login of the
// application waits: so that call asks the pad of each member, one after the other in the
// order of the group, once, for stuck_timeout at most. It is successful as soon as one has
// accepted; who did not stays out until the next login. No pad is asked at any other time:
// a member that comes back later waits for that login (field-F6).

// pads are what C_Login knows of the pads.
type pads struct {
	attended uint64 // the login in which a user waits, as it is counted in logins; zero: none
	asked    *seat  // whose pad is being asked
}

// needsLogin is why a member stays out until the application logs in anew.
type needsLogin struct{ why *mismatch }

func (n *needsLogin) Error() string { return n.why.what }
func (n *needsLogin) Unwrap() error { return n.why }

const untilLogout = ": it serves again when the application has logged out, and gets its login with the next one"

// errOwnPad is why a member with a PIN pad stays out that nobody is there for.
var errOwnPad error = &needsLogin{&mismatch{"the token needs a login at its own PIN pad, and is not asked unattended" + untilLogout}}

// errNoPIN is why a member without a PIN pad stays out.
var errNoPIN error = &needsLogin{&mismatch{"the token needs a PIN from the application, which gave none, since it logged in at the PIN pad of another member" + untilLogout}}

// hasPad says whether a member takes its PIN by a pad of its own.
func (l *link) hasPad() bool {
	return l.conn.Token().Token.Flags&pkcs11.CKF_PROTECTED_AUTHENTICATION_PATH != 0
}

// needsNone says whether a member without a PIN can be used as it is.
func (l *link) needsNone() bool { return l.conn.Token().Token.Flags&pkcs11.CKF_LOGIN_REQUIRED == 0 }

// waitForPads waits until every pad of the members that follow a login was asked. g.mu must
// not be held.
func (g *Group) waitForPads(login uint64) {
	g.mu.Lock()
	patience := loginPatience
	for _, s := range g.seats {
		if s.link != nil && s.link.hasPad() {
			patience += g.option().StuckTimeout
		}
	}
	g.mu.Unlock()
	ctx, cancel := context.WithTimeout(g.ctx, patience)
	defer cancel()
	g.await(ctx, func() bool {
		for _, s := range g.seats {
			if s.awaitsPad(login) {
				return false
			}
		}
		return true
	})
	g.mu.Lock()
	defer g.mu.Unlock()
	g.pads.attended = 0
	g.broadcast()
}

// awaitsPad says whether a member's pad is still to be asked for a login, or just being
// asked. Group.mu must be held.
func (s *seat) awaitsPad(login uint64) bool {
	return s.state == Syncing && s.link != nil && s.link.hasPad() && s.login != login
}

// askPad asks a member's pad for a login, when it is its turn, if a user waits.
func (g *Group) askPad(l *link, login, kind uint64) error {
	if !g.padTurn(l.seat, login) {
		return errOwnPad
	}
	rv, err := l.login(kind, nil, g.limits(nil))
	g.mu.Lock()
	g.pads.asked = nil
	g.broadcast()
	g.mu.Unlock()
	switch {
	case err != nil:
		return err
	case rv != pkcs11.CKR_OK:
		return &needsLogin{&mismatch{fmt.Sprintf("the login at its own PIN pad was answered with %v", rv) + untilLogout}}
	}
	return nil
}

// padTurn waits until the pads of the members before this one were asked. It is false if
// no user waits, or this one was asked in this login before.
func (g *Group) padTurn(s *seat, login uint64) (mine bool) {
	g.await(g.ctx, func() bool {
		if g.pads.attended != login || s.padAsked == login {
			return true
		}
		if g.pads.asked != nil {
			return false
		}
		for _, other := range g.seats {
			if other == s {
				break
			}
			if other.awaitsPad(login) && other.padAsked != login {
				return false
			}
		}
		g.pads.asked, s.padAsked, mine = s, login, true
		return true
	})
	return mine
}

// takesNoPIN says whether a token answered that it has no use for a PIN that the
// application gives.
func takesNoPIN(l *link, pin pkcs11.PIN, rv pkcs11.RV) bool {
	return rv == pkcs11.CKR_ARGUMENTS_BAD && pin != nil && l.hasPad()
}

func isNeedsLogin(err error) bool { return errors.As(err, new(*needsLogin)) }
