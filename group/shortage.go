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

// shortage is who waits because every member is short of sessions (H6).
type shortage struct {
	waiting int
	freed   chan struct{} // closed and replaced when a session may have become free
}

// tell wakes whoever waits. g.mu must be held.
func (s *shortage) tell() {
	if s.waiting > 0 {
		close(s.freed)
		s.freed = make(chan struct{})
	}
}

// isShort says whether a member failed at something only because it has no
// session for it just now.
func isShort(err error) bool {
	var rv pkcs11.RV
	return errors.As(err, &rv) && blame(rv, false) == short
}

// errShort is the failure of a member whose journal could not be read for want of
// sessions. Nothing is known of what it missed: it is waited for.
func errShort(l *link, err error) error {
	return fmt.Errorf("member %s is short of sessions: %w", l.seat.member.Name(), err)
}

// spare runs a call in some session or, when the member has none to give, on the
// anchor, which is there as long as the connection.
func (l *link) spare(ctx context.Context, limits member.Limits, call wire.Call) error {
	_, err := l.do(ctx, limits, call)
	if err == nil && blame(call.Result(), false) == short {
		_, err = l.background(ctx, limits, call)
	}
	return err
}

// awaitSession waits a little for a session of one of the members that had none,
// and lets them be tried again. False: the time is up.
func (g *Group) awaitSession(r *run) bool {
	begin := time.Now()
	timer := time.NewTimer(g.option().ProbeTimeout - r.waited)
	defer timer.Stop()
	g.mu.Lock()
	if g.shortage.freed == nil {
		g.shortage.freed = make(chan struct{})
	}
	g.shortage.waiting++
	freed := g.shortage.freed
	g.mu.Unlock()
	woken := false
	select {
	case <-freed:
		woken = true
	case <-timer.C:
	case <-g.ctx.Done():
	}
	g.mu.Lock()
	g.shortage.waiting--
	g.mu.Unlock()
	r.waited += time.Since(begin)
	if woken {
		r.tried = slices.DeleteFunc(r.tried, func(l *link) bool { return slices.Contains(r.short, l) })
		r.short, r.shortage = nil, pkcs11.CKR_OK
	}
	return woken
}
