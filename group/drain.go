// SPDX-License-Identifier: Apache-2.0

package group

import (
	"errors"
	"time"

	"oneslot.dev/oneslot/member"
)

// errDrained is the cause of leaving a member that asked for it. It is no failure.
var errDrained = errors.New("drained: the member asked to be left alone")

// drainLook is how often it is looked whether a draining member has finished.
const drainLook = 10 * time.Millisecond

// draining is closed when a member asks for its work to be taken elsewhere
// (rule N4). Connections that know no such thing have nil.
func draining(c member.Conn) <-chan struct{} {
	if d, ok := c.(interface{ Draining() <-chan struct{} }); ok {
		return d.Draining()
	}
	return nil
}

// drain sends a member nothing new, lets it finish what it has, and leaves it.
func (g *Group) drain(s *seat, l *link) {
	g.mu.Lock()
	if s.link == l && s.state == Ready {
		event := g.move(s, Draining, nil)
		g.mu.Unlock()
		g.report(event)
	} else {
		g.mu.Unlock()
	}
	look := time.NewTicker(drainLook)
	defer look.Stop()
	cause, late := errDrained, (<-chan time.Time)(nil)
	if s.hasLeft() {
		timer := time.NewTimer(leavePatience)
		defer timer.Stop()
		cause, late = errLeft, timer.C
	}
	for g.busy(s, l) {
		select {
		case <-look.C:
		case <-late:
			g.drop(l, errLeft)
			return
		case <-l.conn.Done():
			g.drop(l, l.conn.Err())
			return
		case <-g.ctx.Done():
			l.close()
			return
		}
	}
	g.drop(l, cause)
}

// busy says whether anything of the group runs on a connection. Once the member
// is draining, nothing new begins.
func (g *Group) busy(s *seat, l *link) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return s.link == l && s.outstanding > 0 || l.used.Load() > 0
}
