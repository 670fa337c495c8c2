// SPDX-License-Identifier: Apache-2.0

package group

import (
	"fmt"
	"strings"
	"sync"
	"testing"

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
