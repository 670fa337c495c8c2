// SPDX-License-Identifier: Apache-2.0

package group

import (
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"time"

	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/wire"
)

// Two processes that fill the same member at once would make twins: each looks,
// finds nothing, and makes a copy. So a record on the member says that somebody fills
// it. What a process that died left behind is put in order by whoever finds its
// record. A creation elsewhere can still fall into the same instant: then the
// filler takes back its own copy.

const (
	// fillPatience is how long the record of a process that fills a member
	// may stand unchanged until the process is taken for dead.
	fillPatience = 30 * time.Second

	// fillRefresh is how often it is changed meanwhile.
	fillRefresh = 5 * time.Second

	// fillForgotten is the age at which a record counts as left behind,
	// though this process has not watched it for long.
	fillForgotten = 10 * time.Minute
)

var (
	errFilling    = errors.New("another process is filling it")
	errContradict = errors.New("it contradicts itself: its search does not show what it holds")
)

// A mark is the record on a member that this process fills.
type mark struct {
	link   *link
	record record
}

// claim marks a member as being filled by this process. It is errFilling if
// another process does that. A token that takes no record goes without.
func (g *Group) claim(l *link) (*mark, error) {
	if others, err := g.fillers(l); err != nil || len(others) > 0 {
		return nil, errors.Join(err, errFilling)
	}
	m := &mark{l, record{Op: opFill, Time: after(time.Time{}), By: rand.Text()}.pending(nil)}
	g.owns(m, true)
	if rv, err := g.writeRecord(l, m.record); err != nil || rv != pkcs11.CKR_OK {
		g.owns(m, false)
		return nil, err
	}
	others, err := g.fillers(l)
	if err == nil && len(others) > 1 {
		err = errFilling // both give way, and come back after a pause drawn by lot
	}
	if err != nil {
		g.release(m)
		return nil, err
	}
	return m, nil
}

// owns notes whether a mark is this process's own.
func (g *Group) owns(m *mark, own bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.fills == nil {
		g.fills = make(map[string]bool)
	}
	if g.fills[m.record.By] = own; !own {
		delete(g.fills, m.record.By)
	}
}

// isFilled says whether the journals show that another process, which is alive, fills
// a member.
func (g *Group) isFilled(l *link, entries []*entry) bool {
	own := func(e *entry) bool {
		g.mu.Lock()
		defer g.mu.Unlock()
		return g.fills[e.By]
	}
	for _, e := range entries {
		if e.Op == opFill && !own(e) && slices.ContainsFunc(e.at, func(c copyOf) bool { return c.link == l && !g.abandoned(c) }) {
			return true
		}
	}
	return false
}

// isBeingFilled says whether a process that is alive fills a member, this one included.
func (g *Group) isBeingFilled(l *link) (bool, error) {
	marks, err := g.fillers(l)
	return slices.ContainsFunc(marks, func(c copyOf) bool { return !g.abandoned(c) }), err
}

// fillers are the records of those who fill a member, this process included.
func (g *Group) fillers(l *link) (out []copyOf, err error) {
	copies, records, err := g.readRecords(l)
	for i, r := range records {
		if r.Op == opFill {
			out = append(out, copies[i])
		}
	}
	return out, err
}

// refresh shows that this process still fills the member.
func (g *Group) refresh(m *mark) {
	if m == nil || m.record.age() < fillRefresh {
		return
	}
	next := m.record
	next.Time = after(m.record.Time)
	if rv, err := g.writeRecord(m.link, next); err == nil && rv == pkcs11.CKR_OK {
		g.eraseRecord(m.link, m.record)
		m.record = next
	}
}

func (g *Group) release(m *mark) {
	if m != nil {
		g.eraseRecord(m.link, m.record)
		g.owns(m, false)
	}
}

// inherit puts in order what processes left behind that died while they filled
// a or b. Those that seem alive are left to go on. entries are what was just read of
// the journals of both.
func (g *Group) inherit(a, b *link, entries []*entry) error {
	var left []copyOf
	for _, e := range entries {
		if e.Op == opFill {
			left = append(left, e.at...)
		}
	}
	for _, pair := range [2][2]*link{{a, b}, {b, a}} {
		for _, c := range left {
			if c.link != pair[0] || !g.abandoned(c) {
				continue
			}
			if err := g.removeTwins(pair[0], pair[1]); err != nil {
				return g.dropFailed(err, a)
			}
			g.eraseRaw(c.link, c.raw)
		}
	}
	return nil
}

// abandoned says whether a record of a filler has stood unchanged for too long.
func (g *Group) abandoned(c copyOf) bool {
	r, ok := decodeRecord(c.raw)
	if ok && r.age() > fillForgotten {
		return true
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.watched == nil {
		g.watched = make(map[string]time.Time)
	}
	since, known := g.watched[string(c.raw)]
	if !known {
		g.watched[string(c.raw)] = time.Now()
	}
	return known && time.Since(since) > fillPatience
}

// removeTwins removes what l has more of than with: of objects that are equal in
// everything, and never the last.
func (g *Group) removeTwins(l, with *link) error {
	mine, theirs, err := g.listBoth(l, with)
	if err != nil {
		return err
	}
	count, named := make(map[identityKey]int), make(map[string]int)
	for i := range theirs {
		count[keyOf(&theirs[i])]++
	}
	for i := range mine {
		count[keyOf(&mine[i])]--
		named[nameOf(&mine[i])]++
	}
	seen := make(map[string]bool)
	for i := range mine {
		id := &mine[i]
		if len(id.Fingerprint) == 0 || named[nameOf(id)] == 1 || count[keyOf(id)] >= 0 {
			continue
		}
		looks, err := g.looks(l, mine[i:i+1], map[identityKey]bool{keyOf(id): true})
		if err != nil {
			return &errJournal{l, err}
		}
		if like := fmt.Sprint(keyOf(id), looks[id.Object].all); !seen[like] {
			seen[like] = true
			continue
		}
		count[keyOf(id)]++
		if err := g.removeTwin(l, id); err != nil {
			return err
		}
	}
	return nil
}

// listBoth lists two members that have the same login meanwhile: one that has none
// would seem to hold less.
func (g *Group) listBoth(l, with *link) (mine, theirs []wire.Identity, err error) {
	login, other := g.loginOf(l), g.loginOf(with)
	if mine, err = g.list(l); err != nil {
		return nil, nil, &errJournal{l, err}
	}
	if theirs, err = g.list(with); err != nil {
		return nil, nil, &errJournal{with, err}
	}
	if _, _, err := g.readRecords(with); err != nil { // it may have lost its login without a word
		return nil, nil, &errJournal{with, err}
	}
	if login == 0 || login != other || login != g.loginOf(l) || login != g.loginOf(with) {
		return nil, nil, errRestless
	}
	return mine, theirs, nil
}

func (g *Group) removeTwin(l *link, id *wire.Identity) error {
	call := wire.DestroyObject{Object: id.Object}
	if _, err := l.background(g.ctx, g.limits(nil), &call); err != nil {
		return &errJournal{l, err}
	}
	g.say(ObjectsDestroyed, l.seat, orNil(call.RV), describe(id)+": a twin that two processes made at once")
	return nil
}

// fill copies to a member what it lacks, and to the reference what that lacks.
func (g *Group) fill(c *comparison, with *link, first difference) error {
	var toMine, toTheirs *mark
	var err error
	if c.anyCopyable(c.link, first.onlyB) {
		if toMine, err = g.claim(c.link); err != nil {
			return err
		}
		defer func() { g.release(toMine) }()
	}
	if c.anyCopyable(with, first.onlyA) {
		toTheirs, err = g.claim(with)
		switch {
		case errors.Is(err, errFilling):
			c.owe(with, first.onlyA)
		case err != nil:
			return g.dropFailed(&errJournal{with, err}, c.link)
		}
		defer func() { g.release(toTheirs) }()
	}
	before := g.destroyed(c.link)
	second, err := g.compare(c.link, with)
	if err != nil {
		return err
	}
	if err := g.consistent(c.link, first.ofA, second.ofA); err != nil {
		return err
	}
	if err := g.consistent(with, first.ofB, second.ofB); err != nil {
		g.drop(with, err)
		return nil
	}
	// What was destroyed meanwhile is not missing.
	if again, err := g.settleJournal(c.link); again || err != nil {
		return err
	}
	err = nil
	if toMine != nil || c.anyCopyable(c.link, first.onlyB) {
		err = g.transfer(c, toMine, with, c.link, both(first.onlyB, second.onlyB), second.ofB, second.ofA, before)
	}
	if err == nil && (toTheirs != nil || c.anyCopyable(with, first.onlyA)) {
		if failure := g.transfer(c, toTheirs, c.link, with, both(first.onlyA, second.onlyA), second.ofA, second.ofB, before); failure != nil {
			g.drop(with, failure)
		}
	}
	return err
}

// owe notes that a member is to get objects later: another process is filling it
// now. That keeps nobody else from serving.
func (c *comparison) owe(to *link, objects []wire.Identity) {
	c.owing = true
	for i := range objects {
		c.refused[refusal{to.seat, keyOf(&objects[i])}] = true
	}
}

// both returns the objects that are in two lists. An object is copied only if it was
// missing at both looks.
func both(first, second []wire.Identity) (out []wire.Identity) {
	seen := make(map[identityKey]int)
	for i := range first {
		seen[keyOf(&first[i])]++
	}
	for i := range second {
		if k := keyOf(&second[i]); seen[k] > 0 {
			seen[k]--
			out = append(out, second[i])
		}
	}
	return out
}

// consistent compares two listings of one member. What is gone from the second
// but still there when it is asked for by itself is a contradiction.
func (g *Group) consistent(l *link, before, now []wire.Identity) error {
	gone := missing(before, now, nil, nil)
	for i := range gone[:min(len(gone), 16)] {
		if n, err := g.count(l, &gone[i]); err != nil || n > 0 && len(missing(gone[i:i+1], now, nil, nil)) > 0 {
			return errors.Join(err, fmt.Errorf("%w: %s", errContradict, describe(&gone[i])))
		}
	}
	return nil
}
