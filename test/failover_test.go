// SPDX-License-Identifier: Apache-2.0

package test_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"oneslot.dev/oneslot/test/token"
)

const threads = 16

// calmPause is between two calls of a thread of a calm load.
const calmPause = 50 * time.Millisecond

// load begins to work, and ends with the test at the latest.
func (a *app) load(threads int, works ...token.Work) *token.Load {
	l := a.Start(threads, works...)
	a.w.t.Cleanup(func() { l.Stop() })
	return l
}

// calm is a load of few calls, where there is long to wait and the number of calls
// proves nothing: the machine is for others meanwhile.
func (a *app) calm(threads int, works ...token.Work) *token.Load {
	l := a.StartPaced(calmPause, threads, works...)
	a.w.t.Cleanup(func() { l.Stop() })
	return l
}

// unharmed ends the load, of which no call may have failed.
func unharmed(t *testing.T, load *token.Load) {
	t.Helper()
	total, problems := load.Stop()
	if problems != nil || total.Failed+total.Wrong > 0 || total.Verified == 0 {
		t.Errorf("%+v\n%v", total, problems)
	}
	t.Logf("%d calls, all verified; the longest took %v", total.Verified, total.Longest.Round(time.Millisecond))
}

// replaced does harm to a member's process, and waits until there is another.
func (w *world) replaced(member string, harm func(string) error) {
	w.t.Helper()
	before := w.PIDs(member)
	w.must(harm(member))
	w.await("another process of member "+member, func() bool {
		return len(others(w.PIDs(member), before)) == 1
	})
}

// others are the processes that were not there before.
func others(now, before []int) []int {
	return slices.DeleteFunc(now, func(pid int) bool { return slices.Contains(before, pid) })
}

// F1, F4, R1, R4; field-A1, A12.
func TestKilledMemberCostsNoCall(t *testing.T) {
	if !inProcess(t) {
		return
	}
	w := newWorld(t, 3)
	a := w.login()
	load := a.load(threads, a.everything()...)
	w.must(w.Works("b"))
	if n := strings.Count(w.log(), "member b of group sandbox is ready"); n != 1 {
		t.Errorf("the log says %d times that member b is ready (O3)", n)
	}
	w.replaced("b", w.Kill)
	w.must(w.Ready())
	w.must(w.Works("b"))
	unharmed(t, load)
}

// F3: the probes notice it, not the command timeout.
func TestStoppedMemberCostsNoCall(t *testing.T) {
	if !inProcess(t) {
		return
	}
	w := newWorld(t, 3)
	a := w.login()
	load := a.load(threads, a.everything()...)
	w.must(w.Works("b"))
	w.replaced("b", w.Pause)
	w.must(w.Ready())
	w.must(w.Works("b"))
	unharmed(t, load)
}

// F5: the primary may be the one, and who was the primary may be the next.
func TestEachMemberKilledInTurn(t *testing.T) {
	if !inProcess(t) {
		return
	}
	w := newWorld(t, 3)
	a := w.login()
	load := a.load(threads, a.everything()...)
	for _, member := range w.Members {
		w.must(w.Works(member))
		w.replaced(member, w.Kill)
		w.must(w.Ready())
		w.must(w.Works(member))
	}
	unharmed(t, load)
}

// G5; field-A2, A5: the same sessions, handles and login work again as soon as
// one member is back.
func TestAllMembersLostAndBack(t *testing.T) {
	if !inProcess(t) {
		return
	}
	w := newWorld(t, 3)
	a := w.login()
	works := a.everything()
	a.use(works...)
	for _, member := range w.Members {
		w.must(w.Away(member))
	}
	for _, member := range w.Members {
		w.must(w.Gone(member))
	}
	begin := time.Now()
	for _, work := range works {
		if err := a.do(work); err == nil {
			t.Errorf("%s works without any member", work.Name)
		}
	}
	t.Logf("%d calls failed within %v", len(works), time.Since(begin).Round(time.Millisecond))
	w.must(w.Back("b"))
	w.must(w.Ready("b"))
	a.use(works...)
	w.must(w.Back("c"))
	w.must(w.Back("a"))
	w.must(w.Ready())
	a.use(works...)
}
