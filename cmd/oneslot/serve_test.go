// SPDX-License-Identifier: Apache-2.0

package main

import "testing"

// A shared engine that applications do not find by themselves says so: each would start
// one of its own, and nobody would notice.
func TestWhereModulesLook(t *testing.T) {
	for _, c := range []struct {
		runtime, socket string
		found           bool
	}{
		{"", "/run/oneslot/engine.sock", true},
		{"/run/user/7", "/run/user/7/oneslot/engine.sock", true},
		{"/run/user/7", "/run/oneslot/engine.sock", true},
		{"", "/tmp/oneslot-7/engine.sock", false},
		{"/run/user/7", "/sandbox/run/engine.sock", false},
		{"", "/oneslot/engine.sock", false},
	} {
		getenv := func(string) string { return c.runtime }
		if found := foundByModules(getenv, c.socket); found != c.found {
			t.Errorf("XDG_RUNTIME_DIR=%q, %s: %v, want %v", c.runtime, c.socket, found, c.found)
		}
	}
}
