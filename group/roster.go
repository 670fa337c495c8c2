// SPDX-License-Identifier: Apache-2.0

package group

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"oneslot.dev/oneslot/config"
	"oneslot.dev/oneslot/member"
	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/wire"
)

// The roster of a token says which others were ever brought to hold the same, by
// their serial numbers. It lies in the tokens, beside the journal. One that the
// configuration no longer names is still waited for: what is destroyed or changed
// meanwhile is recorded for it, so that it brings nothing back should it ever
// return (K5). An operator ends that (Forget). From then on the token is not taken
// back with what it holds: it is quarantined until it is wiped, or trusted on order.
//
// The group's name is no part of it, since tokens know nothing of groups (G2): what
// a token holds is the same whatever a configuration calls the group, and wherever it
// is a member besides (G1). A group that was renamed knows its tokens, and what is
// destroyed in one group does not come back by another one that shares a token.

// isRoster says whether a record is none of the journal, but of the roster.
func (r *record) isRoster() bool { return r.Op == opRoster || r.Op == opForgotten }

// rosterRecord is a record of the roster. It has no time: that of two processes is
// the same one.
func rosterRecord(op string, serials ...string) record {
	slices.Sort(serials)
	return record{Op: op}.pending(slices.Compact(serials))
}

// learn takes what a member's roster says. all are all its records.
func (g *Group) learn(l *link, all []record) {
	g.mu.Lock()
	defer g.mu.Unlock()
	l.enrolled, l.forgot, l.learned = nil, nil, true
	for _, r := range all {
		switch {
		case r.Op == opRoster:
			l.enrolled = append(l.enrolled, r.Pending...)
		case r.Op == opForgotten:
			l.forgot = append(l.forgot, r)
		}
	}
	if g.roster == nil {
		g.roster = make(map[string]bool)
	}
	for _, serial := range l.enrolled {
		if !isOutlived(serial) {
			g.roster[serial] = true
		}
	}
}

// showsRoster says whether a member shows the roster that it must have, if it was ever
// in sync.
func (g *Group) showsRoster(l *link) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(l.enrolled) > 0 || !g.roster[l.seat.serial]
}

// outlived is what stands on the roster of a token that was wiped and taken back
// since a note gave it up: members that still have the note are to drop it.
func outlived(note *record) string { return "+" + note.Time.Format(time.RFC3339Nano) }

func isOutlived(entry string) bool { return strings.HasPrefix(entry, "+") }

// forgotten are the serial numbers that an operator had the group forget, as
// the members say that are connected, each with its latest note. g.mu must be
// held.
func (g *Group) forgotten() map[string]*record {
	all := make(map[string]*record)
	for _, s := range g.seats {
		if s.link == nil {
			continue
		}
		for i := range s.link.forgot {
			note := &s.link.forgot[i]
			for _, serial := range note.Pending {
				if known := all[serial]; known == nil || note.Time.After(known.Time) {
					all[serial] = note
				}
			}
		}
	}
	for _, s := range g.seats {
		if note := all[s.serial]; note != nil && s.link != nil && slices.Contains(s.link.enrolled, outlived(note)) {
			delete(all, s.serial)
		}
	}
	return all
}

// removed are the tokens of the roster that are no longer of the group, and that
// nobody has forgotten.
func (g *Group) removed() (serials []string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	forgotten := g.forgotten()
	for _, serial := range slices.Sorted(maps.Keys(g.roster)) {
		member := slices.ContainsFunc(g.seats, func(s *seat) bool { return s.serial == serial })
		if !member && forgotten[serial] == nil {
			serials = append(serials, serial)
		}
	}
	return serials
}

// alone says whether nobody else is to be told of changes. The only member that
// is left must have been asked for those that were removed.
func (g *Group) alone() bool {
	if g.view == wire.TokenView {
		return true
	}
	g.mu.Lock()
	sure := len(g.seats) == 1 && g.seats[0].link != nil && g.seats[0].link.learned
	g.mu.Unlock()
	return sure && len(g.removed()) == 0
}

// waits says whether a name in a record is still waited for.
func (g *Group) waits(name string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.forgotten()[name] == nil
}

// enroll puts a member that is in sync, and those it was compared with, on each
// other's rosters. A token that takes no records does without.
func (g *Group) enroll(joining *link) error {
	if g.size() == 1 || !g.someoneLoggedIn() {
		return nil
	}
	links := append(g.readyBut(joining.seat), joining)
	g.mu.Lock()
	var everybody []string
	for _, l := range links {
		everybody = append(append(everybody, l.enrolled...), l.seat.serial)
	}
	forgotten := g.forgotten()
	g.mu.Unlock()
	everybody = slices.DeleteFunc(everybody, func(serial string) bool {
		return serial == "" || isOutlived(serial) || forgotten[serial] != nil
	})
	for _, l := range links {
		want := rosterRecord(opRoster, append(g.marks(l), everybody...)...)
		if err := g.enrollOn(l, want); err != nil {
			if l == joining {
				return err
			}
			g.drop(l, err)
		}
	}
	return nil
}

// marks are the notes that a member has outlived.
func (g *Group) marks(l *link) []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(l.enrolled), func(entry string) bool { return !isOutlived(entry) })
}

func (g *Group) enrollOn(l *link, want record) error {
	g.mu.Lock()
	has := slices.Clone(l.enrolled)
	g.mu.Unlock()
	slices.Sort(has)
	if slices.Equal(slices.Compact(has), want.Pending) {
		return nil
	}
	if rv, err := g.writeRecord(l, want); err != nil || rv != pkcs11.CKR_OK {
		return err
	}
	copies, records, err := g.readRecords(l)
	if err != nil {
		return err
	}
	for i, r := range records { // older rosters that this one contains
		within := !slices.ContainsFunc(r.Pending, func(serial string) bool { return !slices.Contains(want.Pending, serial) && g.waits(serial) })
		if r.Op == opRoster && within && string(copies[i].raw) != string(want.encode()) {
			g.eraseRaw(l, copies[i].raw)
		}
	}
	g.mu.Lock()
	l.enrolled = slices.Clone(want.Pending)
	g.mu.Unlock()
	return nil
}

// readmit refuses a token that the group was told to forget and that still holds
// what it had then. One that was wiped is a new one, and is remembered again. The
// journals of the members, with l among them, have just been read.
func (g *Group) readmit(l *link, members []*link) error {
	if !g.someoneLoggedIn() {
		return nil
	}
	for _, m := range members {
		serial := m.seat.serialNow(g)
		g.mu.Lock()
		note, old := g.forgotten()[serial], len(m.enrolled) > 0
		g.mu.Unlock()
		switch {
		case note == nil:
		case old && m == l:
			return g.unwelcome(serial)
		case old: // it was ready before anybody was who knows
			g.drop(m, g.unwelcome(serial))
		default:
			if err := g.enrollOn(m, rosterRecord(opRoster, serial, outlived(note))); err != nil {
				return g.dropFailed(&errJournal{m, err}, l)
			}
		}
	}
	g.dropNotes(members)
	return nil
}

// dropNotes removes notes that their token has outlived.
func (g *Group) dropNotes(members []*link) {
	for _, l := range members {
		g.mu.Lock()
		standing := g.forgotten()
		over := slices.DeleteFunc(slices.Clone(l.forgot), func(r record) bool {
			return slices.ContainsFunc(r.Pending, func(serial string) bool { return standing[serial] != nil })
		})
		l.forgot = slices.DeleteFunc(l.forgot, func(r record) bool {
			return slices.ContainsFunc(over, func(o record) bool { return o.event() == r.event() })
		})
		g.mu.Unlock()
		for _, r := range over {
			g.eraseRecord(l, r)
		}
	}
}

// unwelcome is why a token that was forgotten is not taken back.
func (g *Group) unwelcome(serial string) error {
	return &mismatch{fmt.Sprintf("its token %s was given up with `oneslot group forget`, and keys that were destroyed since would come back with it: initialise it anew and join it to the domain, or have what it holds taken over with `oneslot group forget --trust %s %s`", serial, g.name, serial)}
}

// A Forgetting is what an order about a token that left the group comes to.
type Forgetting struct {
	Serial  string   `json:"serial"`
	Records int      `json:"records"` // of the journal that wait for it
	Members []string `json:"members"` // those that took the order
	Missed  []string `json:"missed"`  // those that could not be told, and why
}

// forget gives up, or with trust takes back, a token on the members that links
// reach. With dry set it counts only.
func (g *Group) forget(links []*link, serial string, trust, dry bool) (f Forgetting, err error) {
	f.Serial = serial
	entries, err := g.journal(links)
	if err != nil {
		return f, err
	}
	for _, e := range entries {
		if slices.Contains(e.Pending, serial) {
			f.Records++
		}
	}
	g.mu.Lock()
	known := g.roster[serial] || g.forgotten()[serial] != nil || f.Records > 0
	g.mu.Unlock()
	if !known {
		return f, fmt.Errorf("token %s: no token of group %s was ever brought to hold the same, and no record waits for it", serial, g.name)
	}
	if dry {
		return f, nil
	}
	note := rosterRecord(opForgotten, serial)
	note.Time = after(time.Time{})
	for _, l := range links {
		var failure error
		if trust {
			failure = g.unforget(l, serial)
		} else {
			rv, err := g.writeRecord(l, note)
			failure = errors.Join(err, orNil(rv))
		}
		if failure != nil {
			f.Missed = append(f.Missed, l.seat.member.Name()+": "+strings.TrimSpace(failure.Error()))
			continue
		}
		f.Members = append(f.Members, l.seat.member.Name())
	}
	if len(f.Members) == 0 {
		return f, fmt.Errorf("no member took the order: %s", strings.Join(f.Missed, "; "))
	}
	return f, nil
}

// unforget removes the notes about a token from one member.
func (g *Group) unforget(l *link, serial string) (failed error) {
	for _, r := range l.forgot {
		if slices.Contains(r.Pending, serial) {
			call := wire.Unrecord{Record: r.encode()}
			_, err := l.do(g.ctx, g.limits(nil), &call)
			failed = errors.Join(failed, err, orNil(call.RV))
		}
	}
	return failed
}

// Forget gives up a token that left the group for good, or with trust takes back
// what it holds. It may be named by its serial number only: a name can have been
// given to another. With dry set it counts only.
func Forget(ctx context.Context, options config.Group, members []member.Member, pin pkcs11.PIN, serial string, trust, dry bool) (Forgetting, error) {
	g := New(options, members, wire.GroupView, func(Event) {})
	defer g.Close()
	var links []*link
	var missed []string
	for _, s := range g.seats {
		l, _, err := g.lookAt(ctx, s, pin, nil)
		if l != nil {
			defer l.leave()
		}
		switch {
		case errors.As(err, new(*mismatch)):
			return Forgetting{}, err // a PIN that was refused goes to no other member (F7)
		case err != nil:
			missed = append(missed, err.Error())
		case s.serial == serial && !trust:
			return Forgetting{}, fmt.Errorf("token %s: is that of member %s: remove it from the group first", serial, s.member.Name())
		default:
			links = append(links, l)
		}
	}
	f, err := g.forget(links, serial, trust, dry)
	f.Missed = append(f.Missed, missed...)
	return f, err
}
