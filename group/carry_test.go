// SPDX-License-Identifier: Apache-2.0

package group

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"oneslot.dev/oneslot/member/fake"
	"oneslot.dev/oneslot/wire"
)

// K2: while a member far away takes keys, the next are exported elsewhere, and it is
// not waited for with each one.
func TestKeysTravelTogether(t *testing.T) {
	const keys, trip = 64, 200 * time.Millisecond
	inBubble(t, func(t *testing.T) {
		b := start(t, 2, nil)
		b.login()
		b.down(1)
		for i := range keys {
			if _, rv := b.generate(fmt.Sprint("key ", i)); rv != 0 {
				t.Fatal(rv)
			}
		}
		var mu sync.Mutex
		var exported, imported []time.Time
		note := func(what wire.Number, list *[]time.Time) func(wire.Call) fake.Outcome {
			return func(c wire.Call) fake.Outcome {
				mu.Lock()
				defer mu.Unlock()
				if c.Number() == what {
					*list = append(*list, time.Now())
				}
				return fake.Answered
			}
		}
		b.members[0].Script(note(wire.NumberExport, &exported))
		b.members[1].Script(note(wire.NumberImport, &imported))
		for _, m := range b.members {
			m.Delay(trip)
		}
		b.members[1].Up()
		b.await(1, Ready)
		b.equal(keys)
		mu.Lock()
		defer mu.Unlock()
		if len(exported) != keys || len(imported) != keys {
			t.Fatalf("%d exports and %d imports of %d keys", len(exported), len(imported), keys)
		}
		// One trip for each eight, and one before the first import.
		took, most := imported[keys-1].Sub(exported[0]), (keys/8+1)*trip
		if took > most {
			t.Errorf("%d keys took %v, want %v at most", keys, took, most)
		}
	})
}

// K8: a key that does not leave its member, or that the other one does not take, keeps
// no other from being copied with it; and each is reported.
func TestOneOfManyKeysIsNotCopied(t *testing.T) {
	for at, number := range []wire.Number{wire.NumberExport, wire.NumberImport} {
		inBubble(t, func(t *testing.T) {
			b := start(t, 2, nil)
			b.login()
			b.down(1)
			for i := range 12 {
				b.generate(fmt.Sprint("key ", i))
			}
			seen := 0
			b.members[at].Script(func(c wire.Call) fake.Outcome {
				if c.Number() == number {
					if seen++; seen == 5 {
						return fake.Refused
					}
				}
				return fake.Answered
			})
			b.members[1].Up()
			b.await(1, Ready)
			if n, lost := len(b.members[1].Token.Labels()), b.count(ObjectNotCopied); n != 11 || lost != 1 {
				t.Errorf("%d of 12 keys were copied, and %d reported", n, lost)
			}
		})
	}
}

// K2: of a member that fails while keys are copied from it, or to it, the rest comes when
// it is back, and nothing twice.
func TestFailsWhileKeysAreCopied(t *testing.T) {
	for at, number := range []wire.Number{wire.NumberExport, wire.NumberImport} {
		for _, how := range []fake.Outcome{fake.LostBefore, fake.LostAfter, fake.Hang} {
			inBubble(t, func(t *testing.T) {
				b := start(t, 2, nil)
				b.login()
				b.down(1)
				for i := range 20 {
					b.generate(fmt.Sprint("key ", i))
				}
				seen := 0
				b.members[at].Script(func(c wire.Call) fake.Outcome {
					if c.Number() == number {
						if seen++; seen == 13 {
							return how
						}
					}
					return fake.Answered
				})
				b.mu.Lock()
				before := len(b.events)
				b.mu.Unlock()
				b.members[1].Up()
				time.Sleep(10 * time.Minute)
				b.await(0, Ready)
				b.await(1, Ready)
				b.equal(20)
				if seen < 13 {
					t.Error("the member did not fail")
				}
				b.mu.Lock()
				for _, e := range b.events[before:] {
					if e.Code == MemberDown && e.Member != b.members[at].Name() {
						t.Errorf("%v failed with %v, and the other member is blamed: %v", number, how, e.Cause)
					}
				}
				b.mu.Unlock()
				labels := b.members[1].Token.Labels()
				slices.Sort(labels)
				if n := len(slices.Compact(slices.Clone(labels))); n != len(labels) || n != 20 || b.count(ObjectNotCopied) > 0 {
					t.Errorf("%v failed with %v: %d objects, %d labels, %d reported as not copied", number, how, len(labels), n, b.count(ObjectNotCopied))
				}
			})
		}
	}
}
