// SPDX-License-Identifier: Apache-2.0

package main

import "testing"

// What module/spawn.c starts is recognised without the parser of commands; for
// anything else the parser says what is wrong.
func TestTheModulesCommandLine(t *testing.T) {
	if c := privateEngine([]string{"engine", "--fd", "3"}); c == nil || c.FD != 3 {
		t.Errorf("the module's command line is read as %+v", c)
	}
	for _, args := range [][]string{nil, {"engine"}, {"engine", "--fd", "x"}, {"engine", "--fd", "3", "y"}, {"engine", "--help", "3"}, {"status", "--fd", "3"}} {
		if c := privateEngine(args); c != nil {
			t.Errorf("%q is read as %+v", args, c)
		}
	}
}
