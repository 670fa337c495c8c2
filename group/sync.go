// SPDX-License-Identifier: Apache-2.0

package group

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/wire"
)

const (
	// startPatience is how long a member that connects waits for those before
	// it in the list, so that all are compared before one serves alone.
	startPatience = 3 * time.Second

	// secondLook is the longest pause before differences are looked at again.
	// What another process was just creating is there by then. The pause is
	// drawn by lot, so that processes which start together do not copy
	// together.
	secondLook = 600 * time.Millisecond
)

// syncRounds is how often a member is compared while other changes go on. The
// last time they wait.
const syncRounds = 6

// A comparison is the work of making a member equal to the others.
type comparison struct {
	link    *link
	refused map[refusal]bool // what a member did not take; it is not tried again
	owing   bool             // some of that is to be tried later
	untold  bool             // other members than the reference may lack what only this one has
	strange bool             // whether the token was given up is still to be asked (roster.go)
}

type refusal struct {
	seat *seat
	key  identityKey
}

// sync gives a member what it missed, and takes from it what the others
// missed: destructions and changes by the journal, then new objects. An object
// that one side lacks is copied, never deleted (K5, field-D4). At the end the
// member is ready.
func (g *Group) sync(s *seat, l *link) error {
	c := comparison{link: l, refused: make(map[refusal]bool), strange: true}
	ctx, cancel := context.WithTimeout(g.ctx, startPatience)
	defer cancel()
	g.awaitEarlier(ctx, s)
	if !g.isCurrent(ctx, s, l) {
		return l.conn.Err()
	}
	if err := g.sameDomain(s); err != nil {
		return err
	}
	for round := 1; g.isCurrent(ctx, s, l); round++ {
		again, err := g.inTurn(ctx, func() (bool, error) { return g.round(&c, round >= syncRounds) })
		switch {
		case errors.Is(err, errFilling), errors.Is(err, errRestless):
			if !g.isCurrent(ctx, s, l) {
				return l.conn.Err()
			}
			if err := g.wait(l); err != nil {
				return err
			}
		case err != nil:
			return err
		case !again:
			g.mu.Lock()
			s.owing = c.owing
			g.mu.Unlock()
			return l.conn.Err()
		}
	}
	return l.conn.Err()
}

// isCurrent says whether a member has the group's login, when that is known. One that
// does not sees only a part of its objects, and is compared when it does.
func (g *Group) isCurrent(ctx context.Context, s *seat, l *link) bool {
	g.await(ctx, func() bool { return g.entering.under == 0 })
	g.mu.Lock()
	defer g.mu.Unlock()
	return s.link == l && s.login == g.logins
}

// catchUp compares a member that is ready once more, for what it could not give
// to another when it became ready.
func (g *Group) catchUp(l *link) error {
	c := comparison{link: l, refused: make(map[refusal]bool), untold: true}
	again, err := g.inTurn(g.ctx, func() (bool, error) { return g.equalise(&c, false) })
	g.mu.Lock()
	l.seat.owing = again || c.owing || err != nil
	g.mu.Unlock()
	return err
}

// inTurn runs something while no other member is compared, which saves work and
// no more. A turn that does not end, since some member hangs, is waited for only
// as long as ctx.
func (g *Group) inTurn(ctx context.Context, run func() (bool, error)) (bool, error) {
	mine := g.await(ctx, func() bool {
		free := !g.comparing
		g.comparing = true
		return free
	})
	if g.ctx.Err() != nil {
		return false, g.ctx.Err()
	}
	defer func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		if mine {
			g.comparing = false
			g.broadcast()
		}
	}()
	return run()
}

// wait is the pause before differences are looked at again.
func (g *Group) wait(l *link) error {
	pause := time.NewTimer(secondLook/3 + time.Duration(rand.Int64N(int64(secondLook*2/3))))
	defer pause.Stop()
	select {
	case <-pause.C:
		return nil
	case <-l.conn.Done():
		return l.conn.Err()
	case <-g.ctx.Done():
		return g.ctx.Err()
	}
}

// round compares a member once. It is to be done again when something was found
// to do, or when something changed meanwhile. An application waits for it at its login,
// and most of it is reading journals: twice, if the members hold the same.
func (g *Group) round(c *comparison, quiet bool) (again bool, err error) {
	begun := g.now()
	if quiet {
		return again, g.hush(func() error {
			if again, err = g.equalise(c, false); err == nil && !again {
				if err = g.enroll(c.link); err == nil {
					again = !g.admit(c.link.seat, c.link, begun)
				}
			}
			return err
		})
	}
	if again, err = g.equalise(c, true); again || err != nil {
		return again, err
	}
	return again, g.hush(func() error {
		if again, err = g.settleJournal(c.link); err == nil && !again {
			if err = g.enroll(c.link); err == nil {
				again = !g.admit(c.link.seat, c.link, begun)
			}
		}
		return err
	})
}

// equalise brings a member and the reference to hold the same, as far as they
// differ. It is to be done again when they did. settled says that the caller settles the
// journal next, whatever comes of it.
func (g *Group) equalise(c *comparison, settled bool) (again bool, err error) {
	l := c.link
	members := append(g.readyBut(l.seat), l)
	entries, err := g.journal(members)
	if c.strange {
		if err := g.dropFailed(err, l); err != nil {
			return false, err
		}
		if err != nil {
			return true, nil // who could not tell is gone; what the others say is asked anew
		}
		if err := g.readmit(l, members); err != nil {
			return false, err
		}
		c.strange = false
	}
	if _, err := g.settleEntries(entries, err, members, nil, l); err != nil {
		return false, err
	}
	with := g.reference(l.seat)
	if with == nil {
		return false, nil // nobody to compare with: it is what there is
	}
	if err := g.inherit(l, with, entries); err != nil {
		return false, err
	}
	first, err := g.compare(l, with)
	if err != nil {
		return false, err
	}
	if same := len(first.onlyA)+len(first.onlyB) == 0; !same || c.untold || !settled {
		// What was destroyed before the listing is in a journal by now.
		if again, err := g.settleJournal(l); again || err != nil {
			return again, err
		}
	}
	g.reportSingle(l, with, append(nameless(first.ofA, first.ofB), first.onlyA...))
	g.reportSingle(with, l, append(nameless(first.ofB, first.ofA), first.onlyB...))
	g.reportDrift(l, with, first)
	c.untold = c.untold || c.anyCopyable(with, first.onlyA)
	if !c.anyCopyable(with, first.onlyA) && !c.anyCopyable(l, first.onlyB) {
		return g.spreadNews(c, with)
	}
	if err := g.wait(l); err != nil {
		return false, err
	}
	if err := g.fill(c, with, first); err != nil {
		return true, err
	}
	_, err = g.spreadNews(c, with)
	return true, err
}

// spreadNews gives what only the joining member had to the ready members beside
// the reference, which were equal to that. It is done again, by a later round, until
// there is nothing to give. It is true if there was something.
func (g *Group) spreadNews(c *comparison, with *link) (gave bool, err error) {
	if !c.untold {
		return false, nil
	}
	for _, other := range g.readyBut(c.link.seat) {
		if other == with {
			continue
		}
		d, err := g.compare(c.link, other)
		if err != nil {
			return gave, err
		}
		if !c.anyCopyable(other, d.onlyA) {
			continue
		}
		gave = true
		if err := g.fill(c, other, d); err != nil {
			return gave, err
		}
	}
	c.untold = gave
	return gave, nil
}

// awaitEarlier waits a little for members earlier in the list that are just
// being connected or compared.
func (g *Group) awaitEarlier(ctx context.Context, s *seat) {
	g.await(ctx, func() bool {
		if s.login != g.logins {
			return true // it gets the group's login first
		}
		for _, other := range g.seats {
			if other == s {
				break
			}
			if other.state == Connecting && other.failures == 0 || other.state == Syncing {
				return false
			}
		}
		return true
	})
}

// reference is the connection of the member to compare with: the first that is
// ready.
func (g *Group) reference(but *seat) *link {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, standby := range []bool{false, true} {
		for _, s := range g.seats {
			if s != but && s.state == Ready && s.standby == standby {
				return s.link
			}
		}
	}
	return nil
}

// reportSingle says which objects only one member has and can have (K8).
func (g *Group) reportSingle(at, lacking *link, objects []wire.Identity) {
	var stay []*wire.Identity
	for i := range objects {
		if objects[i].Flags&wire.Copyable == 0 {
			stay = append(stay, &objects[i])
			g.say(ObjectNotCopied, lacking.seat, nil, describe(&objects[i])+": cannot leave member "+at.seat.member.Name()+", and is used there only"+g.stays(at.seat))
		}
	}
	g.keeps(at.seat, stay...)
}

// reportDrift says which objects are called otherwise on two members, which is
// for an operator to decide (field-M2).
func (g *Group) reportDrift(a, b *link, d difference) {
	count := make(map[identityKey]int)
	names := make(map[string]bool)
	for i := range d.ofB {
		count[keyOf(&d.ofB[i])]++
		names[nameOf(&d.ofB[i])] = true
	}
	for i := range d.ofA {
		if id := &d.ofA[i]; len(id.Fingerprint) > 0 && count[keyOf(id)] == 1 && !names[nameOf(id)] {
			g.say(ObjectsDiffer, a.seat, nil, describe(id)+": has another label or ID on member "+b.seat.member.Name())
		}
	}
}

// anyCopyable says whether some of the objects can be copied to a member.
func (c *comparison) anyCopyable(to *link, objects []wire.Identity) bool {
	for i := range objects {
		if objects[i].Flags&wire.Copyable != 0 && !c.refused[refusal{to.seat, keyOf(&objects[i])}] {
			return true
		}
	}
	return false
}

// describe names an object for an operator.
func describe(id *wire.Identity) string {
	class := map[uint64]string{
		pkcs11.CKO_DATA: "data object", pkcs11.CKO_CERTIFICATE: "certificate", pkcs11.CKO_PUBLIC_KEY: "public key",
		pkcs11.CKO_PRIVATE_KEY: "private key", pkcs11.CKO_SECRET_KEY: "secret key",
	}[id.Class]
	if class == "" {
		class = fmt.Sprintf("object of class %#x", id.Class)
	}
	return fmt.Sprintf("%s, label %q, ID %x", class, id.Label, id.ID)
}
