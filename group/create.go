// SPDX-License-Identifier: Apache-2.0

package group

import (
	"errors"
	"slices"
	"time"

	"oneslot.dev/oneslot/member"
	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/wire"
)

// Created is a token object that was created on the members of a group.
type Created struct {
	Identity wire.Identity
	Places   []At
}

// At is where an object is: its handle on one connection of one member.
type At struct {
	Seat   int
	Epoch  uint64
	Object uint64
}

// A Maker runs the creating call in a session, for session objects. It returns
// their handles there.
type Maker func(h *Hold) ([]uint64, pkcs11.RV, error)

// Create creates token objects on every member that is ready, active and
// standby, exactly once (K1, K4):
//
//  1. the primary makes them as session objects. If its answer is lost nothing
//     is left behind, and the next member makes others;
//  2. they are exported, wrapped under the domain key;
//  3. the primary notes in its journal what it is about to publish, so that
//     half of a pair does not stay if this process dies, and publishes them as
//     token objects;
//  4. the others import them. One that fails is dropped and gets them when it
//     comes back (K2).
//
// Publishing and importing find what is already there, so neither doubles it.
func (g *Group) Create(makeObjects Maker) (created []Created, rv pkcs11.RV) {
	g.AwaitArrivals() // before anything is made, since it may be for nothing
	if rv := g.enoughMembers(); rv != pkcs11.CKR_OK {
		return nil, rv
	}
	rv, _ = g.Do(wire.Use, Primary, func(p *Place) (pkcs11.RV, error) {
		h, err := p.Hold()
		if err != nil {
			return 0, err
		}
		defer h.Release(false) // the session objects go with their session
		handles, rv, err := makeObjects(h)
		if err != nil || rv != pkcs11.CKR_OK {
			return rv, err
		}
		created, rv, err = g.spread(p, h, handles)
		if err == nil && rv == pkcs11.CKR_TEMPLATE_INCONSISTENT {
			// The template was taken a moment ago: it is the member that is
			// confused, as SoftHSM is while another process writes.
			rv = pkcs11.CKR_FUNCTION_FAILED
		}
		return rv, err
	})
	if rv != pkcs11.CKR_OK {
		return nil, rv
	}
	return created, rv
}

// enoughMembers refuses a creation that fewer members than min_copies could
// get (K3).
func (g *Group) enoughMembers() pkcs11.RV {
	if g.option().MinCopies <= 1 {
		return pkcs11.CKR_OK
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	ready := 0
	for _, s := range g.seats {
		if s.state == Ready {
			ready++
		}
	}
	if ready < g.option().MinCopies {
		return pkcs11.CKR_DEVICE_ERROR
	}
	return pkcs11.CKR_OK
}

// A sprout is an object on its way from a session object to every member.
type sprout struct {
	identity wire.Identity
	blob     []byte // nil: it cannot be copied
	copies   uint64 // of the key that there are then
	twins    *twins // that there were before; nil: none
	at       []At
	unsure   map[*seat]bool // who may have it though the answer was lost
}

// spread turns session objects into token objects on every member.
func (g *Group) spread(p *Place, h *Hold, handles []uint64) ([]Created, pkcs11.RV, error) {
	if !g.enter() {
		return nil, pkcs11.CKR_DEVICE_ERROR, nil
	}
	defer g.exit()
	sprouts, rv, err := g.prepare(h, handles)
	if err != nil || rv != pkcs11.CKR_OK {
		return nil, rv, err
	}
	intent, rv, err := g.announce(p, h, sprouts)
	if err != nil || rv != pkcs11.CKR_OK {
		return nil, rv, err
	}
	for i, handle := range handles {
		rv, err := g.publish(p, h, sprouts[i], handle)
		if err != nil || rv != pkcs11.CKR_OK {
			g.uproot(p, sprouts)
			g.conclude(p, h, intent, nil)
			return nil, rv, err
		}
	}
	g.importAll(p, sprouts)
	created := make([]Created, len(sprouts))
	for i, s := range sprouts {
		if !g.enough(s) || g.onStandbyOnly(s) {
			g.uproot(p, sprouts)
			g.conclude(p, h, intent, nil)
			return nil, pkcs11.CKR_DEVICE_ERROR, nil
		}
		created[i] = Created{s.identity, s.at}
	}
	g.conclude(p, h, intent, sprouts)
	return created, pkcs11.CKR_OK, nil
}

// enough says whether an object is on as many members as it must be (K3).
func (g *Group) enough(s *sprout) bool { return len(s.at) >= max(g.option().MinCopies, 1) }

// onStandbyOnly says whether a standby is the only holder of an object though an
// active member serves, which did not take it (S1).
func (g *Group) onStandbyOnly(s *sprout) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	active := false
	for _, other := range g.seats {
		if other.standby {
			continue
		}
		active = active || other.state == Ready
		if slices.ContainsFunc(s.at, func(at At) bool { return at.Seat == other.index }) {
			return false
		}
	}
	return active
}

// prepare learns what session objects are and takes their wrapped form.
func (g *Group) prepare(h *Hold, handles []uint64) (sprouts []*sprout, rv pkcs11.RV, err error) {
	for _, handle := range handles {
		identify := wire.Identify{Object: handle}
		if _, err := h.Do(&identify); err != nil || identify.RV != pkcs11.CKR_OK {
			return nil, identify.RV, err
		}
		sprouts = append(sprouts, &sprout{identity: keep(identify.Identity), copies: 1, unsure: make(map[*seat]bool)})
	}
	if !h.fresh {
		h.since, h.unsettled = g.settleFor(time.Now().Add(turnPatience), identities(sprouts)...) // what was destroyed before is another object than this one
	}
	for i, s := range sprouts {
		if rv, err := g.wrap(h, s, handles[i]); err != nil || rv != pkcs11.CKR_OK {
			return nil, rv, err
		}
	}
	return sprouts, pkcs11.CKR_OK, nil
}

// wrap counts the copies there are of an object, and exports it.
func (g *Group) wrap(h *Hold, s *sprout, handle uint64) (pkcs11.RV, error) {
	if len(s.identity.Fingerprint) > 0 {
		// Label and ID are no part of the question: the session object itself
		// answers to them, and then nothing else is looked at.
		resolve := wire.Resolve{Wanted: s.identity}
		resolve.Wanted.Label, resolve.Wanted.ID = nil, nil
		if _, err := h.Do(&resolve); err != nil || resolve.RV != pkcs11.CKR_OK {
			return resolve.RV, err
		}
		if err := s.count(h, handle, resolve.Found); err != nil {
			return 0, err
		}
	}
	if g.size() > 1 && s.identity.Flags&wire.Copyable != 0 {
		export := wire.Export{Object: handle}
		_, err := h.Do(&export)
		switch {
		case err == nil && export.RV != pkcs11.CKR_OK && blame(export.RV, true) == request:
			return pkcs11.CKR_FUNCTION_FAILED, nil // that is no request of the application, and it said that it can
		case err != nil || export.RV != pkcs11.CKR_OK:
			return export.RV, err
		}
		s.blob = export.Blob
	}
	return pkcs11.CKR_OK, nil
}

// count notes what there is of the key before. The same key material once more is
// legal (field-C8).
func (s *sprout) count(h *Hold, handle uint64, found []wire.Identity) (err error) {
	read := func(id *wire.Identity) (traits string) {
		if err == nil {
			traits, err = traitsOf(id, func(call wire.Call) error { _, err := h.Do(call); return err })
		}
		return traits
	}
	t := &twins{}
	for i := range found {
		if found[i].Flags&wire.OnToken != 0 {
			t.All++
		}
	}
	if t.All == 0 {
		return nil
	}
	s.copies += uint64(t.All)
	s.twins = t
	for _, other := range called(found, &s.identity) {
		if t.Others++; t.Traits == "" {
			mine := s.identity
			mine.Object = handle
			t.Traits = read(&mine)
		}
		if read(other) == t.Traits {
			t.Alike++
		}
	}
	return err
}

// keep copies an identity out of the memory of a reply.
func keep(id wire.Identity) wire.Identity {
	id.Fingerprint, id.Label, id.ID = slices.Clone(id.Fingerprint), slices.Clone(id.Label), slices.Clone(id.ID)
	id.Object = 0
	return id
}

func identities(sprouts []*sprout) (ids []wire.Identity) {
	for _, s := range sprouts {
		ids = append(ids, s.identity)
	}
	return ids
}

// publish makes a token object of a session object on the primary. If its
// answer is lost the object goes to the other members all the same: the
// primary has it, or gets it when it comes back.
func (g *Group) publish(p *Place, h *Hold, s *sprout, handle uint64) (pkcs11.RV, error) {
	call := wire.Publish{Object: handle, Copies: s.copies}
	_, err := h.Do(&call)
	var fault *member.Fault
	switch {
	case errors.As(err, &fault) && fault.Sent && s.blob != nil:
		s.unsure[p.seat] = true
		return pkcs11.CKR_OK, nil
	case err != nil || call.RV != pkcs11.CKR_OK:
		return call.RV, err
	}
	s.at = append(s.at, At{p.Seat(), p.Epoch(), call.Identity.Object})
	s.identity.Flags = call.Identity.Flags
	return pkcs11.CKR_OK, nil
}

// importAll copies the objects to every other member that is ready.
func (g *Group) importAll(from *Place, sprouts []*sprout) {
	others := g.readyBut(from.seat)
	imported := make([][]At, len(others))
	lost := make([][]*sprout, len(others))
	done := make(chan struct{})
	for i, l := range others {
		go func() {
			imported[i], lost[i] = g.importOn(from.seat, l, sprouts)
			done <- struct{}{}
		}()
	}
	for range others {
		<-done
	}
	for i, l := range others {
		for _, s := range lost[i] {
			s.unsure[l.seat] = true
		}
		for k, at := range imported[i] {
			if at.Object != 0 {
				sprouts[k].at = append(sprouts[k].at, at)
			}
		}
	}
}

// importOn copies the objects to one member, in one message, so that a member far
// away costs one round trip. Those that failed have no handle; lost are those
// that it may have though the answer was lost.
func (g *Group) importOn(from *seat, l *link, sprouts []*sprout) (out []At, lost []*sprout) {
	out = make([]At, len(sprouts))
	var calls []wire.Call
	var index []int // of each call's sprout
	for i, s := range sprouts {
		if s.blob == nil {
			g.keeps(from, &s.identity)
			g.say(ObjectNotCopied, l.seat, nil, describe(&s.identity)+" was created so that it cannot be copied"+g.stays(from))
			continue
		}
		calls, index = append(calls, &wire.Import{Blob: s.blob, Token: true, Copies: s.copies, Named: true}), append(index, i)
	}
	for len(calls) > 0 {
		n, err := l.do(g.ctx, g.limits(nil), calls...)
		if err != nil {
			g.drop(l, err)
			for _, i := range index {
				lost = append(lost, sprouts[i])
			}
			return out, lost
		}
		for k := range n {
			call, s := calls[k].(*wire.Import), sprouts[index[k]]
			switch {
			case call.RV == pkcs11.CKR_OK:
				out[index[k]] = At{l.seat.index, l.epoch, call.Identity.Object}
			case !full(call.RV) && blame(call.RV, true) != request:
				g.drop(l, errRefused(call.Number(), call.RV)) // it is asked again when it comes back
				return out, nil
			default:
				g.keeps(from, &s.identity)
				g.say(ObjectNotCopied, l.seat, importError(call.RV), describe(&s.identity))
			}
		}
		calls, index = calls[n:], index[n:]
	}
	return out, nil
}

func (g *Group) readyBut(but *seat) (links []*link) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, s := range g.seats {
		if s != but && s.state == Ready {
			links = append(links, s.link)
		}
	}
	return links
}

// full says whether a token has no room or may not be written to. What it has
// it can go on using.
func full(rv pkcs11.RV) bool {
	return rv == pkcs11.CKR_DEVICE_MEMORY || rv == pkcs11.CKR_TOKEN_WRITE_PROTECTED
}

// uproot removes token objects of a creation that failed half-way. A member that
// cannot be reached for it, or that is not connected as it was when it got them, is
// told by the journal.
func (g *Group) uproot(p *Place, sprouts []*sprout) {
	for _, s := range sprouts {
		if len(s.identity.Fingerprint) == 0 || len(s.at)+len(s.unsure) == 0 {
			continue
		}
		if len(s.at) > 0 {
			rv := g.destroy(s.identity, 0, func(p *Place, stale uint64) (uint64, pkcs11.RV, error) {
				for _, at := range s.at {
					if at.Seat == p.Seat() && at.Epoch == p.Epoch() && at.Object != stale {
						return at.Object, pkcs11.CKR_OK, nil
					}
				}
				return 0, 0, ErrElsewhere
			})
			if rv == pkcs11.CKR_OK || blame(rv, true) == request {
				continue
			}
		}
		// Others may have copied it by now.
		gone := record{Op: opDestroy, Identity: s.identity, Twins: s.twins, Time: after(time.Time{})}
		g.leaveRecord(g.readyBut(nil), gone.pending(g.all()))
	}
}
