// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"

	"oneslot.dev/oneslot/group"
	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/wire"
)

// SetPIN is C_SetPIN: all members change, or none (rule G7).
func (a *application) SetPIN(_ context.Context, c *wire.SetPIN) pkcs11.RV {
	s, rv := a.session(c.Session)
	if rv != pkcs11.CKR_OK {
		return rv
	}
	if !s.rw {
		return pkcs11.CKR_SESSION_READ_ONLY
	}
	if (c.Old == nil || c.New == nil) && !s.slot.ownPINPad() {
		return pkcs11.CKR_ARGUMENTS_BAD
	}
	s.slot.turn <- struct{}{}
	defer func() { <-s.slot.turn }()
	return s.slot.group.SetPIN(c.Old, c.New)
}

// InitPIN is C_InitPIN: not for a group (rule G7), by the token for a physical
// slot.
func (a *application) InitPIN(_ context.Context, c *wire.InitPIN) pkcs11.RV {
	s, rv := a.session(c.Session)
	switch {
	case rv != pkcs11.CKR_OK:
		return rv
	case s.slot.virtual != nil:
		return pkcs11.CKR_FUNCTION_NOT_SUPPORTED
	case c.Pin == nil && !s.slot.ownPINPad():
		return pkcs11.CKR_ARGUMENTS_BAD
	}
	s.slot.mu.Lock()
	officer := s.slot.user == int(pkcs11.CKU_SO)
	s.slot.mu.Unlock()
	if !officer {
		return pkcs11.CKR_USER_NOT_LOGGED_IN
	}
	rv, _ = s.slot.group.Do(wire.Make, group.Primary, func(p *group.Place) (pkcs11.RV, error) {
		_, err := p.Do(c)
		return c.RV, err
	})
	return rv
}

// InitToken is C_InitToken: never for a group (rule G7, field-M1), by the token
// for a physical slot.
func (a *application) InitToken(_ context.Context, c *wire.InitToken) pkcs11.RV {
	s, rv := a.slot(c.Slot)
	switch {
	case rv != pkcs11.CKR_OK:
		return rv
	case s.virtual != nil:
		return pkcs11.CKR_FUNCTION_NOT_SUPPORTED
	}
	s.mu.Lock()
	open := s.sessions > 0
	s.mu.Unlock()
	if open {
		return pkcs11.CKR_SESSION_EXISTS
	}
	s.awake()
	rv, _ = s.group.Do(wire.Make, group.Primary, func(p *group.Place) (pkcs11.RV, error) {
		_, err := p.Do(c)
		return c.RV, err
	})
	if rv == pkcs11.CKR_OK {
		s.group.Renew() // it is another token now, with another serial number
	}
	return rv
}
