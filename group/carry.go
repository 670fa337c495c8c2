// SPDX-License-Identifier: Apache-2.0

package group

import (
	"bytes"
	"errors"
	"fmt"

	"oneslot.dev/oneslot/member"
	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/wire"
)

// A member that is filled waits for nobody: while it imports some keys, the next are
// exported by another process, often on another machine. On each of the two one
// message is under way, by one session: its token has applications to serve besides.

// parcelKeys is how many keys travel in one message, so that one far away is not
// waited for with each. Other objects may be large, and travel alone (wire.MaxFrame).
const parcelKeys = 8

// A parcel is an object on its way from one member to another.
type parcel struct {
	id   *wire.Identity
	blob []byte // nil: it was not exported
	err  error  // why it did not arrive
}

// carry copies objects, so that there are so many of each on the receiver as wanted
// says, and returns those that it has made, by the receiver's handles. The error is
// the receiver's failure, or the end of the group; if the other one fails, the rest is
// copied when both are back.
func (g *Group) carry(c *comparison, m *mark, from, to *link, objects []*wire.Identity, wanted map[identityKey]uint64) (map[uint64]*wire.Identity, error) {
	stop := make(chan struct{})
	exported := g.exports(from, objects, stop)
	defer func() {
		close(stop)
		for range exported { // until the exporter has seen it
		}
	}()
	made := make(map[uint64]*wire.Identity)
	for batch := range exported {
		g.refresh(m)
		g.imports(to, batch, wanted, made)
		for _, p := range batch {
			switch {
			case g.ctx.Err() != nil:
				return nil, g.ctx.Err()
			case to.conn.Err() != nil:
				return nil, to.conn.Err()
			case p.blob == nil && isFault(p.err):
				g.drop(from, p.err)
				return made, nil
			case isFault(p.err): // it may have made some of these: it is compared anew
				return nil, p.err
			case p.err != nil:
				c.refused[refusal{to.seat, keyOf(p.id)}] = true
				g.keeps(from.seat, p.id)
				g.say(ObjectNotCopied, to.seat, p.err, describe(p.id))
			}
		}
	}
	return made, nil
}

// exports exports objects in the background, one batch ahead of whoever takes them,
// until stop is closed or the connection ends.
func (g *Group) exports(from *link, objects []*wire.Identity, stop <-chan struct{}) <-chan []*parcel {
	out := make(chan []*parcel)
	go func() {
		defer close(out)
		for len(objects) > 0 {
			n := batchOf(objects)
			batch := g.export(from, objects[:n])
			objects = objects[n:]
			select {
			case out <- batch:
			case <-stop:
				return
			}
			if from.conn.Err() != nil {
				return
			}
		}
	}()
	return out
}

func isFault(err error) bool { return errors.As(err, new(*member.Fault)) }

// batchOf is how many of the first objects travel in one message.
func batchOf(objects []*wire.Identity) (n int) {
	for n < min(len(objects), parcelKeys) {
		switch objects[n].Class {
		case pkcs11.CKO_PRIVATE_KEY, pkcs11.CKO_SECRET_KEY, pkcs11.CKO_PUBLIC_KEY:
			n++
			continue
		}
		break
	}
	return max(n, 1)
}

func (g *Group) export(from *link, objects []*wire.Identity) []*parcel {
	batch, calls := make([]*parcel, len(objects)), make([]wire.Call, len(objects))
	for i, id := range objects {
		batch[i], calls[i] = &parcel{id: id}, &wire.Export{Object: id.Object}
	}
	run, err := g.each(from, calls)
	for i, p := range batch {
		switch call := calls[i].(*wire.Export); {
		case i >= run:
			p.err = err
		case call.RV != pkcs11.CKR_OK:
			p.err = fmt.Errorf("member %s does not export it: %w", from.seat.member.Name(), call.RV)
		default:
			p.blob = bytes.Clone(call.Blob)
		}
	}
	return batch
}

// imports imports what was exported.
func (g *Group) imports(to *link, batch []*parcel, wanted map[identityKey]uint64, made map[uint64]*wire.Identity) {
	var calls []wire.Call
	var sent []*parcel
	for _, p := range batch {
		if p.err == nil {
			calls, sent = append(calls, &wire.Import{Blob: p.blob, Token: true, Copies: wanted[keyOf(p.id)]}), append(sent, p)
		}
	}
	run, err := g.each(to, calls)
	for i, p := range sent {
		switch call := calls[i].(*wire.Import); {
		case i >= run:
			p.err = err
		case call.RV != pkcs11.CKR_OK:
			p.err = fmt.Errorf("member %s does not take it: %w", to.seat.member.Name(), importError(call.RV))
		default:
			made[call.Identity.Object] = p.id
		}
	}
}

// each runs calls that do not depend on each other: one that the token refuses does not
// keep the others from being run. It returns how many were answered.
func (g *Group) each(l *link, calls []wire.Call) (run int, err error) {
	for run < len(calls) {
		n, err := l.background(g.ctx, g.limits(nil), calls[run:]...)
		if err != nil {
			return run, err
		}
		run += n
	}
	return run, nil
}
