// SPDX-License-Identifier: Apache-2.0

package group

import (
	"context"
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

// sync gives a member what it missed, and takes from it what the others
// missed: destructions and changes by the journal, then new objects. An object
// that one side lacks is copied, never deleted (K5, field-D4).
func (g *Group) sync(s *seat, l *link) error {
	g.awaitEarlier(s)
	select {
	case g.comparing <- struct{}{}:
		defer func() { <-g.comparing }()
	case <-g.ctx.Done():
		return g.ctx.Err()
	}
	if err := g.settleJournal(l); err != nil {
		return err
	}
	with := g.reference(s)
	if with == nil {
		return nil // nobody to compare with: it is what there is
	}
	mine, theirs, err := g.compare(l, with)
	if err != nil {
		return err
	}
	g.reportSingle(l, with, mine)
	g.reportSingle(with, l, theirs)
	if !anyCopyable(mine) && !anyCopyable(theirs) {
		return nil
	}
	pause := time.NewTimer(secondLook/3 + time.Duration(rand.Int64N(int64(secondLook*2/3))))
	defer pause.Stop()
	select {
	case <-pause.C:
	case <-g.ctx.Done():
		return g.ctx.Err()
	}
	if mine, theirs, err = g.compare(l, with); err != nil {
		return err
	}
	g.transfer(with, l, theirs)
	g.transfer(l, with, mine)
	return l.conn.Err()
}

// awaitEarlier waits a little for members earlier in the list that are just
// being connected or compared.
func (g *Group) awaitEarlier(s *seat) {
	ctx, cancel := context.WithTimeout(g.ctx, startPatience)
	defer cancel()
	g.await(ctx, func() bool {
		for _, other := range g.seats[:s.index] {
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

// list returns the token objects of a member.
func (g *Group) list(l *link) ([]wire.Identity, error) {
	find := wire.Find{Template: pkcs11.Template{pkcs11.Bool(pkcs11.CKA_TOKEN, true)}}
	if _, err := l.background(g.ctx, g.limits(nil), &find); err != nil {
		return nil, err
	}
	if find.RV != pkcs11.CKR_OK {
		return nil, fmt.Errorf("its objects cannot be listed: %w", find.RV)
	}
	return find.Found, nil
}

// compare lists both members and returns what only a has, and what only b has.
// An error is a's; if b fails there is nothing to compare with.
func (g *Group) compare(a, b *link) (onlyA, onlyB []wire.Identity, err error) {
	ofA, err := g.list(a)
	if err != nil {
		return nil, nil, err
	}
	ofB, err := g.list(b)
	if err != nil {
		g.drop(b, err)
		return nil, nil, fmt.Errorf("member %s, which it was compared with: %w", b.seat.member.Name(), err)
	}
	g.mu.Lock()
	a.seat.objects, b.seat.objects = len(ofA), len(ofB)
	g.mu.Unlock()
	return missing(ofA, ofB), missing(ofB, ofA), nil
}

// identityKey is what makes objects the same: class, type and key material.
type identityKey struct {
	class, kind uint64
	fingerprint string
}

func keyOf(i *wire.Identity) identityKey {
	return identityKey{i.Class, i.KeyType, string(i.Fingerprint)}
}

// missing returns those of has that lacks has fewer of. Objects without an
// established identity are nobody's copies and are left alone.
func missing(has, lacks []wire.Identity) (out []wire.Identity) {
	count := make(map[identityKey]int, len(lacks))
	for i := range lacks {
		count[keyOf(&lacks[i])]++
	}
	seen := make(map[identityKey]int, len(has))
	for i := range has {
		if len(has[i].Fingerprint) == 0 {
			continue
		}
		k := keyOf(&has[i])
		if seen[k]++; seen[k] > count[k] {
			out = append(out, has[i])
		}
	}
	return out
}

// reportSingle says which objects only one member has and can have (K8).
func (g *Group) reportSingle(at, lacking *link, objects []wire.Identity) {
	for i := range objects {
		if objects[i].Flags&wire.Copyable == 0 {
			g.say(ObjectNotCopied, lacking.seat, nil, describe(&objects[i])+": cannot leave member "+at.seat.member.Name()+", and is used there only")
		}
	}
}

func anyCopyable(objects []wire.Identity) bool {
	for i := range objects {
		if objects[i].Flags&wire.Copyable != 0 {
			return true
		}
	}
	return false
}

// transfer copies objects from one member to another and reports what was and
// what could not be copied.
func (g *Group) transfer(from, to *link, objects []wire.Identity) {
	copied := 0
	copies := make(map[identityKey]uint64)
	for i := range objects {
		id := &objects[i]
		if id.Flags&wire.Copyable == 0 {
			continue
		}
		if copies[keyOf(id)] == 0 {
			copies[keyOf(id)] = g.count(to, id)
		}
		copies[keyOf(id)]++
		err := g.copy(from, to, id, copies[keyOf(id)])
		switch {
		case from.conn.Err() != nil || to.conn.Err() != nil:
			return // the rest is copied when both are back
		case err != nil:
			g.say(ObjectNotCopied, to.seat, err, describe(id))
		default:
			copied++
		}
	}
	if copied > 0 {
		g.mu.Lock()
		to.seat.objects += copied
		g.mu.Unlock()
		g.say(ObjectsCopied, to.seat, nil, fmt.Sprintf("%d objects from member %s", copied, from.seat.member.Name()))
	}
}

// count is how many token objects with this identity a member has.
func (g *Group) count(l *link, id *wire.Identity) (n uint64) {
	call := wire.Resolve{Wanted: *id}
	if _, err := l.background(g.ctx, g.limits(nil), &call); err != nil {
		return 0
	}
	for i := range call.Found {
		if call.Found[i].Flags&wire.OnToken != 0 {
			n++
		}
	}
	return n
}

// copy copies one object, so that there are so many copies on the receiver.
func (g *Group) copy(from, to *link, id *wire.Identity, copies uint64) error {
	export := wire.Export{Object: id.Object}
	if _, err := from.background(g.ctx, g.limits(nil), &export); err != nil {
		return err
	}
	if export.RV != pkcs11.CKR_OK {
		return fmt.Errorf("member %s does not export it: %w", from.seat.member.Name(), export.RV)
	}
	in := wire.Import{Blob: export.Blob, Token: true, Copies: copies}
	if _, err := to.background(g.ctx, g.limits(nil), &in); err != nil {
		return err
	}
	if in.RV != pkcs11.CKR_OK {
		return fmt.Errorf("member %s does not import it: %w", to.seat.member.Name(), in.RV)
	}
	return nil
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
