// SPDX-License-Identifier: Apache-2.0

package group

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"oneslot.dev/oneslot/member/fake"
	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/wire"
)

// K5, H5; field-C16: of two changes at the same time one wins on every member,
// whether they are made by two processes with different primaries (G6) or by
// two threads of one; and it is one that returned CKR_OK.
func TestTwoChangesAtTheSameTime(t *testing.T) {
	for _, processes := range []int{1, 2} {
		inBubble(t, func(t *testing.T) {
			var mu sync.Mutex
			delays := rand.New(rand.NewPCG(1, 2))
			var members []*fake.Member
			for _, name := range []string{"a", "b", "c"} {
				m := fake.New(name, pin)
				m.Script(func(wire.Call) fake.Outcome {
					mu.Lock()
					delay := time.Duration(delays.Int64N(int64(3 * time.Millisecond)))
					mu.Unlock()
					time.Sleep(delay)
					return fake.Answered
				})
				members = append(members, m)
			}
			var benches []*bench
			for i := range 2 {
				if i < processes {
					p := launch(t, slices.Concat(members[i:], members[:i]), nil)
					benches = append(benches, p.bench(t, members))
					benches[i].login()
					for k := range members {
						benches[i].await(k, Ready)
					}
				}
			}
			key, rv := benches[0].generate("k")
			if rv != pkcs11.CKR_OK {
				t.Fatal(rv)
			}
			for round := range 100 {
				var both sync.WaitGroup
				for i := range 2 {
					both.Go(func() {
						if rv := setLabel(benches[i%processes], key[0], fmt.Sprint(round, i)); rv != pkcs11.CKR_OK {
							t.Errorf("round %d, change %d: %v", round, i, rv)
						}
					})
				}
				both.Wait()
				first := members[0].Token.Labels()
				for _, m := range members {
					if labels := m.Token.Labels(); !slices.Equal(labels, first) || m.Token.JournalLength() > 0 {
						t.Fatalf("%d processes, round %d: member %s says %v and keeps %v, member a says %v", processes, round, m.Name(), labels, m.Token.Journal(), first)
					}
				}
				if first[0] != fmt.Sprint(round, 0) && first[0] != fmt.Sprint(round, 1) {
					t.Fatalf("%d processes, round %d: %v", processes, round, first)
				}
			}
		})
	}
}
