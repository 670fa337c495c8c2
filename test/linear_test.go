// SPDX-License-Identifier: Apache-2.0

package test_test

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"oneslot.dev/oneslot/control"
	"oneslot.dev/oneslot/test/history"
)

// A plain `go test` plays the same plans each time. What a run prints replays
// its plan, not the instants of processes.
var (
	linearSeed = flag.Uint64("linear.seed", 4, "what is drawn in the histories of two applications")
	linearRuns = flag.Int("linear.runs", 1, "how many histories of each kind, of this seed and the next ones")
)

// K1, K2, K5, H1, H3, H4; field-C4, field-C16: two applications, each with an engine
// and member processes of its own, create, find, change, destroy and use keys of
// the same tokens, two threads each. What they see is what package history says, a
// key always makes the same of a text, no call fails, and all members are equal in the end (H5).
//
// What happens to a member happens to that of one application or of both. Changes
// of one object take turns then, as ARCHITECTURE.md says why.
func TestTwoApplicationsSeeOneToken(t *testing.T) {
	for _, kind := range []string{"calm", "mishaps"} {
		for seed := *linearSeed; seed < *linearSeed+uint64(*linearRuns); seed++ {
			t.Run(fmt.Sprintf("%s, -linear.seed=%d", kind, seed), func(t *testing.T) {
				if !inProcess(t) {
					return
				}
				plan := drawPlan(rand.New(rand.NewPCG(seed, 0)), kind == "mishaps")
				newStage(t, plan).play()
			})
		}
	}
}

// An act is what one thread does after a pause.
type act struct {
	pause  time.Duration
	kind   history.Kind
	object int // how many objects before the newest
}

// A mishap befalls the processes of a member, those of one application or of both.
type mishap struct {
	pause  time.Duration
	how    string
	member string
	which  []int
	lasts  time.Duration
}

// A plan is what is drawn of a history.
type plan struct {
	threads [][]act // the first half in one application, the rest in the other
	mishaps []mishap
}

const (
	actsOfThread = 16
	mishapsOfRun = 3
)

func drawPlan(r *rand.Rand, mishaps bool) (p plan) {
	ms := func(of ...int) time.Duration { return time.Duration(of[r.IntN(len(of))]) * time.Millisecond }
	kinds := []history.Kind{
		history.Create, history.Create, history.Label, history.Label, history.Destroy, history.Use, history.Use, history.Find, history.Find,
	}
	for range 4 {
		acts := []act{{kind: history.Create}}
		for range actsOfThread {
			acts = append(acts, act{ms(0, 0, 1, 5, 20, 100), kinds[r.IntN(len(kinds))], r.IntN(5)})
		}
		p.threads = append(p.threads, acts)
	}
	how := []string{"kill", "stop", "away"}
	r.Shuffle(len(how), func(i, k int) { how[i], how[k] = how[k], how[i] })
	for i := 0; mishaps && i < mishapsOfRun; i++ {
		m := mishap{ms(0, 50, 200), how[i%3], []string{"a", "b"}[r.IntN(2)], [][]int{{0}, {1}, {0, 1}}[r.IntN(3)], ms(10, 100, 1000)}
		if m.how == "stop" {
			m.lasts = ms(200, 4000) // it is noticed after probe_timeout
		}
		p.mishaps = append(p.mishaps, m)
	}
	return p
}

// A stage is two applications on three members, and the log of what they do.
type stage struct {
	*world
	plan   plan
	log    history.Log
	actors [2]*actor

	mu     sync.Mutex // guards what follows
	labels int
	known  []string                 // names of the objects
	turns  map[string]chan struct{} // of who changes an object
	macs   map[string][]byte        // what each key made of macText
	wrong  []string
}

func newStage(t *testing.T, p plan) *stage {
	s := &stage{world: newWorld(t, 3), plan: p, turns: make(map[string]chan struct{}), macs: make(map[string][]byte)}
	s.library("orderly")
	// A busy machine must not be taken for a member that is stopped.
	s.must(s.Set(`probe_interval = "500ms"`, `probe_timeout = "3s"`))
	for i := range s.actors {
		s.actors[i] = s.actor(len(p.threads) / 2)
		s.must(s.Ready())
	}
	return s
}

func (s *stage) complain(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wrong = append(s.wrong, fmt.Sprintf(format, args...))
}

// play has the threads act while the mishaps befall the members, and judges.
func (s *stage) play() {
	over := make(chan struct{})
	watching := sync.WaitGroup{}
	watching.Go(func() { s.watch(over) })
	var all sync.WaitGroup
	for i, acts := range s.plan.threads {
		half := len(s.plan.threads) / 2
		all.Go(func() {
			for _, a := range acts {
				time.Sleep(a.pause)
				s.act(i/half, i%half, a)
			}
		})
	}
	for _, m := range s.plan.mishaps {
		time.Sleep(m.pause)
		s.befall(m)
	}
	all.Wait()
	close(over)
	watching.Wait()
	s.must(s.Ready())
	s.log.Settled()
	for i := range s.actors {
		s.find(i, 0)
	}
	s.judge()
}

// watch notes when both applications see all members.
func (s *stage) watch(over chan struct{}) {
	for tick := time.NewTicker(20 * time.Millisecond); ; {
		select {
		case <-tick.C:
			begun := s.log.Now()
			if groups, err := s.Groups(); err == nil && allReady(groups) {
				s.log.SettledSince(begun)
			}
		case <-over:
			tick.Stop()
			return
		}
	}
}

func allReady(groups []control.Group) bool {
	for _, g := range groups {
		if slices.ContainsFunc(g.Members, func(m control.Member) bool { return m.State != "ready" }) {
			return false
		}
	}
	return true
}

// befall has a mishap happen, and end once both applications have got over it:
// what befalls a member while another is away for one of them may leave the two
// with members that have not a single one in common.
func (s *stage) befall(m mishap) {
	s.log.Note("%s %s of application %v for %v", m.how, m.member, m.which, m.lasts)
	which := m.which
	if m.how == "away" {
		which = []int{0, 1}
	}
	members := func() (pids []int) {
		for _, i := range which {
			pids = append(pids, s.actors[i].members(m.member)...)
		}
		return pids
	}
	pids := members()
	signal := func(signal syscall.Signal) {
		for _, pid := range pids {
			_ = syscall.Kill(pid, signal) // it may be gone
		}
	}
	switch m.how {
	case "kill":
		signal(syscall.SIGKILL)
	case "stop":
		signal(syscall.SIGSTOP)
		time.Sleep(m.lasts)
		signal(syscall.SIGCONT)
	case "away":
		s.must(s.Away(m.member))
		time.Sleep(m.lasts)
		s.must(s.Back(m.member))
	}
	if m.how != "stop" { // an engine that has not noticed yet takes the member for ready
		s.await("other processes of member "+m.member, func() bool { return len(others(members(), pids)) == len(which) })
	}
	s.must(s.Ready()) // so the next one meets no process in its login: see hosttest.Slow.Callers
	s.log.Note("it is over")
}

// target chooses what an act is about, and makes the name of a new object.
func (s *stage) target(a act) (name, label string, turn chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.labels++
	if a.kind == history.Create {
		name := fmt.Sprintf("object-%03d", len(s.known))
		s.known, s.turns[name] = append(s.known, name), make(chan struct{}, 1)
		a.object = 0
	}
	name = s.known[max(0, len(s.known)-1-a.object)]
	return name, fmt.Sprintf("label-%04d", s.labels), s.turns[name]
}

// act has a thread of an application make a call.
func (s *stage) act(process, thread int, a act) {
	if a.kind == history.Find {
		s.find(process, thread)
		return
	}
	name, label, turn := s.target(a)
	if a.kind != history.Use && len(s.plan.mishaps) > 0 {
		turn <- struct{}{}
		defer func() { <-turn }()
	}
	op := s.log.Begin(process, name, a.kind, label)
	got := s.actors[process].do(order{thread, a.kind, name, label})
	op.End(got.Outcome)
	s.notice(process, a.kind, name, got)
}

// notice complains of what may not be whatever else happens.
func (s *stage) notice(process int, kind history.Kind, name string, got account) {
	if got.Wrong != "" || got.Outcome == history.Failed {
		s.complain("application %d: %s %s: %s %s", process, kind, name, got.Why, got.Wrong)
		s.log.Note("application %d: %s %s: %s %s", process, kind, name, got.Why, got.Wrong)
	}
	if kind != history.Use || got.Outcome != history.Done {
		return
	}
	s.mu.Lock()
	first, known := s.macs[name]
	if !known && !isGenerated(name) {
		mac := hmac.New(sha256.New, valueOf(name))
		mac.Write(macText)
		first, known = mac.Sum(nil), true
	}
	if !known {
		first = got.MAC
	}
	s.macs[name] = first
	s.mu.Unlock()
	if !bytes.Equal(first, got.MAC) {
		s.complain("application %d used another key than %s", process, name)
	}
}

// find searches for everything: it is a look at each object there is.
func (s *stage) find(process, thread int) {
	s.mu.Lock()
	known := slices.Clone(s.known)
	s.mu.Unlock()
	looks := make(map[string]*history.Op)
	for _, name := range known {
		looks[name] = s.log.Begin(process, name, history.Find, "")
	}
	got := s.actors[process].do(order{Thread: thread, Kind: history.Find})
	for name, look := range looks {
		label, there := got.Labels[name]
		switch {
		case got.Outcome != history.Done:
			look.End(history.Failed)
		case there:
			look.Found(label)
		default:
			look.End(history.Missing)
		}
	}
	s.notice(process, history.Find, "everything", got)
}

// judge looks at what the applications have seen, and at what became of the tokens.
func (s *stage) judge() {
	if err := s.log.Check(); err != nil {
		s.t.Error(err)
	}
	for _, a := range s.actors {
		a.leave()
	}
	if survey, text, right := s.survey("--dry-run"); !right || len(survey.Records) > 0 {
		s.t.Errorf("the members are not equal:\n%s", text)
	}
	for _, wrong := range s.wrong {
		s.t.Error(wrong)
	}
	if s.t.Failed() {
		s.t.Logf("all of it:\n%s", s.log.Story())
	}
	for _, kind := range []history.Kind{history.Create, history.Label, history.Destroy, history.Use, history.Find} {
		done, missing := s.log.Count(kind, history.Done), s.log.Count(kind, history.Missing)
		s.t.Logf("%s: %d done, %d times it was not there", kind, done, missing)
		if done == 0 {
			s.t.Errorf("nothing was done by %s: the history proves nothing", kind)
		}
	}
}
