// SPDX-License-Identifier: Apache-2.0

package group

import "testing"

func TestPick(t *testing.T) {
	ready := func(outstanding int) candidate { return candidate{ready: true, outstanding: outstanding} }
	standby := func(outstanding int) candidate {
		return candidate{ready: true, standby: true, outstanding: outstanding}
	}
	down := candidate{}
	for _, c := range []struct {
		name   string
		choice Choice
		seats  []candidate
		last   int
		want   int
	}{
		{"nobody", Balance, nil, -1, -1},
		{"all down", Balance, []candidate{down, down}, 0, -1},
		{"the only one", Balance, []candidate{down, ready(7)}, 1, 1},
		{"L1: the fewest outstanding", Balance, []candidate{ready(2), ready(1), ready(3)}, 0, 1},
		{"L1: among equals the next after the last", Balance, []candidate{ready(1), ready(1), ready(1)}, 0, 1},
		{"L1: and around the end", Balance, []candidate{ready(1), ready(1), ready(1)}, 2, 0},
		{"L1: the last chosen only if it is alone", Balance, []candidate{ready(1), ready(2), ready(2)}, 0, 0},
		{"L3: the primary is the first, however busy", Primary, []candidate{ready(9), ready(0)}, 0, 0},
		{"F5: the next in list order when it failed", Primary, []candidate{down, ready(3), ready(0)}, 0, 1},
		{"S1: no work for standby while an active one is ready", Balance, []candidate{standby(0), ready(9)}, 1, 1},
		{"S2: standby when no active one is", Balance, []candidate{standby(4), down, standby(3)}, 0, 2},
		{"S2: primary too", Primary, []candidate{down, standby(4), standby(0)}, 0, 1},
	} {
		if got := pick(c.choice, c.seats, c.last); got != c.want {
			t.Errorf("%s: picked %d, want %d", c.name, got, c.want)
		}
	}
}

func TestPickSpreadsEvenly(t *testing.T) {
	seats := []candidate{{ready: true}, {ready: true}, {ready: true}}
	count := make([]int, 3)
	last := 2
	for range 300 {
		last = pick(Balance, seats, last)
		count[last]++
	}
	if count[0] != 100 || count[1] != 100 || count[2] != 100 {
		t.Errorf("300 calls went %v", count)
	}
}
