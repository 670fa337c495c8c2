// SPDX-License-Identifier: Apache-2.0

package group

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/wire"
)

// The journal lives in the tokens: what some member has not confirmed is a
// record on the members that did. Every host and process that shares the group
// sees them, and they outlive the client. settle.go carries them out.

// recordVersion is the version of the records' form. A record of another
// version is left alone and reported; nothing is deleted by it.
const recordVersion = 1

// The kinds of records.
const (
	opDestroy = "destroy"
	opChange  = "change"

	// opCreate stands for a creation that some member has missed, so that an
	// older destruction of the same key does not hit the new one; and, while
	// it is open, for one that may be half done.
	opCreate = "create"

	// opFill stands on a member while some process fills it (fill.go).
	opFill = "fill"

	// opClaim stands on a member while some process carries out changes there (claim.go).
	opClaim = "claim"

	opRoster    = "roster"    // the tokens that were ever in sync (roster.go)
	opForgotten = "forgotten" // those of them that an operator gave up
)

// A record is one entry of the journal.
type record struct {
	Version  int             `json:"version"`
	Op       string          `json:"op"`
	Time     time.Time       `json:"time"`
	Identity wire.Identity   `json:"identity"`
	With     []wire.Identity `json:"with,omitempty"`  // what was created together with it
	Twins    *twins          `json:"twins,omitempty"` // what else has this identity; nil: nothing
	Changes  pkcs11.Template `json:"changes,omitempty"`
	As       *wire.Identity  `json:"as,omitempty"`    // what a twin is called where the change was made that this one takes back
	Doing    []record        `json:"doing,omitempty"` // what a claim is about
	Open     bool            `json:"open,omitempty"`  // the creation is not over
	By       string          `json:"by,omitempty"`    // the process that wrote it
	Pending  []string        `json:"pending"`         // the members that have not confirmed

	// Voucher is what a record that does not count by itself has in common with the one that
	// vouches for it, which is Sure (vouch.go).
	Voucher string `json:"voucher,omitempty"`
	Sure    bool   `json:"sure,omitempty"`

	// Settled is when all had confirmed, of a record that stays for those who may
	// have an older state of it; zero otherwise.
	Settled time.Time `json:"settled,omitzero"`
}

func (r record) String() string {
	if r.Op == opClaim && len(r.Doing) > 0 {
		return fmt.Sprintf("%s: a process carries out %v, and %d more", r.Op, r.Doing[0], len(r.Doing)-1)
	}
	return r.Op + " " + describe(&r.Identity)
}

// pending returns the record with the members that are to follow.
func (r record) pending(members []string) record {
	r.Version, r.Pending, r.Settled = recordVersion, slices.Clone(members), time.Time{}
	r.Voucher, r.Sure = "", false
	r.Identity.Object = 0
	return r
}

// event is what the record says but for who has confirmed it. Members may hold
// different states of one event.
func (r record) event() string {
	r.Pending, r.Open, r.Settled = nil, false, time.Time{}
	r.Voucher, r.Sure = "", false
	if r.Op == opCreate || r.Op == opChange || r.Op == opDestroy {
		r.By = ""
	}
	return string(r.encode())
}

// concerns says whether the record is about an object.
func (r *record) concerns(id *wire.Identity) bool {
	if r.Identity.Same(id) {
		return true
	}
	return slices.ContainsFunc(r.With, func(w wire.Identity) bool { return w.Same(id) })
}

func (r record) encode() []byte {
	blob, err := json.Marshal(r)
	if err != nil {
		panic(err) // plain data always encodes
	}
	return blob
}

// known says whether this version of the program knows what the record means.
func (r *record) known() bool {
	return r.Version == recordVersion && slices.Contains([]string{opDestroy, opChange, opCreate, opFill, opClaim, opRoster, opForgotten}, r.Op)
}

// decodeRecord reads a record, if this version of the program understands it.
func decodeRecord(raw []byte) (r record, ok bool) {
	return r, json.Unmarshal(raw, &r) == nil && r.known()
}

// writeRecord puts a record on a member.
func (g *Group) writeRecord(l *link, r record) (pkcs11.RV, error) { return g.writeRaw(l, r.encode()) }

func (g *Group) writeRaw(l *link, raw []byte) (pkcs11.RV, error) {
	call := wire.Record{Record: raw}
	err := l.spare(g.ctx, g.limits(nil), &call)
	return call.RV, err
}

// eraseRecord removes a record from a member. If it stays, it is only confirmed
// once more.
func (g *Group) eraseRecord(l *link, r record) { g.eraseRaw(l, r.encode()) }

func (g *Group) eraseRaw(l *link, raw []byte) {
	call := wire.Unrecord{Record: raw}
	if err := l.spare(g.ctx, g.limits(nil), &call); err != nil {
		g.drop(l, err)
	}
}

// An entry is an event of the journal with all that members know of it.
type entry struct {
	record
	left []string // who has not confirmed, as far as any member knows
	at   []copyOf

	hearsay       []copyOf // records of it that do not count (vouch.go)
	before, later []*entry // the rest of the journal
	idle          []*entry // events of which there are such records only
	among         []*link  // whose journals it is from
}

// copyOf is a record as it stands on one member.
type copyOf struct {
	link *link
	raw  []byte

	voucher []byte // the record beside it that vouches for it; nil: it needs none
}

// readRecords reads the journal of a member.
func (g *Group) readRecords(l *link) (out []copyOf, records []record, err error) {
	if l.mute() {
		return nil, nil, nil // read again after login
	}
	var call wire.Records
	login := g.loginOf(l)
	if err := l.spare(g.ctx, g.limits(nil), &call); err != nil {
		return nil, nil, err
	}
	switch call.RV {
	case pkcs11.CKR_OK:
	case pkcs11.CKR_USER_NOT_LOGGED_IN, pkcs11.CKR_FUNCTION_NOT_SUPPORTED:
		if blame(call.RV, login != 0 && login == g.loginOf(l)) == device {
			return nil, nil, errRefused(call.Number(), call.RV) // it has lost the login
		}
		return nil, nil, nil // read again after login; or the token keeps none
	default:
		return nil, nil, fmt.Errorf("its journal cannot be read: %w", call.RV)
	}
	for _, blob := range call.Records {
		r, ok := decodeRecord(blob)
		if !ok {
			g.say(JournalUnreadable, l.seat, nil, "a record does not parse, or is of another version: it is left alone")
			continue
		}
		out, records = append(out, copyOf{link: l, raw: bytes.Clone(blob)}), append(records, r)
	}
	g.learn(l, records)
	return out, records, nil
}

// mute says whether a token shows no record since it was given no login in this
// connection: records are private objects (PKCS#11 2.40, 2.5), so it need not be asked.
func (l *link) mute() bool { return !l.entered.Load() && !l.needsNone() }

// loginOf is which login of the group a member has, 0 for none. What it answers to
// a question that was under way when that changed is not held against it.
func (g *Group) loginOf(l *link) uint64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.user == nil || l.seat.link != l || l.seat.login != g.logins {
		return 0
	}
	return g.logins
}

func (g *Group) someoneLoggedIn() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.user != nil
}

// errJournal is the failure of one member to tell its journal.
type errJournal struct {
	link *link
	err  error
}

func (e *errJournal) Error() string { return e.err.Error() }
func (e *errJournal) Unwrap() error { return e.err }

// failureOf is a member's failure, if it is one.
func failureOf(l *link, err error) error {
	if err == nil {
		return nil
	}
	return &errJournal{l, err}
}

// journal is journals without the idle ones.
func (g *Group) journal(members []*link) (entries []*entry, err error) {
	entries, _, err = g.journals(members)
	return entries, err
}

// journals reads the journals of members as one, in the order of events. A
// member that cannot tell its own is in the error, and the others' are there. Events of
// which there are only records that do not count are idle.
func (g *Group) journals(members []*link) (entries, idle []*entry, err error) {
	byEvent := make(map[string]*entry)
	var hearsay []rumour
	g.mu.Lock()
	for _, r := range g.owed {
		entries = append(entries, &entry{record: r, left: r.Pending})
		byEvent[r.event()] = entries[len(entries)-1]
	}
	g.mu.Unlock()
	defer func() { g.giveUp(entries) }()
	for at, told := range g.readAll(members) {
		if told.err != nil {
			err = errors.Join(err, &errJournal{members[at], told.err})
			continue
		}
		hearsay = append(hearsay, told.hearsay...)
		for i, r := range told.records {
			if r.isRoster() {
				continue
			}
			e := byEvent[r.event()]
			if e == nil {
				e = &entry{record: r, left: r.Pending}
				byEvent[r.event()] = e
				entries = append(entries, e)
			}
			e.Open = e.Open && r.Open
			if !r.Settled.IsZero() && (e.Settled.IsZero() || r.Settled.Before(e.Settled)) {
				e.Settled = r.Settled
			}
			e.left = slices.DeleteFunc(slices.Clone(e.left), func(name string) bool { return !slices.Contains(r.Pending, name) })
			e.at = append(e.at, told.copies[i])
		}
	}
	slices.SortFunc(entries, func(a, b *entry) int {
		if c := a.Time.Compare(b.Time); c != 0 {
			return c
		}
		return bytes.Compare([]byte(a.event()), []byte(b.event())) // the same winner for everybody
	})
	idle = assign(hearsay, byEvent, members)
	for i, e := range entries {
		e.before, e.later, e.idle, e.among = entries[:i], entries[i+1:], idle, members
	}
	return entries, idle, err
}

// A reading is the journal of one member.
type reading struct {
	copies  []copyOf
	records []record
	hearsay []rumour // the others do not count them
	err     error
}

// readAll reads the journals of members, all at once: each may be far away.
func (g *Group) readAll(members []*link) []reading {
	told := make([]reading, len(members))
	var all sync.WaitGroup
	for i, l := range members {
		all.Go(func() {
			told[i].copies, told[i].records, told[i].err = g.readRecords(l)
			told[i].divide()
		})
	}
	all.Wait()
	return told
}

// giveUp has events wait no longer for tokens that were forgotten.
func (g *Group) giveUp(entries []*entry) {
	for _, e := range entries {
		e.left = slices.DeleteFunc(slices.Clone(e.left), func(name string) bool { return !g.waits(name) })
	}
}

// waits says whether the event waits for a member.
func (e *entry) waits(g *Group, l *link) bool {
	return slices.ContainsFunc(e.left, func(name string) bool { return g.called(l.seat, name) })
}

// asks is waits for each record of the event taken by itself, whatever the others say: the
// last of them that is left, since another process is just removing them, would have it
// carried out once more.
func (e *entry) asks(g *Group, l *link) bool {
	return e.waits(g, l) || slices.ContainsFunc(e.at, func(c copyOf) bool {
		r, _ := decodeRecord(c.raw)
		return (&entry{left: r.Pending}).waits(g, l)
	})
}

// called says whether a name in a record means a member.
func (g *Group) called(s *seat, name string) bool {
	return name == s.serialNow(g) || name == "@"+s.member.Name()
}
