// SPDX-License-Identifier: Apache-2.0

package group

import (
	"context"
	"crypto/rand"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"oneslot.dev/oneslot/config"
	"oneslot.dev/oneslot/member"
	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/wire"
)

// A Group is the members of one slot as one application uses them. A physical
// slot is a group of one member in token view.
type Group struct {
	name    string
	options config.Group // as the group was made
	present atomic.Pointer[config.Group]
	view    wire.View
	report  func(Event)
	by      string // marks the records that it rewrites

	told atomic.Uint64 // counts what changed in what is known of the tokens

	ctx   context.Context // ends with Close
	stop  context.CancelFunc
	lives sync.WaitGroup // the goroutines of seats

	mu      sync.Mutex // guards what follows, and the state of every seat; never held during a call
	seats   []*seat    // in the order of the configuration
	started bool
	made    int // seats that there ever were
	last    int // the seat chosen last
	epochs  uint64
	changed chan struct{} // closed and replaced at each change of a state
	user    *user         // who is logged in; nil: nobody
	logins  uint64        // counts changes of user

	entering entering

	shortage  shortage
	assurance assurance
	pads      pads

	// arriving is how long changes wait for members that start, or follow a
	// login; zero: none do (arrive.go).
	arriving time.Time

	moment    moment
	changing  int                  // destructions, changes and creations under way
	owed      []record             // what no journal took yet
	quiet     int                  // members that are becoming ready, for which changes wait
	watched   map[string]time.Time // records of processes that fill a member, and since when they stand
	claimed   map[string]bool      // claims that this process is at (claim.go)
	fresh     map[string]time.Time // others' records by member, and since when they are seen (rewrite.go)
	fills     map[string]bool      // which of them are this process's own
	comparing bool                 // it is some member's turn to be compared
	roster    map[string]bool      // serial numbers of all tokens that were ever in sync
}

// New makes a group of members in the order of the configuration. report is
// called for each event, from any goroutine; it must not block for long.
func New(options config.Group, members []member.Member, view wire.View, report func(Event)) *Group {
	g := &Group{name: options.Name, options: options, view: view, report: report, by: rand.Text(), last: len(members) - 1, changed: make(chan struct{}),
		assurance: assurance{turn: make(chan struct{}, 1)}}
	g.ctx, g.stop = context.WithCancel(context.Background())
	g.present.Store(&options)
	for _, m := range members {
		g.seats = append(g.seats, g.newSeat(m))
	}
	return g
}

// newSeat makes the place of a new member. Its index is never used again: what
// is known by it of a member that left is never taken for another's.
func (g *Group) newSeat(m member.Member) *seat {
	s := &seat{
		index: g.made, member: m, standby: g.option().IsStandby(m.Name()), kick: make(chan struct{}, 1),
		left: make(chan struct{}), state: Connecting, since: time.Now(),
	}
	g.made++
	return s
}

// option is the group's options as they are now.
func (g *Group) option() *config.Group { return g.present.Load() }

// Options are the group's options as they are now; not to be changed.
func (g *Group) Options() *config.Group { return g.option() }

// size is the number of members.
func (g *Group) size() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.seats)
}

// Start connects the members, in the background, and keeps them connected.
func (g *Group) Start() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.started = true
	g.expect(arrivalPatience)
	for _, s := range g.seats {
		g.lives.Go(func() { g.keep(s) })
	}
}

// Close ends every connection and call, and waits until nothing is left but what
// vendors' modules are at, which they may finish (member.Leave).
func (g *Group) Close() {
	g.stop()
	g.mu.Lock()
	var links []*link
	for _, s := range g.seats {
		if s.link != nil {
			links = append(links, s.link)
		}
		s.doubt.wipe()
	}
	if g.user != nil {
		g.user.pin.Wipe()
		g.user = nil
	}
	g.mu.Unlock()
	for _, l := range links {
		l.close()
	}
	g.lives.Wait()
}

// Settle waits until each member is ready or has failed, or ctx ends. After
// it, what can be known of the members is known.
func (g *Group) Settle(ctx context.Context) {
	g.await(ctx, func() bool {
		for _, s := range g.seats {
			if s.state == Connecting || s.state == Syncing {
				return false
			}
		}
		return true
	})
}

// quickTries is how often a member that fails at the start is waited for again:
// its first attempts follow each other closely, and SoftHSM for one fails now
// and then while other processes start on the same token.
const quickTries = 4

// AwaitFirst waits until some member is ready, or none may soon be, or ctx ends.
func (g *Group) AwaitFirst(ctx context.Context) {
	g.await(ctx, func() bool {
		coming := false
		for _, s := range g.seats {
			if s.state == Ready {
				return true
			}
			coming = coming || s.failures < quickTries && s.state != Quarantined && s.state != Draining
		}
		return !coming
	})
}

// await waits until the condition holds, looking again at each change of a
// state. It is false if ctx or the group ended first. g.mu is held for the
// condition.
func (g *Group) await(ctx context.Context, condition func() bool) bool {
	for {
		g.mu.Lock()
		ok, changed := condition(), g.changed
		g.mu.Unlock()
		if ok {
			return true
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return false
		case <-g.ctx.Done():
			return false
		}
	}
}

// Serving says whether some member is ready.
func (g *Group) Serving() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.serving()
}

// Known says whether some token of the group was ever connected.
func (g *Group) Known() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.ContainsFunc(g.seats, func(s *seat) bool { return s.about != nil })
}

func (g *Group) serving() bool {
	for _, s := range g.seats {
		if s.state == Ready {
			return true
		}
	}
	return false
}

// limits bounds calls to a member (rules F1, F2).
func (g *Group) limits(calls []wire.Call) member.Limits {
	l := member.Limits{Silence: g.option().CommandTimeout, Stuck: g.option().StuckTimeout}
	for _, c := range calls {
		switch c.Number() {
		case wire.NumberGenerateKey, wire.NumberGenerateKeyPair, wire.NumberInitToken:
			l.Stuck = g.option().StuckTimeoutKeygen
		}
	}
	return l
}

// A user is who is logged in, kept for members that come back.
type user struct {
	kind uint64
	pin  pkcs11.PIN
}
