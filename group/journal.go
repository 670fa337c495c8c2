// SPDX-License-Identifier: Apache-2.0

package group

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/wire"
)

// The journal lives in the tokens: destructions and changes that some member
// has not confirmed are records on the members that did. Every host and
// process that shares the group sees them, and they outlive the client.

// recordVersion is the version of the records' form. A record of another
// version is left alone and reported; nothing is deleted by it.
const recordVersion = 1

// deleteBound is how many objects one sync destroys at most. More than that is
// a fault somewhere, for an operator to look at (field-D4).
const deleteBound = 256

const (
	opDestroy = "destroy"
	opChange  = "change"
)

// A record is one destruction or change.
type record struct {
	Version  int             `json:"version"`
	Op       string          `json:"op"`
	Time     time.Time       `json:"time"`
	Identity wire.Identity   `json:"identity"`
	Changes  pkcs11.Template `json:"changes,omitempty"`
	Pending  []string        `json:"pending"` // the members that have not confirmed
}

func (r record) String() string { return r.Op + " " + describe(&r.Identity) }

// pending returns the record with the members that are to follow.
func (r record) pending(members []string) record {
	r.Version, r.Pending = recordVersion, slices.Clone(members)
	r.Identity.Object = 0
	return r
}

func (r record) encode() []byte {
	blob, err := json.Marshal(r)
	if err != nil {
		panic(err) // plain data always encodes
	}
	return blob
}

// writeRecord puts a record on a member.
func (g *Group) writeRecord(l *link, r record) (pkcs11.RV, error) {
	call := wire.Record{Record: r.encode()}
	_, err := l.do(g.ctx, g.limits(nil), &call)
	return call.RV, err
}

// eraseRecord removes a record from a member. If it stays, it is only confirmed
// once more.
func (g *Group) eraseRecord(l *link, r record) {
	call := wire.Unrecord{Record: r.encode()}
	if _, err := l.do(g.ctx, g.limits(nil), &call); err != nil {
		g.drop(l, err)
	}
}

// readRecords reads the journal of a member. raw holds each record as it
// stands there.
func (g *Group) readRecords(l *link) (records []record, raw [][]byte, err error) {
	var call wire.Records
	if _, err := l.background(g.ctx, g.limits(nil), &call); err != nil {
		return nil, nil, err
	}
	switch call.RV {
	case pkcs11.CKR_OK:
	case pkcs11.CKR_USER_NOT_LOGGED_IN, pkcs11.CKR_FUNCTION_NOT_SUPPORTED:
		return nil, nil, nil // read again after login; or the token keeps none
	default:
		return nil, nil, fmt.Errorf("its journal cannot be read: %w", call.RV)
	}
	for _, blob := range call.Records {
		var r record
		if json.Unmarshal(blob, &r) != nil || r.Version != recordVersion {
			g.say(JournalUnreadable, l.seat, nil, "a record does not parse, or is of another version: it is left alone")
			continue
		}
		records, raw = append(records, r), append(raw, blob)
	}
	return records, raw, nil
}

// settleJournal carries out what the journals of a member that joins and of
// those that are ready say that one of them has missed, and takes whoever has
// confirmed off the records.
func (g *Group) settleJournal(joining *link) error {
	budget := deleteBound
	members := append(g.readyBut(joining.seat), joining)
	settled := make(map[string]bool)
	for _, from := range members {
		records, raw, err := g.readRecords(from)
		if err != nil && from != joining {
			g.drop(from, err)
			continue
		}
		if err != nil {
			return err
		}
		for i := range records {
			if settled[string(raw[i])] {
				continue
			}
			settled[string(raw[i])] = true
			if err := g.settle(&records[i], raw[i], members, &budget); err != nil {
				return err
			}
		}
	}
	if budget < deleteBound {
		g.say(ObjectsDestroyed, joining.seat, nil, fmt.Sprintf("%d objects that were destroyed while a member was away", deleteBound-budget))
	}
	return nil
}

// settle has those of the members that a record waits for follow it, and
// rewrites the record.
func (g *Group) settle(r *record, raw []byte, members []*link, budget *int) error {
	left := slices.Clone(r.Pending)
	for _, l := range members {
		waiting := func(name string) bool {
			return name == l.seat.serialNow(g) || name == "@"+l.seat.member.Name()
		}
		if !slices.ContainsFunc(left, waiting) {
			continue
		}
		if err := g.obey(l, r, budget); err != nil {
			return err
		}
		left = slices.DeleteFunc(left, waiting)
	}
	if len(left) == len(r.Pending) {
		return nil
	}
	rest := r.pending(left)
	if len(left) > 0 {
		// Whoever has confirmed keeps the record for those still away.
		for _, l := range members {
			if rv, err := g.writeRecord(l, rest); err != nil || rv != pkcs11.CKR_OK {
				return errors.Join(err, orNil(rv))
			}
		}
	}
	for _, l := range members {
		erase := wire.Unrecord{Record: raw}
		if _, err := l.do(g.ctx, g.limits(nil), &erase); err != nil {
			return err
		}
	}
	return nil
}

// obey carries out a record on a member.
func (g *Group) obey(l *link, r *record, budget *int) error {
	find := wire.Resolve{Wanted: r.Identity}
	if _, err := l.background(g.ctx, g.limits(nil), &find); err != nil {
		return err
	}
	if find.RV != pkcs11.CKR_OK {
		return fmt.Errorf("journal: %v: %w", r, find.RV)
	}
	target := choose(find.Found, &r.Identity)
	if target == nil {
		return nil // it never had the object, or has lost it already
	}
	var call wire.Call
	switch r.Op {
	case opDestroy:
		if *budget--; *budget < 0 {
			return &mismatch{fmt.Sprintf("its journal asks for more than %d deletions at once: look at it with `oneslot sync --dry-run`", deleteBound)}
		}
		call = &wire.DestroyObject{Object: target.Object}
	case opChange:
		call = &wire.SetAttributeValue{Object: target.Object, Template: r.Changes}
	default:
		return fmt.Errorf("journal: unknown operation %q", r.Op)
	}
	if _, err := l.background(g.ctx, g.limits(nil), call); err != nil {
		return err
	}
	if call.Result() != pkcs11.CKR_OK {
		g.say(ChangeMissed, l.seat, call.Result(), r.String())
	}
	return nil
}

// choose picks among objects of one identity the one with the label and ID
// that are wanted, or the only one there is.
func choose(found []wire.Identity, wanted *wire.Identity) *wire.Identity {
	var token []*wire.Identity
	for i := range found {
		if !found[i].Same(wanted) || found[i].Flags&wire.OnToken == 0 {
			continue
		}
		if string(found[i].Label) == string(wanted.Label) && string(found[i].ID) == string(wanted.ID) {
			return &found[i]
		}
		token = append(token, &found[i])
	}
	if len(token) == 1 {
		return token[0]
	}
	return nil
}
