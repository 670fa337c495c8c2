// SPDX-License-Identifier: Apache-2.0

package group

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"oneslot.dev/oneslot/member/fake"
	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/wire"
)

// tally counts the calls of each member while something runs.
func (b *bench) tally(run func()) (calls [][]string) {
	var mu sync.Mutex
	calls = make([][]string, len(b.members))
	for i, m := range b.members {
		m.Script(func(c wire.Call) fake.Outcome {
			mu.Lock()
			defer mu.Unlock()
			if c.Number() != wire.NumberProbe {
				calls[i] = append(calls[i], strings.TrimPrefix(c.Number().String(), "C_"))
			}
			return fake.Answered
		})
	}
	run()
	for _, m := range b.members {
		m.Script(nil)
	}
	return calls
}

// What a change costs in calls to each member: the journals are read once, and that of
// twins told apart on the primary. field-D1 has the record come first.
func TestWhatAChangeCosts(t *testing.T) {
	for twins, most := range map[int][2]int{0: {6, 2}, 1: {8, 3}, 3: {10, 3}} {
		inBubble(t, func(t *testing.T) {
			b := start(t, 3, nil)
			b.login()
			var all []Created
			for i := range twins + 1 {
				all = append(all, b.twin("same", fmt.Sprint("2026010", i)))
			}
			for _, calls := range [][][]string{
				b.tally(func() { b.changeTwin(all[0], pkcs11.CKA_START_DATE, "20280101") }),
				b.tally(func() { b.destroyTwin(all[0]) }),
			} {
				for i, c := range calls {
					if t.Logf("%d twins, member %d: %d calls: %v", twins, i, len(c), c); len(c) > most[min(i, 1)] {
						t.Errorf("want %d at most", most[min(i, 1)])
					}
				}
			}
		})
	}
}

// What a start with a login costs in calls: members that are there when C_Login comes are
// compared once, after it; the journals of all that are ready are read twice for each that
// joins.
func TestWhatAStartCosts(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		warm := start(t, 3, nil)
		warm.login()
		warm.generate("k")
		warm.g.Close()
		b := &bench{t: t, members: warm.members}
		b.g = New(warm.g.options, membersOf(b), wire.GroupView, func(Event) {})
		defer b.g.Close()
		for _, m := range b.members {
			m.Delay(2 * time.Millisecond)
		}
		for i, c := range b.tally(func() {
			b.g.Start()
			b.g.AwaitFirst(t.Context())
			b.login()
		}) {
			want := []int{8, 8, 6}[i] // one of these if the listing before the login has begun
			if t.Logf("member %d: %d calls: %v", i, len(c), c); len(c) > want {
				t.Errorf("want %d at most", want)
			}
		}
		for i := range b.members {
			b.await(i, Ready)
		}
	})
}

// K2, K5: two members are not compared while one of them may have a login that the group
// does not know of: the other one would seem to lack all private objects.
func TestNothingIsComparedWhileSomebodyLogsIn(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		b := start(t, 2, nil)
		b.login()
		b.generate("k")
		compare := func() error {
			_, err := b.g.compare(b.g.seats[0].link, b.g.seats[1].link)
			return err
		}
		step := func(by int) {
			b.g.mu.Lock()
			defer b.g.mu.Unlock()
			b.g.stepIn(by)
		}
		step(1)
		if err := compare(); !errors.Is(err, errLogin) {
			t.Errorf("compared while a login was under way: %v", err)
		}
		step(-1)
		b.members[1].Script(func(c wire.Call) fake.Outcome {
			if c.Number() == wire.NumberFind {
				step(1)
				step(-1)
			}
			return fake.Answered
		})
		if err := compare(); !errors.Is(err, errLogin) {
			t.Errorf("compared though there was a login meanwhile: %v", err)
		}
		b.members[1].Script(nil)
		if err := compare(); err != nil {
			t.Errorf("not compared: %v", err)
		}
	})
}

// F7, G5: a login that is refused, or lost, keeps no member from being compared.
func TestALoginThatFailsIsOver(t *testing.T) {
	for _, how := range []fake.Outcome{fake.Answered, fake.LostBefore, fake.Hang} {
		inBubble(t, func(t *testing.T) {
			b := start(t, 2, nil)
			b.members[0].Once(wire.NumberLogin, how)
			if rv := b.g.Login(pkcs11.CKU_USER, pkcs11.PIN("wrong")); rv == pkcs11.CKR_OK {
				t.Fatal("logged in with a wrong PIN")
			}
			b.g.mu.Lock()
			under := b.g.entering.under
			b.g.mu.Unlock()
			if under != 0 {
				t.Errorf("outcome %v: %d logins are under way", how, under)
			}
			b.await(0, Ready)
			b.login()
		})
	}
}

// K5, R3: what a member that was away has missed is carried out with as many readings of
// the journals for a hundred records as for ten, also while another member stays away.
func TestFollowingReadsTheJournalsOnce(t *testing.T) {
	for _, destroy := range []bool{true, false} {
		for away := range 2 {
			readings := make(map[int]int)
			for _, events := range []int{10, 100} {
				inBubble(t, func(t *testing.T) { readings[events] = readToFollow(t, destroy, away, events) })
			}
			if t.Logf("destroyed %v, %d others away: readings %v", destroy, away, readings); readings[100] > readings[10] {
				t.Errorf("destroyed %v, %d others away: %v readings of the journals", destroy, away, readings)
			}
		}
	}
}

// readToFollow is how often journals are read until a member has followed so many events.
func readToFollow(t *testing.T, destroy bool, away, events int) (readings int) {
	b := start(t, 3, nil)
	b.login()
	var keys []Created
	for i := range events {
		made, _ := b.generate(fmt.Sprint("key ", i))
		keys = append(keys, made...)
	}
	for i := range 1 + away {
		b.down(2 - i)
	}
	for i, key := range keys {
		rv := pkcs11.CKR_OK
		if destroy {
			rv = b.g.Destroy(key.Identity, resolve(key.Identity))
		} else {
			rv = setLabel(b, key, fmt.Sprint("new ", i))
		}
		if rv != pkcs11.CKR_OK {
			t.Fatal(rv)
		}
	}
	for _, calls := range b.tally(func() {
		b.members[2].Up()
		b.await(2, Ready)
	}) {
		for _, c := range calls {
			if c == "X_Records" {
				readings++
			}
		}
	}
	if keys := b.members[2].Token.Labels(); len(keys) != len(b.members[0].Token.Labels()) || !slices.Equal(keys, b.members[0].Token.Labels()) {
		t.Errorf("it holds %v", keys)
	}
	return readings
}
