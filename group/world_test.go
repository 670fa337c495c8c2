// SPDX-License-Identifier: Apache-2.0

package group

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"oneslot.dev/oneslot/config"
	"oneslot.dev/oneslot/member/fake"
	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/wire"
)

// fate is what is known of an object.
type fate int

const (
	alive  fate = iota
	gone        // its destruction returned CKR_OK
	unsure      // its creation or destruction failed, or its process was killed
)

// An expectation is what the calls so far promise of one object.
type expectation struct {
	id     wire.Identity
	fate   fate
	labels []string // one of them
}

// A world is the members, the two applications, and what they were promised.
type world struct {
	t       *testing.T
	steady  bool
	far     bool // member b is a standby far away
	members []*fake.Member

	mu        sync.Mutex // guards what follows
	processes [2]*process
	objects   []*expectation
	values    map[int]*expectation // of objects that applications bring
	attempts  map[string]int       // labels of creations that did not return CKR_OK, and of how many objects
	made      int
	repinned  bool // somebody changed the PIN on member b
	log       []string
	wrong     []string
}

func newWorld(t *testing.T, steady, far bool) *world {
	w := &world{t: t, steady: steady, far: far, values: make(map[int]*expectation), attempts: make(map[string]int)}
	for _, name := range []string{"a", "b", "c"} {
		m := fake.New(name, pin)
		m.Token.Slow(3 * time.Millisecond)
		w.members = append(w.members, m)
	}
	if far {
		w.members[1].Delay(200 * time.Millisecond)
	}
	for i := range w.processes {
		w.process(i)
	}
	return w
}

// options are those of every process.
func (w *world) options(o *config.Group) {
	if w.far {
		o.Standby = []string{"b"}
	}
}

// tell adds to the story; w.mu is held.
func (w *world) tell(format string, args ...any) {
	w.log = append(w.log, fmt.Sprintf("%8.2fs ", time.Since(epoch).Seconds())+fmt.Sprintf(format, args...))
}

// epoch is when time begins in a bubble.
var epoch = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

func (w *world) say(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.tell(format, args...)
}

func (w *world) complain(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.wrong = append(w.wrong, fmt.Sprintf(format, args...))
	w.tell("WRONG: "+format, args...)
}

func (w *world) story() string { return strings.Join(w.log, "\n") }

// hear puts the events of a process into the story.
func (w *world) hear(who string) func(Event) {
	return func(e Event) { w.say("    %s: %s: %s %s %v", who, e.Member, e.Code, e.Text, e.Cause) }
}

// process is an application, started anew if it was killed.
func (w *world) process(i int) *process {
	w.mu.Lock()
	p := w.processes[i]
	w.mu.Unlock()
	if p == nil || p.isDead() {
		if p != nil {
			p.end()
		}
		p = launch(w.t, w.members, w.options, w.hear(fmt.Sprint("process ", i)))
		w.mu.Lock()
		w.processes[i] = p
		w.tell("  process %d started", i)
		w.mu.Unlock()
	}
	return p
}

func (w *world) loggedIn(p *process) bool {
	p.g.mu.Lock()
	in := p.g.user != nil
	p.g.mu.Unlock()
	return in || p.g.Login(pkcs11.CKU_USER, pkcs11.PIN(pin)) == pkcs11.CKR_OK
}

// calm says whether every application sees every member ready and equal.
func (w *world) calm() bool {
	for _, p := range w.processes {
		for _, m := range p.g.Snapshot().Members {
			if m.State != Ready {
				return false
			}
		}
	}
	for _, m := range w.members {
		if m.Token.JournalLength() > 0 || !slices.Equal(m.Token.Keys(), w.members[0].Token.Keys()) {
			return false
		}
	}
	return true
}

// call makes a call of an application and notes what it was promised.
func (w *world) call(s step) {
	p := w.process(s.Process)
	if !w.loggedIn(p) {
		if w.steady && !w.repinned && !p.isDead() { // a PIN that is wrong on the primary is tried nowhere else (F7)
			w.complain("login failed while a member works")
		}
		return
	}
	b := p.bench(w.t, w.members)
	rv, made := pkcs11.CKR_OK, true
	switch s.Deed {
	case "generate", "pair", "bring", "twin":
		rv, made = w.create(p, b, s)
	case "destroy", "label", "use":
		if o := w.pick(s.Key); o != nil {
			made = w.served(p, o)
			rv = w.touch(p, b, s, o)
		}
	case "random":
		_, rv = b.random()
	case "login":
		rv = p.g.Logout()
	}
	w.say("  process %d: %s: %v", s.Process, s.Deed, rv)
	// What a token answers that may be the request's fault is passed on when no
	// other member is ready to contradict it (F6).
	if rv != pkcs11.CKR_OK && blame(rv, true) != unclear && w.steady && made && !p.isDead() {
		w.complain("%s failed while a member works: %v", s.Deed, rv)
	}
}

// served says whether the member that never fails is ready for a process, and has an
// object: what was made while it was on its way back comes to it later.
func (w *world) served(p *process, o *expectation) bool {
	return p.g.Snapshot().Members[2].State == Ready && slices.ContainsFunc(w.members[2].Token.Holds()[nameOfKey(&o.id)], func(label string) bool {
		return slices.Contains(o.labels, label)
	})
}

// nameOfKey is what fake tokens call a key.
func nameOfKey(id *wire.Identity) string { return fmt.Sprintf("%x", id.Fingerprint[:4]) }

// judge takes every fault away and looks at what became of it all.
func (w *world) judge() {
	if len(w.wrong) > 0 {
		return
	}
	w.say("the faults end")
	for _, m := range w.members {
		m.Script(nil)
		m.Up()
		m.Token.SetPIN(pin)
		m.Token.Freeze(false)
	}
	for _, p := range w.processes {
		if p.isDead() {
			p.end()
		}
	}
	time.Sleep(time.Hour)
	p := launch(w.t, w.members, w.options, w.hear("the last process"))
	if rv := p.g.Login(pkcs11.CKU_USER, pkcs11.PIN(pin)); rv != pkcs11.CKR_OK {
		w.complain("login in the end: %v", rv)
	}
	ctx, cancel := context.WithTimeout(w.t.Context(), time.Hour)
	defer cancel()
	for i, s := range p.g.seats {
		if !p.g.await(ctx, func() bool { return s.state == Ready }) {
			w.complain("member %d is %v in the end: %v", i, s.state, s.cause)
		}
	}
	time.Sleep(3 * time.Minute) // every process looks into the journals once more
	for _, m := range w.members {
		w.compare(m)
		if j := m.Token.Journal(); len(j) > 0 {
			w.complain("member %s still has records: %v", m.Name(), j)
		}
	}
	if len(w.wrong) > 0 {
		for _, m := range w.members {
			w.say("member %s holds %v", m.Name(), m.Token.Holds())
		}
	}
}

// compare checks what one member holds in the end.
func (w *world) compare(m *fake.Member) {
	holds := m.Token.Holds()
	first := w.members[0].Token.Holds()
	if !maps.EqualFunc(holds, first, func(a, b []string) bool {
		return slices.Equal(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b)))
	}) {
		w.complain("members %s and a are not equal", m.Name())
	}
	type place struct{ key, label string }
	owner, seen := map[place]*expectation{}, map[*expectation][]string{}
	for _, o := range w.objects {
		for _, label := range o.labels {
			owner[place{nameOfKey(&o.id), label}] = o
		}
	}
	left := map[string]int{}
	for name, labels := range holds {
		for _, label := range labels {
			o := owner[place{name, label}]
			switch {
			case o == nil && w.attempts[label] == 0:
				w.complain("member %s: nobody made %s %q", m.Name(), name, label)
			case o == nil:
				left[label]++
			default:
				seen[o] = append(seen[o], label)
			}
		}
	}
	for _, o := range w.objects {
		switch name := nameOfKey(&o.id); {
		case o.fate == alive && len(seen[o]) == 0:
			w.complain("member %s: the key %s %v is lost", m.Name(), name, o.labels)
		case o.fate == gone && len(seen[o]) > 0:
			w.complain("member %s: the destroyed key %s %v is back", m.Name(), name, o.labels)
		case len(seen[o]) > 1:
			w.complain("member %s: key %s is there %d times: %v", m.Name(), name, len(seen[o]), seen[o])
		}
	}
	for label, n := range left {
		if n != w.attempts[label] {
			w.complain("member %s: the creation of %s is half there", m.Name(), label)
		}
	}
}
