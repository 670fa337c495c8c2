// SPDX-License-Identifier: Apache-2.0

// Tally reads what `go test -json` writes, shows it in short and everything
// about failures, and ends with the number of tests. Its exit code is 1 unless
// all of them passed.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
)

// An event is one line of `go test -json` (see go doc test2json).
type event struct {
	Action     string
	Package    string
	ImportPath string // of what was built
	Test       string
	Elapsed    float64
	Output     string
}

type tally struct {
	passed, failed, skipped, packages int

	unfinished map[string]bool     // tests that run
	output     map[string][]string // of each test and package, until it passed
	skips      []string
}

func main() {
	t := tally{unfinished: map[string]bool{}, output: map[string][]string{}}
	in := json.NewDecoder(os.Stdin)
	for {
		var e event
		err := in.Decode(&e)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, "tally: no output of go test -json:", err)
			os.Exit(1)
		}
		t.take(e)
	}
	if !t.close() {
		os.Exit(1)
	}
}

func (t *tally) take(e event) {
	name := e.Package + e.ImportPath + " " + e.Test
	switch e.Action {
	case "run":
		t.unfinished[name] = true
	case "output", "build-output":
		t.output[name] = append(t.output[name], e.Output)
	case "pass", "skip":
		t.good(e, name)
	case "fail", "build-fail":
		t.bad(e, name)
	}
}

func (t *tally) good(e event, name string) {
	delete(t.unfinished, name)
	switch {
	case e.Test == "" && e.Action == "pass":
		t.packages++
		fmt.Printf("ok    %6.1fs  %s\n", e.Elapsed, e.Package)
	case e.Test == "": // a package without tests
	case e.Action == "pass":
		t.passed++
	default:
		t.skipped++
		t.skips = append(t.skips, name)
	}
	delete(t.output, name)
}

func (t *tally) bad(e event, name string) {
	delete(t.unfinished, name)
	if e.Test != "" {
		t.failed++
	} else if e.Action == "fail" {
		t.packages++
	}
	fmt.Printf("FAIL  %6.1fs  %s\n", e.Elapsed, name)
	for _, line := range t.output[name] {
		fmt.Print("      ", line)
	}
	delete(t.output, name)
	if e.Test == "" && t.failed == 0 {
		t.failed++ // something that is no test: a build, a TestMain
	}
}

// close prints the end, and says whether all is well.
func (t *tally) close() bool {
	for name := range t.unfinished {
		t.failed++
		fmt.Printf("FAIL           %s did not end\n", name)
		for _, line := range t.output[name] {
			fmt.Print("      ", line)
		}
	}
	slices.Sort(t.skips)
	for _, name := range t.skips {
		fmt.Println("skip          ", name)
	}
	fmt.Printf("%d tests passed, %d failed, %d skipped, in %d packages\n", t.passed, t.failed, t.skipped, t.packages)
	return t.failed == 0 && t.passed > 0
}
