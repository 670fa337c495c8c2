// SPDX-License-Identifier: Apache-2.0

package group

import (
	"errors"
	"slices"
	"time"

	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/wire"
)

// Before and after an event is carried out all journals are read once more (obey.go,
// late.go, rewrite.go). Done for each event by itself, that would take time with the
// square of their number. So events about different objects are carried out together.

const (
	// batchEvents is how many events are carried out together at most: what others do
	// meanwhile is seen after that.
	batchEvents = 128

	// batchCalls is how many objects a member is asked for in one message.
	batchCalls = 8
)

// A batch is events of the journal about different objects.
type batch struct {
	jobs   []*job
	seen   map[at]*wire.Resolve // what members showed before the journals were read again
	claims []copyOf             // that were left then

	again bool
	now   map[string]*entry // what they said then, by event
	gone  *sight            // what those say that had an event which is not among them

	values map[*link]map[string]pkcs11.Template // what members are to get by changes, by event (latest.go)
}

// at is an event on a member.
type at struct {
	link  *link
	event *entry
}

// A job is an event that is being carried out.
type job struct {
	*entry
	left []string // who has not confirmed
	// informed are records that were written on members that lack its object (settle.go).
	informed []copyOf
	// only is who follows it alone, and its records stay: somebody else is at it.
	only *link
	// heeded: its records are for somebody who may manage keys on all members.
	heeded bool
	// late: it was settled by another process, which others than us follow.
	late bool
}

// batches divides what is to be done, in the order of events.
func batches(entries []*entry, which func(*entry) bool) (all []*batch) {
	var objects map[identityKey]bool
	for _, e := range entries {
		if e.Op == opFill || which != nil && !which(e) || e.Op == opClaim {
			continue
		}
		about := append([]wire.Identity{e.Identity}, e.With...)
		if len(all) == 0 || len(all[len(all)-1].jobs) >= batchEvents ||
			slices.ContainsFunc(about, func(id wire.Identity) bool { return objects[keyOf(&id)] }) {
			all, objects = append(all, &batch{}), make(map[identityKey]bool)
		}
		for i := range about {
			objects[keyOf(&about[i])] = true
		}
		b := all[len(all)-1]
		b.jobs = append(b.jobs, &job{entry: e, left: e.left})
	}
	return all
}

// settleBatch has those of the members that events wait for follow them, and rewrites
// the records.
func (g *Group) settleBatch(b *batch, members []*link, joining *link, dead map[string]bool, budget *int) (did bool, failed error) {
	useOnly := slices.ContainsFunc(members, (*link).useOnly)
	b.jobs = slices.DeleteFunc(b.jobs, func(j *job) bool {
		switch {
		case joining != nil && j.Op != opCreate && g.underWay(j.entry) && !dead[j.event()]:
			j.only = joining // the others are told by who is at it
		case useOnly && j.Op == opDestroy:
			j.heeded = true // what was destroyed must not serve all the same
		case useOnly:
			g.stale(j.entry, members)
			return true
		case j.Op == opCreate && j.Open:
			over, err := g.closeCreation(j.entry, members)
			failed, j.left = errors.Join(failed, err), j.entry.left
			return !over || err != nil
		}
		return false
	})
	logins := make(map[*link]uint64)
	for _, l := range members {
		logins[l] = g.loginOf(l)
	}
	var there []*link
	for _, l := range members {
		err := b.look(g, l)
		if err == nil {
			err = g.leaveClaims(b, l)
		}
		if err != nil {
			g.takeClaims(b, l, true)
			failed = errors.Join(failed, &errJournal{l, err}) // the others follow all the same
			continue
		}
		there = append(there, l)
	}
	for _, l := range there {
		done, err := g.followAll(b, l, members, logins[l], budget)
		did, failed = did || done, errors.Join(failed, err)
	}
	return did, errors.Join(failed, g.rewrite(slices.DeleteFunc(b.jobs, func(j *job) bool {
		return j.only != nil || j.heeded || j.late
	}), members))
}

// concernsOn says whether a member has to look for the object of an event.
func (j *job) concernsOn(g *Group, l *link) bool {
	switch {
	case j.late || j.only != nil && j.only != l:
		return false
	case j.only != nil || j.Op == opDestroy:
		return true // a destroyed object may have come back from who did not know; nothing else does
	}
	return j.waits(g, l)
}

// look asks a member for the objects of events.
func (b *batch) look(g *Group, l *link) error {
	var calls []wire.Call
	if b.seen == nil {
		b.seen = make(map[at]*wire.Resolve)
	}
	for _, j := range b.jobs {
		if j.Op != opCreate && j.concernsOn(g, l) {
			find := &wire.Resolve{Wanted: j.Identity}
			b.seen[at{l, j.entry}], calls = find, append(calls, find)
		}
	}
	for part := range slices.Chunk(calls, batchCalls) {
		if _, err := g.each(l, part); err != nil {
			return err
		}
	}
	return nil
}

// followAll has a member follow the events of a batch.
func (g *Group) followAll(b *batch, l *link, members []*link, login uint64, budget *int) (did bool, failed error) {
	var changed, none []*job
	mended := true
	for _, j := range b.jobs {
		if !j.concernsOn(g, l) {
			continue
		}
		if j.Op == opCreate { // what it lacks it gets by comparing
			coming, err := g.coming(j.entry, l, members)
			if !coming && err == nil {
				did = did || !j.shielded() // such a record stays for now: there is nothing to do again
				j.confirm(g, l)
			}
			failed = errors.Join(failed, err)
			continue
		}
		waiting := j.waits(g, l) && j.only == nil && !j.heeded
		acted, err := g.obey(b, l, j.entry, budget)
		did, failed = did || acted || waiting && err != nil, errors.Join(failed, err)
		if isFault(err) {
			none, mended = nil, false
			break
		}
		switch {
		case err != nil:
		case acted && j.Op == opChange:
			changed = append(changed, j)
		case !acted && waiting:
			none = append(none, j)
		default:
			j.confirm(g, l)
		}
	}
	if len(changed) > 0 {
		now := g.look(changed, l)
		for _, j := range changed {
			if j.late = !now.waitsFor(l, j.entry); j.late {
				from := g.upToDate(l, j.entry, members)
				if len(from) == 0 && b.hasClaim(l, j.entry) {
					mended = false // the claim stays until somebody is there to compare with
					continue
				}
				err := g.undoLate(l, j.entry, from)
				failed, mended = errors.Join(failed, err), mended && err == nil
				continue
			}
			j.confirm(g, l)
		}
	}
	g.takeClaims(b, l, mended)
	if len(none) > 0 { // that it does not show an object need say nothing
		done, err := g.lacking(l, none, login)
		failed = errors.Join(failed, err)
		for _, j := range done {
			j.confirm(g, l)
		}
		did = did || len(done) > 0 || err != nil
	}
	return did, failed
}

// confirm notes that a member has followed an event.
func (j *job) confirm(g *Group, l *link) {
	j.left = slices.DeleteFunc(slices.Clone(j.left), func(name string) bool { return g.called(l.seat, name) })
}

// rereadPatience is how long reading the journals once more may take. If a member that
// hangs has kept the others' answers waiting for longer, they are asked again.
const rereadPatience = time.Second

// reread is an event as the journals have it after its object was seen; nil if it is
// over: gone where it was read. If nobody who had it can tell any more it is errRestless:
// what is to be done is for those who are left to say.
func (b *batch) reread(g *Group, e *entry) (*entry, error) {
	if !b.again {
		begin := time.Now()
		entries, _ := g.journal(e.among)
		if time.Since(begin) > rereadPatience {
			entries, _ = g.journal(e.among)
		}
		b.again, b.now = true, make(map[string]*entry)
		for _, n := range entries {
			b.now[n.event()] = n
		}
	}
	if now := b.now[e.event()]; now != nil {
		return now, nil
	}
	if b.gone == nil {
		b.gone = g.look(b.jobs)
	}
	if b.gone.everywhere(e, nil, func(copyOf) bool { return true }) {
		return nil, errRestless
	}
	return nil, nil
}
