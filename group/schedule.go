// SPDX-License-Identifier: Apache-2.0

package group

// Choice is how a call finds its member.
type Choice uint8

// The choices.
const (
	Balance Choice = iota // the least busy (L1)
	Primary               // the first in list order (L3)
)

// A candidate is what the scheduler needs to know of a member.
type candidate struct {
	ready       bool
	standby     bool
	outstanding int
}

// pick returns the index of the member for a call, or -1. Standby members
// serve only when no active one can (S2).
func pick(choice Choice, candidates []candidate, last int) int {
	for _, standby := range []bool{false, true} {
		var best int
		if choice == Primary {
			best = first(candidates, standby)
		} else {
			best = leastBusy(candidates, standby, last)
		}
		if best >= 0 {
			return best
		}
	}
	return -1
}

// first returns the first ready member in list order: the primary (F5).
func first(candidates []candidate, standby bool) int {
	for i, c := range candidates {
		if c.ready && c.standby == standby {
			return i
		}
	}
	return -1
}

// leastBusy returns the ready member with the fewest outstanding commands,
// "among equals, to the next in list order after the last one chosen" (L1).
func leastBusy(candidates []candidate, standby bool, last int) int {
	best := -1
	for step := 1; step <= len(candidates); step++ {
		i := (last + step) % len(candidates)
		c := candidates[i]
		if c.ready && c.standby == standby && (best < 0 || c.outstanding < candidates[best].outstanding) {
			best = i
		}
	}
	return best
}
