// SPDX-License-Identifier: Apache-2.0

package config

import (
	"fmt"
	"sort"
	"strings"
)

// A Problem is one thing that is wrong in a configuration, and the way out.
type Problem struct {
	File string
	Line int    // from 1
	Key  string // the part of the file: `group "ca"`, `log`; empty: the top level
	What string
	Fix  string
}

func (p Problem) String() string {
	text := fmt.Sprintf("%s:%d: ", p.File, p.Line)
	if p.Key != "" {
		text += p.Key + ": "
	}
	text += p.What
	if p.Fix != "" {
		text += ": " + p.Fix
	}
	return text
}

// Problems is everything that is wrong in a configuration, in the order of the
// lines. An operator who mends one must not find the next at the next try.
type Problems []Problem

// Error has one line for each problem.
func (p Problems) Error() string {
	lines := make([]string, len(p))
	for i, problem := range p {
		lines[i] = problem.String()
	}
	return strings.Join(lines, "\n")
}

func (p Problems) sort() {
	sort.SliceStable(p, func(i, j int) bool { return p[i].Line < p[j].Line })
}

// nearest returns the name that was probably meant, or "".
func nearest(name string, names []string) string {
	best, least := "", 3 // three slips of the finger are another word
	for _, candidate := range names {
		if d := distance(name, candidate); d < least && d < len(candidate) {
			best, least = candidate, d
		}
	}
	return best
}

// distance is the number of letters to change, add or drop (Levenshtein).
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
