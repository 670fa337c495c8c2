// SPDX-License-Identifier: Apache-2.0

package group

import (
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"oneslot.dev/oneslot/member/fake"
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
	members := three()
	var processes []*process
	var benches []*bench
	for range 2 {
		p := launch(t, members, nil)
		b := p.bench(t, members)
		b.login()
		processes, benches = append(processes, p), append(benches, b)
	}
	for i := range members {
		benches[1].await(i, Ready)
	}
	key, _ := benches[0].generate("first")
	benches[0].down(0)
	benches[0].down(1)
	setLabel(benches[0], key[0], "older")
	release := make(chan struct{})
	var first atomic.Bool
	members[0].Script(func(c wire.Call) fake.Outcome {
		if c.Number() == wire.NumberSetAttributeValue && first.CompareAndSwap(false, true) {
			<-release
		}
		return fake.Answered
	})
	members[0].Up()
	time.Sleep(time.Minute)
	members[1].Up()
	time.Sleep(time.Minute)
	if !first.Load() {
		t.Fatal("nobody was held up")
	}
	fast := 0
	if benches[0].state(0) != Ready {
		fast = 1
	}
	for i := range members {
		benches[fast].await(i, Ready)
	}
	key[0].Identity.Label = []byte("older")
	if rv := setLabel(benches[fast], key[0], "newer"); rv != 0 {
		t.Fatal(rv)
	}
	late := processes[1-fast]
	late.killAfter(n)
	close(release)
	time.Sleep(time.Minute)
	finished = !late.isDead()
	late.end()
	processes[fast].end() // nobody is there who knows
	afterwards(t, members)
	time.Sleep(3 * time.Minute)
	for _, m := range members {
		if labels := m.Token.Labels(); !slices.Equal(labels, []string{"newer"}) || m.Token.JournalLength() > 0 {
			t.Errorf("member %s: labels %v, journal %v", m.Name(), labels, m.Token.Journal())
		}
	}
	return finished
}
