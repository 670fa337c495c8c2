// SPDX-License-Identifier: Apache-2.0

package appliance

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/wire"
)

// A guard stands between a client and the token: it enforces the grant and the
// limits, and writes the audit. Nothing of the vendor module is behind it.
type guard struct {
	host  wire.Host
	token string
	grant atomic.Pointer[Grant] // what the register says now
	limit *Limits
	tries *tries
	audit *audit
	log   *slog.Logger

	sessions atomic.Int64
	inside   chan struct{} // a place for each call in the vendor module
	aside    chan struct{} // for sessions that begin or end and probes: they wait for no slow call
	running  atomic.Int64  // calls of clients, probes left out
	last     *wire.Moment  // when the last of them ended
	broken   sync.Once     // that the token cannot be had is told once

	mu    sync.Mutex        // guards names
	names map[uint64]string // of keys by handle, until the login changes
}

func newGuard(host wire.Host, token string, grant Grant, limit *Limits, tries *tries, audit *audit, log *slog.Logger) *guard {
	g := &guard{host: host, token: token, limit: limit, tries: tries, audit: audit, log: log,
		inside: make(chan struct{}, limit.Calls), aside: make(chan struct{}, limit.Calls), last: wire.NewMoment(), names: map[uint64]string{}}
	g.grant.Store(&grant)
	return g
}

// Open opens a session, unless the client has as many as it may.
func (g *guard) Open(view wire.View) (wire.HostSession, error) {
	if g.sessions.Add(1) > int64(g.limit.Sessions) {
		g.sessions.Add(-1)
		return nil, pkcs11.CKR_SESSION_COUNT
	}
	g.aside <- struct{}{}
	session, err := g.host.Open(view)
	<-g.aside
	if err == nil {
		return &guarded{HostSession: session, guard: g}, nil
	}
	g.sessions.Add(-1)
	g.broken.Do(func() { g.log.Error("token-unavailable", "reason", err) })
	if errors.As(err, new(pkcs11.RV)) {
		return nil, err
	}
	// The reason names files and other tokens, which are no client's business.
	return nil, unavailable
}

var unavailable = &wire.Refusal{Code: wire.RefusedUnavailable,
	Text: "the token, or the vendor's module for it, cannot be had: the appliance's operator finds the reason in its log"}

// idle is how long no call of the client has been under way.
func (g *guard) idle() time.Duration {
	if g.running.Load() > 0 {
		return 0
	}
	return time.Since(g.last.At())
}

// guarded is a session that the guard looks after.
type guarded struct {
	wire.HostSession
	guard  *guard
	active [operations]string // the key of each active operation
}

// Close closes the session.
func (s *guarded) Close() {
	s.guard.aside <- struct{}{}
	s.HostSession.Close()
	<-s.guard.aside
	s.guard.sessions.Add(-1)
}

// Around answers a call, if the grant allows it.
func (s *guarded) Around(ctx context.Context, c wire.Call, answer func()) {
	g := s.guard
	if c.Number() == wire.NumberProbe {
		if enter(ctx, g.aside, c) {
			answer()
			<-g.aside
		}
		return
	}
	g.running.Add(1)
	defer func() {
		g.last.Set(time.Now())
		g.running.Add(-1)
	}()
	if !enter(ctx, g.inside, c) {
		return
	}
	defer func() { <-g.inside }()
	key := s.key(ctx, c)
	if rv := g.grant.Load().forbids(c, s.identify(ctx)); rv != pkcs11.CKR_OK {
		wire.Refuse(c, rv)
	} else if givesPIN(c) {
		s.login(ctx, c, answer)
	} else {
		answer()
	}
	s.show(c)
	s.note(c, key)
}

// enter waits for a place. When nobody waits for the call any more it is refused.
func enter(ctx context.Context, places chan struct{}, c wire.Call) bool {
	select {
	case places <- struct{}{}:
		return true
	case <-ctx.Done():
		wire.Refuse(c, pkcs11.CKR_FUNCTION_CANCELED)
		return false
	}
}

// givesPIN says whether a token compares a PIN for a call.
func givesPIN(c wire.Call) bool {
	switch c.(type) {
	case *wire.Login, *wire.SetPIN, *wire.Join, *wire.InitToken:
		return true
	}
	return false
}

// triedOn is what the wrong PINs of a call are counted on: a token, or its security officer.
// Who knows the user's PIN would else guess the officer's for ever, since a right PIN ends
// the count.
func triedOn(token string, c wire.Call) string {
	switch c := c.(type) {
	case *wire.InitToken, *wire.Join:
		return token + " security officer"
	case *wire.Login:
		if c.User == pkcs11.CKU_SO {
			return token + " security officer"
		}
	}
	return token
}

// login answers a call that holds a PIN, if the client has a try left.
func (s *guarded) login(ctx context.Context, c wire.Call, answer func()) {
	g := s.guard
	look := func() caution {
		var info wire.GetTokenInfo
		if s.GetTokenInfo(ctx, &info) != pkcs11.CKR_OK {
			return careless
		}
		return cautionOf(c, info.Info.Flags)
	}
	err := g.tries.guard(ctx, triedOn(g.token, c), look, func() pkcs11.RV {
		answer()
		return c.Result()
	})
	if err != nil {
		g.log.Warn("login-refused", "function", c.Number().String(), "reason", err)
		wire.Refuse(c, pkcs11.CKR_PIN_LOCKED)
	}
	g.forget() // handles of private objects end with the login
}

// cautionOf reads the flags of the PIN that a call gives. For those that may give either,
// or both, the worse counts.
func cautionOf(c wire.Call, flags uint64) caution {
	const user, officer = pkcs11.CKF_USER_PIN_COUNT_LOW | pkcs11.CKF_USER_PIN_FINAL_TRY, pkcs11.CKF_SO_PIN_COUNT_LOW | pkcs11.CKF_SO_PIN_FINAL_TRY
	switch c := c.(type) {
	case *wire.InitToken:
		flags &= officer
	case *wire.Login:
		if c.User == pkcs11.CKU_SO {
			flags &= officer
		} else {
			flags &= user
		}
	}
	switch {
	case flags&(pkcs11.CKF_USER_PIN_FINAL_TRY|pkcs11.CKF_SO_PIN_FINAL_TRY) != 0:
		return lastTry
	case flags&(user|officer) != 0:
		return countLow
	}
	return careless
}

// identify looks objects up for the grant.
func (s *guarded) identify(ctx context.Context) identify {
	return func(object uint64) (wire.Identity, pkcs11.RV) {
		call := wire.Identify{Object: object}
		rv := s.Identify(ctx, &call)
		return call.Identity, rv
	}
}

// show lets the client see what it may not do.
func (s *guarded) show(c wire.Call) {
	if c.Result() != pkcs11.CKR_OK {
		return
	}
	var flags uint64
	if s.guard.grant.Load().ReadOnly {
		flags = pkcs11.CKF_WRITE_PROTECTED
	}
	switch c := c.(type) {
	case *wire.Describe:
		c.Token.Token.Flags |= flags
		c.Token.UseOnly = s.guard.grant.Load().NoKeyManagement
	case *wire.GetTokenInfo:
		c.Info.Flags |= flags
	}
}
