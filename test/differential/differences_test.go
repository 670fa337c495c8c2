// SPDX-License-Identifier: Apache-2.0

package differential_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"oneslot.dev/oneslot/pkcs11"
)

// A difference is one that docs/differences.md explains.
type difference struct {
	name    string // as in the document
	applies func(w *world, function string, rvs [3]pkcs11.RV) bool
	count   int
}

var differences = []*difference{
	{name: "C_GetFunctionStatus and C_CancelFunction", applies: func(_ *world, function string, _ [3]pkcs11.RV) bool {
		return function == "C_GetFunctionStatus" || function == "C_CancelFunction"
	}},
}

// What a survey found: how often each difference came, and where it came first.
var (
	surveyed = map[string]int{}
	first    = map[string]string{}
)

func (w *world) note(function string, described [3]string) {
	var codes []string
	for _, d := range described {
		code, _, _ := strings.Cut(d, " ")
		code, _, _ = strings.Cut(code, "\n")
		codes = append(codes, code)
	}
	key := function + ": " + strings.Join(codes, ", ")
	if surveyed[key]++; surveyed[key] == 1 {
		first[key] = w.log[len(w.log)-1] + "\n\tbare:  " + described[0] + "\n\tone:   " + described[1] + "\n\tthree: " + described[2] +
			"\n\tafter\n\t" + strings.Join(w.log[max(0, len(w.log)-9):len(w.log)-1], "\n\t")
	}
}

func printSurvey() {
	for _, key := range slices.Sorted(maps.Keys(surveyed)) {
		fmt.Printf("%5d × %s\n\t%s\n\n", surveyed[key], key, first[key])
	}
	for _, d := range differences {
		fmt.Printf("%5d × known: %s\n", d.count, d.name)
	}
}
