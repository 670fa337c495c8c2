// SPDX-License-Identifier: Apache-2.0

package group

import (
	"context"
	"errors"
	"fmt"
	"time"

	"oneslot.dev/oneslot/member"
	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/wire"
)

// errAway refuses a change of the PIN while a member could not follow.
var errAway = errors.New("the PIN is not changed while a member is away: it would keep the old one")

// SetPIN changes the PIN on all members or on none (G7, field-F4). A member that
// refuses, or fails, gets those before it their old PIN back. One that starts,
// comes back or follows a login just now is waited for.
func (g *Group) SetPIN(old, new pkcs11.PIN) pkcs11.RV {
	ctx, cancel := context.WithTimeout(g.ctx, arrivalPatience)
	g.Settle(ctx)
	cancel()
	if len(g.away()) > 0 {
		g.report(Event{Time: time.Now(), Code: ChangeMissed, Group: g.name, Cause: errAway, Text: "C_SetPIN was refused"})
		return pkcs11.CKR_DEVICE_ERROR
	}
	var changed []*link
	for _, l := range g.readyBut(nil) {
		rv, err := l.setPIN(old, new, g.limits(nil))
		if err == nil && rv == pkcs11.CKR_OK {
			changed = append(changed, l)
			continue
		}
		if err != nil {
			g.doubtPIN(l, old, new)
			g.drop(l, err)
			rv = pkcs11.CKR_DEVICE_ERROR
		}
		g.restorePIN(changed, old, new)
		return rv
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.user != nil && old != nil && string(g.user.pin) == string(old) {
		g.user.pin.Wipe()
		g.user.pin = new.Clone()
	}
	return pkcs11.CKR_OK
}

func (g *Group) restorePIN(changed []*link, old, new pkcs11.PIN) {
	for _, l := range changed {
		switch rv, err := l.setPIN(new, old, g.limits(nil)); {
		case err != nil:
			g.doubtPIN(l, old, new)
			g.drop(l, err)
		case rv != pkcs11.CKR_OK:
			g.say(ChangeMissed, l.seat, orNil(rv), "it keeps the new PIN, which another member refused: set its PIN by its physical slot")
		}
	}
}

// A pinDoubt is a change of the PIN that was taken back on all members but one, which was
// lost meanwhile and may have made it.
type pinDoubt struct {
	old, new pkcs11.PIN
	made     bool // the token has refused the old one; the keeper's
}

func (d *pinDoubt) wipe() {
	if d != nil {
		d.old.Wipe()
		d.new.Wipe()
	}
}

// doubtPIN keeps in mind that a member may have the new PIN. It gets the old one back when
// it returns to this process; another one can only find that it refuses the PIN.
func (g *Group) doubtPIN(l *link, old, new pkcs11.PIN) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if old == nil || new == nil || g.user != nil && g.user.kind != pkcs11.CKU_USER {
		return // it takes the PIN by its own pad; or it is the SO's, for which he has to be there
	}
	l.seat.doubt.wipe()
	l.seat.doubt = &pinDoubt{old: old.Clone(), new: new.Clone()}
}

// settlePIN gives a member that returns the old PIN back, if it may have the new one of a
// change that was taken back (G7). The old one is set to what it is: the token says then
// whether it has it, and takes it for no wrong try if it does. No PIN is sent twice that
// was refused (F7).
func (g *Group) settlePIN(l *link) error {
	g.mu.Lock()
	d := l.seat.doubt
	if d == nil {
		g.mu.Unlock()
		return nil
	}
	old, new := d.old.Clone(), d.new.Clone()
	g.mu.Unlock()
	defer (&pinDoubt{old: old, new: new}).wipe()
	if !d.made {
		if wrong, err := g.hasSeenWrong(l, pkcs11.CKU_USER); err != nil || wrong {
			return err // somebody else tries PINs there: it gets none
		}
		rv, err := l.setPIN(old, old, g.limits(nil))
		if err != nil {
			return err
		}
		d.made = rv == pkcs11.CKR_PIN_INCORRECT
	}
	var rv pkcs11.RV
	if d.made {
		var err error
		if rv, err = l.setPIN(new, old, g.limits(nil)); err != nil {
			return err
		}
		l.proven.Store(rv == pkcs11.CKR_OK)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	d.wipe()
	l.seat.doubt = nil
	if rv != pkcs11.CKR_OK {
		return &mismatch{fmt.Sprintf("C_SetPIN was taken back while this token was away, and it refuses the new PIN with %v as well as the old one: none is sent again; set the PIN of the group on it by its physical slot, then `oneslot group recover`", rv)}
	}
	return nil
}

func (l *link) setPIN(old, new pkcs11.PIN, limits member.Limits) (pkcs11.RV, error) {
	call := wire.SetPIN{Old: old, New: new}
	_, err := l.background(context.Background(), limits, &call)
	return call.RV, err
}

// Renew makes new connections, to tokens that may have other serial numbers:
// after C_InitToken on a physical slot.
func (g *Group) Renew() {
	for _, l := range g.readyBut(nil) {
		g.mu.Lock()
		l.seat.serial, l.seat.about = "", nil
		g.told.Add(1)
		g.mu.Unlock()
		g.drop(l, fmt.Errorf("the token was initialised"))
		g.mu.Lock()
		l.seat.summon()
		g.mu.Unlock()
	}
}
