// SPDX-License-Identifier: Apache-2.0

// Package history holds what processes that share a group have seen of its
// objects against what a group promises them, with porcupine.
//
// What is promised of one object, whose label stands for its attributes:
//
//   - A call that returned CKR_OK has happened for the process that made it (K1,
//     K5), and for every other process once all of them see the same members
//     (Log.Settled): a member that one process has taken back, and another has
//     not, may lack for the first what the second does. That goes for the
//     object itself, too: who changes it while it lacks there may not find it yet.
//   - While a call is under way a search shows the object as it was or as it
//     will be. Searches of that time are in no order among each other: two
//     processes may ask two members.
//   - Of two changes at the same time one wins, for everybody.
//   - A call that failed may have happened, or happen when a member returns. That
//     goes for one that found its object nowhere, too, which it says only when a
//     search may (field-G8).
//   - An object can be used exactly when a search may show it.
//   - What is destroyed stays so. A call on an object may say that it is not
//     there (Missing) exactly when a search may. It may have changed it before.
//
// So it is linearizability of a register whose writes take effect bit by bit
// between their call and their return.
package history

import (
	"fmt"
	"math/bits"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/anishathalye/porcupine"
)

// Kind is what a call does.
type Kind string

// The kinds of calls.
const (
	Create  Kind = "create"
	Label   Kind = "label" // gives it another label
	Destroy Kind = "destroy"
	Find    Kind = "find"
	Use     Kind = "use" // works with it; says no label
)

// Outcome is what came of a call.
type Outcome string

// The outcomes.
const (
	Done    Outcome = "done"
	Missing Outcome = "missing" // the object is not there
	Nowhere Outcome = "nowhere" // no member that is asked has the object, and one that is away may
	Failed  Outcome = "failed"  // nobody knows what came of it
)

// sawNone says whether it is a look at an object that is not there.
func (o Outcome) sawNone() bool { return o == Missing || o == Nowhere }

// An Op is a call about one object.
type Op struct {
	log     *Log
	process int
	object  string
	kind    Kind
	label   string // that is given or was found
	outcome Outcome

	call, returned int64
	settled        int64 // when every process knows of it
	made           *Op   // the creation of the object
}

// A Log is the calls of one history. Its methods may be called from any goroutine.
type Log struct {
	mu    sync.Mutex // guards what follows, and the Ops
	clock int64
	ops   []*Op
	notes []note
}

// A note is something else that happened, for who reads the story.
type note struct {
	at   int64
	text string
}

// Note adds to the story of the history.
func (l *Log) Note(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.notes = append(l.notes, note{l.tick(), fmt.Sprintf(format, args...)})
}

func (l *Log) tick() int64 { l.clock += 2; return l.clock }

// Begin notes a call that is about to be made.
func (l *Log) Begin(process int, object string, kind Kind, label string) *Op {
	l.mu.Lock()
	defer l.mu.Unlock()
	o := &Op{log: l, process: process, object: object, kind: kind, label: label, outcome: Failed, call: l.tick()}
	for _, other := range l.ops {
		if other.object == object && other.kind == Create {
			o.made = other
		}
	}
	l.ops = append(l.ops, o)
	return o
}

// End notes what came of a call.
func (o *Op) End(outcome Outcome) {
	o.log.mu.Lock()
	defer o.log.mu.Unlock()
	o.outcome, o.returned = outcome, o.log.tick()
}

// Found notes the label that a search found the object with.
func (o *Op) Found(label string) {
	o.log.mu.Lock()
	o.label = label
	o.log.mu.Unlock()
	o.End(Done)
}

// Settled notes that all processes see the same members: what has returned by
// now has happened for all of them.
func (l *Log) Settled() { l.SettledSince(l.Now()) }

// Now is the present instant, for SettledSince.
func (l *Log) Now() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.tick()
}

// SettledSince is Settled for who takes time to look at the processes: it notes
// that each of them saw all members at some time since begun. What had returned
// by begun has happened for all by now.
func (l *Log) SettledSince(begun int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.tick()
	for _, o := range l.ops {
		if o.returned > 0 && o.returned < begun && o.settled == 0 {
			o.settled = now
		}
	}
}

// Count is how many calls of a kind there were with this outcome.
func (l *Log) Count(kind Kind, outcome Outcome) (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, o := range l.ops {
		if o.kind == kind && o.outcome == outcome {
			n++
		}
	}
	return n
}

// patience is for one object as one process sees it. Histories that take longer
// to check are too long to be checked again and again.
const patience = 5 * time.Second

// Check returns what no group may do: the calls about the first object that
// some process saw in a way it must not.
func (l *Log) Check() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	objects, processes := make(map[string][]*Op), make(map[int]bool)
	for _, o := range l.ops {
		objects[o.object], processes[o.process] = append(objects[o.object], o), true
	}
	for object, ops := range objects {
		for process := range processes {
			switch result := porcupine.CheckOperationsTimeout(model(ops), steps(ops, process), patience); result {
			case porcupine.Ok:
			case porcupine.Unknown:
				return fmt.Errorf("object %s: %d calls are too many to check", object, len(ops))
			default:
				return fmt.Errorf("object %s cannot be so for process %d:\n%s", object, process, l.story(ops))
			}
		}
	}
	return nil
}

// Story tells all of it.
func (l *Log) Story() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.story(l.ops)
}

// story tells of an object from the first call to the last.
func (l *Log) story(ops []*Op) string {
	notes := slices.Clone(l.notes)
	for _, o := range ops {
		notes = append(notes, note{o.call, fmt.Sprintf("process %d: %s %s %q: %s at %d, for all at %d", o.process, o.kind, o.object, o.label, o.outcome, o.returned, o.settled)})
	}
	slices.SortStableFunc(notes, func(a, b note) int { return int(a.at - b.at) })
	var b strings.Builder
	for _, n := range notes {
		fmt.Fprintf(&b, "%6d  %s\n", n.at, n.text)
	}
	return b.String()
}

// A step is an instant of a change, its beginning, its end or its failure, or a look.
type step struct {
	begin, end, drop int // the change, counted from 1; 0: no such
	look             *string
}

// end is when a change has happened for a process; 0: that is never sure. It has
// not before the object itself is there for that process.
func (o *Op) end(process int) int64 {
	own := o.process == process
	switch {
	case o.outcome != Done:
		return 0
	case own && (o.made == nil || o.made == o || o.made.outcome == Done && o.made.process == process):
		return o.returned
	case own && o.made.settled > 0:
		return max(o.returned, o.made.settled)
	}
	return o.settled
}

func (o *Op) writes() bool { return o.kind != Find && o.kind != Use }

// steps is the history of an object as one process sees it.
func steps(ops []*Op, process int) (history []porcupine.Operation) {
	n := 0
	add := func(s step, from, to int64) {
		history = append(history, porcupine.Operation{ClientId: len(history), Input: s, Call: from, Return: to})
	}
	for _, o := range ops {
		if o.writes() {
			n++
			add(step{begin: n}, o.call, o.call+1)
			switch end := o.end(process); {
			case end > 0:
				add(step{end: n}, end, end+1)
			case o.outcome == Missing:
				add(step{drop: n}, o.returned, o.returned+1)
			}
		}
		if o.process == process && o.outcome != Failed && (!o.writes() || o.outcome.sawNone()) {
			label := o.label
			switch {
			case o.outcome.sawNone():
				label = absent
			case o.kind == Use:
				label = present
			}
			add(step{look: &label}, o.call, o.returned)
		}
	}
	return history
}

// absent and present are what no label is: that there is no object, and that there
// is one of whatever label.
const (
	absent  = "\x00"
	present = "\x01"
)

// A state is what may be seen of an object.
type state struct {
	is      int    // the change that counts; 0: it was not created yet
	pending uint64 // the changes that may count already, by their number
	gone    bool   // it is destroyed for good
}

// A change is a call that wrote.
type change struct {
	value   string
	destroy bool
	with    uint64 // the changes that were made at the same time, by their number
	later   uint64 // those that were made after it
}

// changes numbers the calls that wrote, as steps does.
func changes(ops []*Op) []change {
	list := []change{{value: absent}}
	var of []*Op
	for _, o := range ops {
		if !o.writes() {
			continue
		}
		c := change{value: o.label, destroy: o.kind == Destroy}
		if c.destroy {
			c.value = absent
		}
		list, of = append(list, c), append(of, o)
	}
	before := func(a, b *Op) bool { end := a.end(b.process); return end > 0 && end < b.call }
	for i, a := range of {
		for k, b := range of {
			switch {
			case before(a, b):
				list[i+1].later |= 1 << (k + 1)
			case !before(b, a):
				list[i+1].with |= 1 << (k + 1)
			}
		}
	}
	return list
}

func model(ops []*Op) porcupine.Model {
	all := changes(ops)
	if len(all) > 64 {
		panic("history: too many changes of one object")
	}
	m := porcupine.NondeterministicModel{
		Init: func() []any { return []any{state{}} },
		Step: func(from, input, _ any) []any {
			s, do := from.(state), input.(step)
			switch {
			case do.begin > 0:
				s.pending |= 1 << do.begin
				return []any{s}
			case do.drop > 0:
				s.pending &^= 1 << do.drop
				return []any{s}
			case do.end > 0:
				return s.finish(do.end, all)
			case s.shows(*do.look, all):
				return []any{s}
			}
			return nil
		},
	}
	return m.ToModel()
}

// finish ends a change: it counts, or one does that was made at the same time,
// or later.
func (s state) finish(n int, all []change) (next []any) {
	c := all[n]
	s.pending &^= 1 << n
	if c.later>>s.is&1 == 1 {
		return []any{s}
	}
	with := c.with>>s.is&1 == 1
	if s.gone && !with {
		return nil // a call on what was destroyed before it began is not done
	}
	if with && !c.destroy {
		next = append(next, s)
	}
	if !s.gone || c.destroy {
		s.is, s.gone = n, c.destroy
		next = append(next, s)
	}
	return next
}

// shows says whether a search may see this value.
func (s state) shows(value string, all []change) bool {
	is := func(c change) bool { return c.value == value || value == present && c.value != absent }
	if is(all[s.is]) {
		return true
	}
	for p := s.pending; p != 0 && !s.gone; p &= p - 1 {
		if is(all[bits.TrailingZeros64(p)]) {
			return true
		}
	}
	return false
}

// Objects are the objects that calls were about.
func (l *Log) Objects() (names []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, o := range l.ops {
		if !slices.Contains(names, o.object) {
			names = append(names, o.object)
		}
	}
	return names
}
