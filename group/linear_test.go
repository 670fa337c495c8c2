// SPDX-License-Identifier: Apache-2.0

package group

import (
	"context"
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"oneslot.dev/oneslot/member/fake"
	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/test/history"
	"oneslot.dev/oneslot/wire"
)

// linearHistories is how many a plain `go test` checks.
const linearHistories = 100

// An act is what one thread of an application does after a pause.
type act struct {
	Kind   history.Kind
	Object int
	Pause  time.Duration
}

// A mishap befalls one of the first two members and ends after a while. With
// an outcome it is one call that fails, else the member is away.
type mishap struct {
	Pause, Lasts time.Duration
	Member       int
	Calls        int // until the one that fails
	Outcome      fake.Outcome
	RV           pkcs11.RV
}

func drawPause(t *rapid.T) time.Duration {
	return time.Duration(rapid.SampledFrom([]int{0, 1, 3, 10, 30, 300, 3000}).Draw(t, "ms")) * time.Millisecond
}

var drawActs = rapid.SliceOfN(rapid.Custom(func(t *rapid.T) act {
	kinds := []history.Kind{history.Create, history.Label, history.Label, history.Destroy, history.Find, history.Find, history.Find}
	return act{rapid.SampledFrom(kinds).Draw(t, "kind"), rapid.IntRange(0, 3).Draw(t, "object"), drawPause(t)}
}), 4, 12)

var drawMishaps = rapid.SliceOfN(rapid.Custom(func(t *rapid.T) mishap {
	return mishap{
		Pause: drawPause(t), Lasts: drawPause(t), Member: rapid.IntRange(0, 1).Draw(t, "member"), Calls: rapid.IntRange(0, 12).Draw(t, "calls"),
		Outcome: rapid.SampledFrom([]fake.Outcome{fake.Answered, fake.LostBefore, fake.LostAfter, fake.Refused}).Draw(t, "outcome"),
		RV:      rapid.SampledFrom([]pkcs11.RV{pkcs11.CKR_DEVICE_ERROR, pkcs11.CKR_SESSION_HANDLE_INVALID}).Draw(t, "rv"),
	}
}), 0, 4)

// K1, K2, K5, H4; field-C4: what two applications see of the objects that both create,
// change and destroy, while members fail and come back, is what package history
// says, and all members are equal in the end (H5).
//
// Two that change one object at the same time are only promised that one of them
// wins everywhere as long as neither loses a member in that moment
// (ARCHITECTURE.md). So with mishaps the changes of one object are made one after
// the other, by whichever process; searches are made at any time.
//
// What rapid draws is the schedule; its seed replays it, but for the pauses that
// the group draws itself.
func TestTwoProcessesSeeOneToken(t *testing.T) {
	checks(t, linearHistories)
	rapid.Check(t, func(rt *rapid.T) {
		threads := rapid.SliceOfN(drawActs, 4, 4).Draw(rt, "threads")
		mishaps := drawMishaps.Draw(rt, "mishaps")
		seed := rapid.Uint64().Draw(rt, "delays")
		var wrong error
		synctest.Test(t, func(t *testing.T) { wrong = newStage(t, len(mishaps) == 0, seed).play(threads, mishaps) })
		if wrong != nil {
			rt.Fatal(wrong)
		}
	})
}

// A stage is two processes on three members, and the log of what they do.
type stage struct {
	t         *testing.T
	calm      bool // nothing befalls the members
	members   []*fake.Member
	processes [2]*process
	log       history.Log

	mu     sync.Mutex // guards what follows
	delays *rand.Rand
	scheme *mishap // that waits for its call
	left   int
	away   [3]bool
	made   int
	labels int
	known  []string // values of the objects
	turns  map[string]chan struct{}
	wrong  error
}

func newStage(t *testing.T, calm bool, seed uint64) *stage {
	s := &stage{t: t, calm: calm, delays: rand.New(rand.NewPCG(seed, 0)), turns: make(map[string]chan struct{})}
	for i, name := range []string{"a", "b", "c"} {
		m := fake.New(name, pin)
		m.Token.Slow(time.Millisecond)
		m.Script(func(c wire.Call) fake.Outcome { return s.answer(i, c) })
		s.members = append(s.members, m)
	}
	for i := range s.processes {
		// They list the members in different order, and so have different primaries (G6).
		p := launch(t, slices.Concat(s.members[i:], s.members[:i]), nil, func(e Event) {
			s.log.Note("process %d: member %s: %v, %s %v", i, e.Member, e.To, e.Text, e.Cause)
			s.look()
		})
		s.mu.Lock()
		s.processes[i] = p // it may be reporting already
		s.mu.Unlock()
		s.bench(i).login()
	}
	s.ready()
	return s
}

func (s *stage) bench(i int) *bench { return s.processes[i].bench(s.t, s.members) }

// answer takes its time, and is at times none.
func (s *stage) answer(i int, c wire.Call) fake.Outcome {
	if c.Number() == wire.NumberProbe {
		return fake.Answered
	}
	s.mu.Lock()
	outcome := fake.Answered
	if m := s.scheme; m != nil && m.Member == i {
		if s.left--; s.left < 0 {
			outcome, s.scheme = m.Outcome, nil
			s.log.Note("member %d: outcome %d of %v", i, outcome, c.Number())
		}
	}
	delay := time.Duration(s.delays.Int64N(int64(2 * time.Millisecond)))
	s.mu.Unlock()
	time.Sleep(delay)
	return outcome
}

// look notes when every process sees every member as it is.
func (s *stage) look() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.processes {
		if p == nil || p.g == nil {
			return
		}
		for _, m := range p.g.Snapshot().Members {
			if (m.State == Ready) == s.away[m.Name[0]-'a'] {
				return
			}
		}
	}
	s.log.Settled()
}

// ready waits until every member is, for both.
func (s *stage) ready() {
	ctx, cancel := context.WithTimeout(s.t.Context(), time.Hour)
	defer cancel()
	for _, p := range s.processes {
		for i := range s.members {
			if !p.g.await(ctx, func() bool { return p.g.seats[i].state == Ready }) {
				s.complain(fmt.Errorf("member %d is not taken back", i))
			}
		}
	}
}

func (s *stage) complain(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.wrong == nil {
		s.wrong = err
	}
}

// play has the threads act, the first half in one process, the rest in the other.
func (s *stage) play(threads [][]act, mishaps []mishap) error {
	var all sync.WaitGroup
	for i, acts := range threads {
		all.Go(func() {
			for _, a := range acts {
				time.Sleep(a.Pause)
				s.act(i*2/len(threads), a)
				s.look()
			}
		})
	}
	for _, m := range mishaps {
		time.Sleep(m.Pause)
		s.befall(m)
	}
	all.Wait()
	s.mu.Lock()
	s.scheme = nil
	s.mu.Unlock()
	time.Sleep(3 * time.Minute) // whatever failed follows by the journal
	s.ready()
	s.look()
	for i := range s.processes {
		s.find(i)
	}
	for _, m := range s.members {
		if !holdSame(m, s.members[0]) {
			s.complain(fmt.Errorf("members %s and a are not equal: %v and %v\n%s", m.Name(), m.Token.Holds(), s.members[0].Token.Holds(), s.log.Story()))
		}
	}
	if err := s.log.Check(); err != nil {
		return err
	}
	return s.wrong
}

func holdSame(a, b *fake.Member) bool {
	x, y := a.Token.Holds(), b.Token.Holds()
	if len(x) != len(y) {
		return false
	}
	for key, labels := range x {
		if !slices.Equal(labels, y[key]) {
			return false
		}
	}
	return true
}

// befall has a mishap happen, and end once both processes have got over it: what
// befalls a member while another is still away for one of them may leave the two
// with members that have not a single one in common.
func (s *stage) befall(m mishap) {
	if m.Outcome != fake.Answered {
		s.members[m.Member].Refuse(m.RV)
		s.mu.Lock()
		s.scheme, s.left = &m, m.Calls
		s.mu.Unlock()
		time.Sleep(m.Lasts)
		s.mu.Lock()
		s.scheme = nil
		s.mu.Unlock()
	} else {
		s.mu.Lock()
		s.away[m.Member] = true
		s.mu.Unlock()
		s.members[m.Member].Down()
		synctest.Wait() // until it is noticed
		time.Sleep(m.Lasts)
		s.mu.Lock()
		s.away[m.Member] = false
		s.mu.Unlock()
		s.members[m.Member].Up()
	}
	s.ready()
}

// act makes one call.
func (s *stage) act(process int, a act) {
	b := s.bench(process)
	if a.Kind == history.Find {
		s.find(process)
		return
	}
	s.mu.Lock()
	s.labels++
	label := fmt.Sprintf("l%d", s.labels)
	if a.Kind == history.Create {
		s.made++
		value := fmt.Sprintf("value %d", s.made)
		s.known, s.turns[value] = append(s.known, value), make(chan struct{}, 1)
	}
	if len(s.known) == 0 {
		s.mu.Unlock()
		return
	}
	value := s.known[max(0, len(s.known)-1-a.Object)]
	if a.Kind == history.Create {
		value = s.known[len(s.known)-1]
	}
	turn := s.turns[value]
	s.mu.Unlock()
	if !s.calm {
		turn <- struct{}{}
		defer func() { <-turn }()
	}
	id := identityOf(value)
	op := s.log.Begin(process, value, a.Kind, label)
	rv := pkcs11.CKR_OK
	switch a.Kind {
	case history.Create:
		_, rv = b.bring(value, label)
	case history.Label:
		rv = b.g.SetAttributes(id, pkcs11.Template{pkcs11.Bytes(pkcs11.CKA_LABEL, []byte(label))}, resolve(id))
	case history.Destroy:
		rv = b.g.Destroy(id, resolve(id))
	}
	switch rv {
	case pkcs11.CKR_OK:
		op.End(history.Done)
	case pkcs11.CKR_OBJECT_HANDLE_INVALID:
		op.End(history.Missing)
	default:
		op.End(history.Failed)
	}
}

// identityOf is what a fake token makes of a value.
func identityOf(value string) wire.Identity {
	sum := sha256.Sum256([]byte(value))
	return wire.Identity{Class: pkcs11.CKO_SECRET_KEY, KeyType: pkcs11.CKK_AES, Flags: wire.Private | wire.Copyable, Fingerprint: sum[:]}
}

// find searches for everything: it is a look at each object there is.
func (s *stage) find(process int) {
	s.mu.Lock()
	known := slices.Clone(s.known)
	s.mu.Unlock()
	looks := make(map[string]*history.Op)
	for _, value := range known {
		looks[value] = s.log.Begin(process, value, history.Find, "")
	}
	var found []wire.Identity
	rv, err := s.processes[process].g.Do(wire.Ask, Primary, func(p *Place) (pkcs11.RV, error) {
		call := wire.Find{}
		_, err := p.Do(&call)
		found = call.Found
		return call.RV, err
	})
	labels := make(map[string]string)
	for i := range found {
		key := string(found[i].Fingerprint)
		if old, twice := labels[key]; twice {
			s.complain(fmt.Errorf("a search finds one object as %q and as %q", old, found[i].Label))
		}
		labels[key] = string(found[i].Label)
	}
	for value, look := range looks {
		label, there := labels[string(identityOf(value).Fingerprint)]
		switch {
		case rv != pkcs11.CKR_OK || err != nil:
			look.End(history.Failed)
		case there:
			look.Found(label)
		default:
			look.End(history.Missing)
		}
	}
}
