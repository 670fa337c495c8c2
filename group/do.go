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

// An Attempt runs the application's call on one member. The engine supplies it,
// because only the engine can turn virtual handles into that member's own. It
// returns what the token answered, or a *member.Fault, or ErrElsewhere.
type Attempt func(p *Place) (pkcs11.RV, error)

// A Place is a member picked for an attempt, on its present connection.
type Place struct {
	g    *Group
	seat *seat
	link *link
}

// Seat is the index of the member in the group.
func (p *Place) Seat() int { return p.seat.index }

// Epoch is the connection. Handles of another epoch mean nothing here.
func (p *Place) Epoch() uint64 { return p.link.epoch }

// Name is the member's name.
func (p *Place) Name() string { return p.seat.member.Name() }

// Expel leaves the member out until an operator has acted: what NewUnlike says is wrong
// with it.
func (p *Place) Expel(cause error) { p.g.expel(p.link, cause) }

// About is what the member's token said of itself on this connection.
func (p *Place) About() *wire.Description { return p.link.conn.Token() }

// Do runs calls in one message, in a session where nothing is active.
func (p *Place) Do(calls ...wire.Call) (int, error) {
	return p.link.do(context.Background(), p.g.limits(calls), calls...)
}

// Do has a call attempted on one member after the other until one answers or
// none is left. It is ErrElsewhere if no member has the object; the RV is then
// for the caller to choose.
func (g *Group) Do(class wire.Class, choice Choice, attempt Attempt) (pkcs11.RV, error) {
	return g.do(&run{}, class, choice, attempt)
}

// DoAfter is Do for what had its first attempt in a session that was held, and
// failed there with this fault.
func (g *Group) DoAfter(fault error, class wire.Class, choice Choice, attempt Attempt) (pkcs11.RV, error) {
	run := &run{}
	run.count(fault)
	return g.do(run, class, choice, attempt)
}

// maxCrashes are the members whose vendor module one call may take down before
// it is believed to be the call, and the others are spared. One may be chance.
const maxCrashes = 2

func (g *Group) do(run *run, class wire.Class, choice Choice, attempt Attempt) (pkcs11.RV, error) {
	for {
		p := g.take(choice, run)
		if p == nil {
			if g.awaitAnother(run) {
				continue
			}
			return run.outcome()
		}
		rv, err := attempt(p)
		loggedIn := g.leave(p, err == nil)
		verdict := Judge(class, rv, loggedIn, err)
		run.note(p, verdict, rv, err)
		switch verdict {
		case Return:
			if rv == pkcs11.CKR_OK {
				g.blameDoubted(run)
			}
			return rv, nil
		case Expel:
			g.expel(p.link, err)
		case DropTry, DropEnd:
			g.drop(p.link, causeOf(rv, err))
			if verdict == DropEnd || run.crashes >= maxCrashes {
				return pkcs11.CKR_DEVICE_ERROR, nil
			}
		}
	}
}

func causeOf(rv pkcs11.RV, err error) error {
	if err != nil {
		return err
	}
	return fmt.Errorf("the token answered %w", rv)
}

// A run is the attempts of one call.
type run struct {
	tried     []*link // every link is tried once
	doubted   []*link
	doubt     pkcs11.RV // what the first of them answered
	shortage  pkcs11.RV
	short     []*link // those that answered it
	elsewhere bool
	waited    time.Duration
	changing  bool // it is a change, see quiet.go
	crashes   int  // members whose vendor module went down with the call
}

func (r *run) count(err error) {
	var fault *member.Fault
	if errors.As(err, &fault) && fault.Crashed {
		r.crashes++
	}
}

func (r *run) note(p *Place, v Verdict, rv pkcs11.RV, err error) {
	r.tried = append(r.tried, p.link)
	r.count(err)
	switch {
	case v == Doubt:
		if r.doubt == pkcs11.CKR_OK {
			r.doubt = rv
		}
		r.doubted = append(r.doubted, p.link)
	case v == TryNext && err != nil:
		r.elsewhere = true
	case v == TryNext:
		r.shortage = rv
		r.short = append(r.short, p.link)
	}
}

// outcome is the result of a call that no member is left for. When members
// agree on an unclear answer it is the request's fault and passed on (F6).
func (r *run) outcome() (pkcs11.RV, error) {
	switch {
	case r.doubt != pkcs11.CKR_OK:
		return r.doubt, nil
	case r.shortage != pkcs11.CKR_OK:
		return r.shortage, nil
	case r.elsewhere:
		return pkcs11.CKR_DEVICE_ERROR, ErrElsewhere
	}
	return pkcs11.CKR_DEVICE_ERROR, nil
}

// blameDoubted drops members that gave an unclear error for a call that
// another member then answered.
func (g *Group) blameDoubted(r *run) {
	for _, l := range r.doubted {
		g.drop(l, fmt.Errorf("the token answered %w to a call that another member then answered", r.doubt))
	}
}

// take picks a member and counts the call in one step, so that concurrent
// callers see each other (L1, L2).
func (g *Group) take(choice Choice, r *run) *Place {
	var few [8]candidate
	candidates := few[:0]
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, s := range g.seats {
		candidates = append(candidates, candidate{
			ready: s.state == Ready && !r.has(s.link), standby: s.standby, outstanding: s.outstanding,
		})
	}
	i := pick(choice, candidates, g.last)
	if i < 0 {
		return nil
	}
	if choice == Balance {
		g.last = i
	}
	s := g.seats[i]
	s.outstanding++
	return &Place{g, s, s.link}
}

func (r *run) has(l *link) bool {
	for _, t := range r.tried {
		if t == l {
			return true
		}
	}
	return false
}

// attempts is how often the call was tried on a member, on one connection after
// the other.
func (r *run) attempts(s *seat) (n int) {
	for _, t := range r.tried {
		if t.seat == s {
			n++
		}
	}
	return n
}

// leave ends a call that take counted. It returns whether a user is logged in.
func (g *Group) leave(p *Place, answered bool) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	p.seat.outstanding--
	if answered {
		p.seat.answered++
	}
	g.shortage.tell()
	return g.user != nil
}

// awaitAnother waits for a member that was not tried, as long as one is on
// its way and the time that a probe has is not used up. So a call does not
// fail because the last member, or the only one with the object, is just being
// taken back (G5), nor for an unclear answer that it could clear up.
func (g *Group) awaitAnother(r *run) bool {
	if r.waited >= g.option().ProbeTimeout {
		return false
	}
	if r.shortage != pkcs11.CKR_OK && r.doubt == pkcs11.CKR_OK && !r.changing {
		return g.awaitSession(r)
	}
	if r.changing { // nothing is changed while it waits, and whom it waits for must not wait for it
		g.exit()
		defer g.reenter()
	}
	begin := time.Now()
	ctx, cancel := context.WithTimeout(g.ctx, g.option().ProbeTimeout-r.waited)
	defer cancel()
	found := false
	g.await(ctx, func() bool {
		coming := false
		for _, s := range g.seats {
			if r.attempts(s) > 1 {
				continue // it fails with this call
			}
			found = found || s.state == Ready && !r.has(s.link)
			coming = coming || s.state == Connecting || s.state == Syncing || s.state == Draining ||
				s.state == Down && (s.inRow == 1 || s.cause == errDrained)
		}
		return found || !coming
	})
	r.waited += time.Since(begin)
	return found
}

// A Hold is a session of a member that an operation keeps between calls.
type Hold struct {
	place   Place
	session member.Session
	turn    chan struct{} // a session serves one caller at a time

	fresh bool      // keys were generated in it, which nobody had before
	since time.Time // of the last record about what is made in it

	unsettled bool // a destruction of that is left in the journals
}

// Hold takes a session for an operation that outlives the attempt. While it
// is held it counts as nothing outstanding but the calls in it.
func (p *Place) Hold() (*Hold, error) {
	s, err := p.link.take()
	if err != nil {
		return nil, err
	}
	p.link.used.Add(1)
	return &Hold{place: *p, session: s, turn: make(chan struct{}, 1)}, nil
}

// Place is the member that the session belongs to.
func (h *Hold) Place() *Place { return &h.place }

// Do runs calls in the session. After an error the hold is over, and the
// member is dropped.
func (h *Hold) Do(calls ...wire.Call) (int, error) {
	h.turn <- struct{}{}
	defer func() { <-h.turn }()
	g := h.place.g
	for _, c := range calls {
		h.fresh = h.fresh || c.Number() == wire.NumberGenerateKey || c.Number() == wire.NumberGenerateKeyPair
	}
	g.mu.Lock()
	h.place.seat.outstanding++
	g.mu.Unlock()
	n, err := h.session.Do(context.Background(), g.limits(calls), calls...)
	g.leave(&h.place, err == nil)
	if err != nil {
		g.drop(h.place.link, err)
	}
	return n, err
}

// Release puts the session back if nothing is active in it, else closes it.
func (h *Hold) Release(clean bool) {
	h.place.link.used.Add(-1)
	if clean {
		h.place.link.give(h.session)
	} else {
		h.session.Close()
	}
}

// Alive says whether the session may still be used.
func (h *Hold) Alive() bool {
	select {
	case <-h.place.link.conn.Done():
		return false
	default:
		return true
	}
}

// Each runs something on every member that is ready, one after the other.
func (g *Group) Each(run func(p *Place)) {
	for _, l := range g.readyBut(nil) {
		run(&Place{g, l.seat, l})
	}
}

// Alone says whether the member is the only one of its group.
func (p *Place) Alone() bool { return p.g.size() == 1 }
