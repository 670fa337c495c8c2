// SPDX-License-Identifier: Apache-2.0

package group

import (
	"math/rand/v2"
	"time"

	"oneslot.dev/oneslot/config"
)

// When a member that is out gets its next attempt (R1, R2): one that is down by the clock,
// as often as the configuration says; one in quarantine when somebody asks for it.

// firstPause is the pause before the second attempt; each later one is
// twice as long, up to the recovery interval.
const firstPause = 50 * time.Millisecond

// rest waits until the next attempt is due. It is false when the group ends.
func (g *Group) rest(s *seat, failed int) bool {
	g.mu.Lock()
	quarantined := s.state == Quarantined
	g.mu.Unlock()
	var due <-chan time.Time
	given := g.option().RecoveryAttempts
	if !quarantined && g.option().Recovery != config.RecoverManual && (given < 0 || failed <= given) {
		timer := time.NewTimer(pause(failed, g.option().RecoveryInterval))
		defer timer.Stop()
		due = timer.C
	}
	for {
		select {
		case <-due:
		case <-s.kick:
			if !g.isDue(s) {
				continue // it was for the life that is over
			}
		case <-s.left:
			return false
		case <-g.ctx.Done():
			return false
		}
		g.mu.Lock()
		s.due = false
		event := g.move(s, Connecting, nil)
		g.mu.Unlock()
		g.report(event)
		return true
	}
}

// pause is the time before the attempt after so many failed ones: doubling from
// firstPause to the interval, with some jitter, so that the hosts which share a
// member do not all come at once.
func pause(failed int, interval time.Duration) time.Duration {
	p := interval
	if failed < 20 {
		p = min(firstPause<<(failed-1), interval)
	}
	return p - time.Duration(rand.Int64N(int64(p)/5+1))
}

// Recover makes an attempt on each member that is down or quarantined, now (R2).
func (g *Group) Recover() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, s := range g.seats {
		if s.state == Down || s.state == Quarantined {
			s.summon()
		}
	}
}

// summon has the keeper of a member that is down or quarantined make an attempt now. g.mu
// must be held.
func (s *seat) summon() {
	s.due = true
	s.wake()
}

func (g *Group) isDue(s *seat) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return s.due
}
