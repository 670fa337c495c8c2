// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"

	"oneslot.dev/oneslot/host/cryptoki"
	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/wire"
)

// raw is the session as the vendor module has it. Calls that need nothing of us
// pass through it untouched.
type raw = *cryptoki.Session

// A session is one stream of the engine: one session on the token.
type session struct {
	wire.NoToken
	raw
	token *Token
	group bool // creation follows the rules for copying
	// exports: key export is permitted (rule K7).
	exports bool
	find    []uint64
}

func newSession(t *Token, r raw, view wire.View) *session {
	t.opened()
	return &session{raw: r, token: t, group: view != wire.TokenView, exports: view == wire.ExportView}
}

// Close closes the session on the token.
func (s *session) Close() {
	s.raw.Close()
	s.token.closed()
}

// GetInfo and the others that belong to the slot are answered by the engine. A
// member answers them for tools that speak to it alone.
func (s *session) GetInfo(_ context.Context, c *wire.GetInfo) (rv pkcs11.RV) {
	c.Info, rv = s.token.module.Info()
	return rv
}

func (s *session) GetSlotInfo(_ context.Context, c *wire.GetSlotInfo) (rv pkcs11.RV) {
	c.Info, rv = s.token.module.SlotInfo(s.token.slot)
	return rv
}

func (s *session) GetTokenInfo(_ context.Context, c *wire.GetTokenInfo) (rv pkcs11.RV) {
	c.Info, rv = s.token.module.TokenInfo(s.token.slot)
	return rv
}

func (s *session) GetMechanismInfo(_ context.Context, c *wire.GetMechanismInfo) (rv pkcs11.RV) {
	c.Info, rv = s.token.module.MechanismInfo(s.token.slot, pkcs11.MechanismType(c.Kind))
	return rv
}

// Login logs in. That the process already is logged in is what the engine
// wants to hear: it knows who may be (field report F1).
func (s *session) Login(ctx context.Context, c *wire.Login) pkcs11.RV {
	rv := s.raw.Login(ctx, c)
	if rv == pkcs11.CKR_USER_ALREADY_LOGGED_IN && c.User != pkcs11.CKU_CONTEXT_SPECIFIC {
		return pkcs11.CKR_OK
	}
	if rv == pkcs11.CKR_OK && c.User != pkcs11.CKU_CONTEXT_SPECIFIC {
		s.token.loginChanged()
	}
	return rv
}

// Logout logs out.
func (s *session) Logout(ctx context.Context, c *wire.Logout) pkcs11.RV {
	rv := s.raw.Logout(ctx, c)
	s.token.loginChanged()
	return rv
}
