// SPDX-License-Identifier: Apache-2.0

package group

import (
	"flag"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"oneslot.dev/oneslot/member/fake"
	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/wire"
)

// histories is how many a plain `go test` runs. -rapid.checks asks for more,
// -rapid.seed and -rapid.failfile replay one.
const histories = 200

// checks sets how many histories are run, unless the command line does; a tenth
// in a short test. A plain `go test` runs the same ones each time, and so fails
// for what was changed.
func checks(t *testing.T, n int) {
	t.Helper()
	if given()["rapid.checks"] {
		return
	}
	if testing.Short() {
		n /= 10
	}
	values := map[string]string{"rapid.checks": fmt.Sprint(n)}
	if !given()["rapid.seed"] {
		values["rapid.seed"] = "1"
	}
	for name, value := range values {
		if err := flag.Set(name, value); err != nil {
			t.Fatal(err)
		}
	}
}

// given are the flags of the command line.
var given = sync.OnceValue(func() map[string]bool {
	names := map[string]bool{}
	flag.Visit(func(f *flag.Flag) { names[f.Name] = true })
	return names
})

// A step of a history is a call of an application or a fault.
type step struct {
	Deed    string
	Process int // which application
	Member  int
	Key     int
	N       int // calls until the fault
	Outcome fake.Outcome
	RV      pkcs11.RV
	With    bool // at the same time as the next step, which the other application makes
}

var (
	calls  = []string{"generate", "generate", "pair", "bring", "bring", "twin", "twin", "destroy", "destroy", "label", "label", "use", "random", "login"}
	faults = []string{"fault", "fault", "fault", "down", "down", "up", "up", "up", "kill", "kill", "wait", "wipe", "pin", "freeze"}

	outcomes = []fake.Outcome{fake.LostBefore, fake.LostAfter, fake.Hang, fake.Beat, fake.Refused}

	// What a token may answer to any call at all when it is not well.
	refusals = []pkcs11.RV{
		pkcs11.CKR_DEVICE_ERROR, pkcs11.CKR_GENERAL_ERROR, pkcs11.CKR_FUNCTION_FAILED, pkcs11.CKR_DEVICE_MEMORY,
		pkcs11.CKR_SESSION_HANDLE_INVALID, pkcs11.CKR_TOKEN_NOT_PRESENT, pkcs11.CKR_USER_NOT_LOGGED_IN, pkcs11.CKR_VENDOR_DEFINED + 0x1a,
		pkcs11.CKR_OBJECT_HANDLE_INVALID, pkcs11.CKR_KEY_HANDLE_INVALID,
	}
)

func drawSteps(t *rapid.T, steady bool) []step {
	mortal := 3
	if steady {
		mortal = 2 // the last member has no faults
	}
	one := rapid.Custom(func(t *rapid.T) step {
		deed := rapid.SampledFrom(append(calls, faults...)).Draw(t, "deed")
		s := step{Deed: deed, Process: rapid.IntRange(0, 1).Draw(t, "process")}
		switch deed {
		case "destroy", "label", "use", "bring", "twin":
			s.Key = rapid.IntRange(0, 5).Draw(t, "key")
			s.With = rapid.Bool().Draw(t, "with")
		case "generate", "pair":
			s.With = rapid.Bool().Draw(t, "with")
		case "fault":
			s.Member = rapid.IntRange(0, mortal-1).Draw(t, "member")
			s.N = rapid.IntRange(0, 12).Draw(t, "calls")
			s.Outcome = rapid.SampledFrom(outcomes).Draw(t, "outcome")
			s.RV = rapid.SampledFrom(refusals).Draw(t, "rv")
		case "down", "up", "wipe", "freeze":
			s.Member = rapid.IntRange(0, mortal-1).Draw(t, "member")
		case "kill":
			s.N = rapid.IntRange(0, 25).Draw(t, "calls")
		case "wait":
			s.N = rapid.SampledFrom([]int{1, 10, 100, 1000}).Draw(t, "seconds")
		}
		return s
	})
	return rapid.SliceOfN(one, 3, 25).Draw(t, "steps")
}

// TestHistories runs histories of two applications on three members against
// what a group promises: no lost key, no resurrected one, no twin, no wrong
// key, no half creation, no failed call while a member works, all members equal
// in the end, and nothing left in the journals.
func TestHistories(t *testing.T) {
	checks(t, histories)
	rapid.Check(t, func(rt *rapid.T) {
		steady := rapid.Bool().Draw(rt, "a member never fails")
		// Far away (S1) what was read is over more often; what that showed is in TestStories.
		far := rapid.Bool().Draw(rt, "a standby is far away")
		steps := drawSteps(rt, steady)
		var w *world
		synctest.Test(t, func(t *testing.T) {
			w = newWorld(t, steady, far)
			w.live(steps)
			w.judge()
		})
		if len(w.wrong) > 0 {
			rt.Fatalf("%s\n%s", w.wrong[0], w.story())
		}
	})
}

// arm has a member's n-th call from now turn out in some way.
func (w *world) arm(s step) {
	left := s.N
	w.members[s.Member].Refuse(s.RV)
	w.members[s.Member].Script(func(c wire.Call) fake.Outcome {
		w.mu.Lock()
		defer w.mu.Unlock()
		if c.Number() == wire.NumberProbe {
			return fake.Answered
		}
		if left--; left != -1 {
			return fake.Answered
		}
		if c.Number() == wire.NumberLogin && s.RV == pkcs11.CKR_USER_NOT_LOGGED_IN {
			return fake.Answered // no token answers a login so
		}
		w.tell("  %s: %v has outcome %d %v", w.members[s.Member].Name(), c.Number(), s.Outcome, s.RV)
		return s.Outcome
	})
}

// live runs the steps.
func (w *world) live(steps []step) {
	for i := 0; i < len(steps); i++ {
		s := steps[i]
		if s.With && i+1 < len(steps) && w.together(s, steps[i+1]) {
			done := make(chan struct{})
			go func() { w.act(s); close(done) }()
			w.act(steps[i+1])
			<-done
			i++
		} else {
			w.act(s)
		}
		if len(w.wrong) > 0 {
			return
		}
	}
}

// together says whether two steps may be made at the same time: calls of two
// applications that are not about the same object.
func (w *world) together(s, next step) bool {
	n := max(len(w.objects), 1)
	return next.Process != s.Process && next.Key != s.Key && next.Key%n != s.Key%n && slices.Contains(calls, next.Deed)
}

// act makes one step.
func (w *world) act(s step) {
	m := w.members[s.Member]
	w.say("%+v", s)
	switch s.Deed {
	case "fault":
		w.arm(s)
	case "down":
		m.Down()
		synctest.Wait()
	case "up":
		m.Up()
		m.Token.Freeze(false)
		m.Script(nil)
		time.Sleep(5 * time.Second)
	case "wipe":
		if w.calm() {
			m.Down()
			synctest.Wait()
			m.Token.Wipe()
			m.Up()
		}
	case "pin":
		w.repinned = true
		w.members[1].Token.SetPIN("another")
	case "freeze":
		m.Token.Freeze(true)
	case "kill":
		w.process(s.Process).killAfter(s.N)
	case "wait":
		time.Sleep(time.Duration(s.N) * time.Second)
	default:
		w.call(s)
	}
}
