// SPDX-License-Identifier: Apache-2.0

package module_test

import (
	"os"
	"os/exec"
	"testing"

	"oneslot.dev/oneslot/test/cluster"
)

// programs builds oneslot and its member process.
func programs(t *testing.T) string {
	t.Helper()
	return built(t, "programs", func(out string) *exec.Cmd {
		c := exec.Command("go", "build", "-buildvcs=false", "-o", out+"/", "./cmd/oneslot", "./cmd/oneslot-member")
		c.Dir = "../.."
		return c
	})
}

// TestBadInput has an application do everything wrong, on the real engine with a
// real token.
func TestBadInput(t *testing.T) {
	dir, err := os.MkdirTemp("", "oneslot-bad-") // sockets need short paths
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	bin := programs(t)
	c, err := cluster.New(bin, dir+"/group", 2)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	app := sanitized.command(t, "badinput", c.PIN)
	app.Env = append(append(app.Env, c.Env()...), "ONESLOT_ENGINE="+bin+"/oneslot", "HOME="+dir)
	run(t, app)
}
