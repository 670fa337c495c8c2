// SPDX-License-Identifier: Apache-2.0

package group

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"oneslot.dev/oneslot/wire"
)

// K5; field-C16: a process carries out a change after another one had settled it and made
// a later one, and dies before it has mended that, wherever. Who comes next mends it.
func TestKilledAfterALateChange(t *testing.T) {
	for n, finished := 0, false; !finished; n++ {
		t.Run(fmt.Sprintf("call %d", n), func(t *testing.T) {
			inBubble(t, func(t *testing.T) { finished = dieLate(t, n) })
		})
	}
}

// dieLate kills a process n calls after its late change. It is true if the process got
// over that.
func dieLate(t *testing.T, n int) (finished bool) {
	r := race(t, 0, time.Minute, func(c wire.Call) bool { return c.Number() == wire.NumberSetAttributeValue })
	r.overtake()
	r.slow.killAfter(n)
	close(r.release)
	time.Sleep(time.Minute)
	finished = !r.slow.isDead()
	r.slow.end()
	r.next.end() // nobody is there who knows
	afterwards(t, r.members)
	time.Sleep(3 * time.Minute)
	r.haveNewer()
	return finished
}

// K5; field-C16: a process writes down who has not followed a change after another one
// had settled it and made a later one, and dies then, at any call, or goes on. Whoever meets
// the record does not make the older change again, be it that of who carried out a change
// or of who made it.
func TestKilledAfterALateRecord(t *testing.T) {
	for name, begin := range map[string]func(t *testing.T, at int) *overtaking{
		"carried out": func(t *testing.T, at int) *overtaking { return race(t, at, time.Minute, leavesB) },
		"made":        stall,
	} {
		for _, at := range []int{0, 2} {
			for _, alone := range []bool{false, true} {
				for n, finished := 0, false; !finished; n++ {
					t.Run(fmt.Sprintf("%s, member %d, alone %v, call %d", name, at, alone, n), func(t *testing.T) {
						inBubble(t, func(t *testing.T) { finished = begin(t, at).dieWithARecord(at, alone, n) })
					})
				}
			}
		}
	}
}

// dieWithARecord kills a process n calls after a late record on a member. Alone, nobody is
// left who knows; else it is the process that was faster which meets the record. It is true
// if the process got over that.
func (r *overtaking) dieWithARecord(at int, alone bool, n int) (finished bool) {
	r.overtake()
	r.slow.killAfter(n)
	close(r.release)
	synctest.Wait()
	if n == 0 && r.members[at].Token.JournalLength() == 0 {
		r.t.Error("there is no late record")
	}
	time.Sleep(time.Minute)
	finished = !r.slow.isDead()
	r.slow.end()
	if alone {
		r.next.end()
	} else {
		r.fast.down(1)
		r.fast.up(1)
	}
	afterwards(r.t, r.members)
	time.Sleep(3 * time.Minute)
	r.haveNewer()
	return finished
}

// stall has a process be held up where it writes down who has not followed its own change,
// so that another one takes it for dead.
func stall(t *testing.T, at int) *overtaking {
	r := two(t)
	r.fast.down(1)
	r.hold(at, leavesB)
	done := make(chan struct{})
	go func() { setLabel(r.late, r.key, "older"); close(done) }()
	t.Cleanup(func() { <-done })
	synctest.Wait()
	r.members[1].Up()
	return r
}

// leavesB says whether a call writes a record of a change that waits for member b alone.
func leavesB(c wire.Call) bool {
	write, is := c.(*wire.Record)
	if !is {
		return false
	}
	r, ok := decodeRecord(write.Record)
	return ok && r.Op == opChange && slices.Equal(r.Pending, []string{"serial-b"})
}
