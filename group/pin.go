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
		if rv, err := l.setPIN(new, old, g.limits(nil)); err != nil || rv != pkcs11.CKR_OK {
			g.say(ChangeMissed, l.seat, errors.Join(err, orNil(rv)), "it keeps the new PIN, which another member refused: set its PIN by its physical slot")
		}
	}
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
