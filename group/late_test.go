// SPDX-License-Identifier: Apache-2.0

package group

import (
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"oneslot.dev/oneslot/member/fake"
	"oneslot.dev/oneslot/wire"
)

// K5: two processes carry out the same record. The one that is late must not undo
// what was changed after the other had done with it, nor put the record back.
func TestRecordThatAnotherProcessSettled(t *testing.T) {
	for name, late := range map[string]wire.Number{
		"late to look for the object": wire.NumberResolve,
		"late to change it":           wire.NumberSetAttributeValue,
		"late to confirm":             wire.NumberRecord,
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) { settledByAnother(t, late) })
		})
	}
}

func settledByAnother(t *testing.T, late wire.Number) {
	var members []*fake.Member
	for _, name := range []string{"a", "b", "c"} {
		members = append(members, fake.New(name, pin))
	}
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
	// Whoever of the two comes first with the older label is late.
	release := make(chan struct{})
	var first atomic.Bool
	hold := func(c wire.Call) fake.Outcome {
		if c.Number() == late && first.CompareAndSwap(false, true) {
			<-release
		}
		return fake.Answered
	}
	members[0].Script(hold)
	members[0].Up()
	time.Sleep(5 * time.Minute)
	members[1].Up()
	time.Sleep(5 * time.Minute)
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
	close(release)
	members[0].Script(nil)
	time.Sleep(10 * time.Minute)
	for _, m := range members {
		if labels := m.Token.Labels(); !slices.Equal(labels, []string{"newer"}) || m.Token.JournalLength() > 0 {
			t.Errorf("member %s: labels %v, journal %v", m.Name(), labels, m.Token.Journal())
		}
	}
}
