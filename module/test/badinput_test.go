// SPDX-License-Identifier: Apache-2.0

package module_test

import (
	"os"
	"testing"

	"oneslot.dev/oneslot/test/cluster"
	"oneslot.dev/oneslot/test/programs"
)

// TestBadInput has an application do everything wrong, on the real engine with a
// real token.
func TestBadInput(t *testing.T) {
	dir, err := os.MkdirTemp("", "oneslot-bad-") // sockets need short paths
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	bin, err := programs.In(dir, false, programs.Oneslot, programs.Member)
	if err != nil {
		t.Fatal(err)
	}
	c, err := cluster.New(bin, dir+"/group", 2)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	app := sanitized.command(t, "badinput", c.PIN)
	app.Env = append(append(app.Env, c.Env()...), "ONESLOT_ENGINE="+bin+"/oneslot", "HOME="+dir)
	run(t, app)
}
