// SPDX-License-Identifier: Apache-2.0

// Package test_test runs whole processes: applications, engines and member
// processes on SoftHSM tokens, with everything that can befall them. The test
// itself is an application that loads the module; where a process of its own is
// wanted, it starts one.
package test_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"oneslot.dev/oneslot/test/cluster"
	"oneslot.dev/oneslot/test/programs"
	"oneslot.dev/oneslot/test/token"
)

// bin is the folder of the programs.
var bin string

func TestMain(m *testing.M) {
	if os.Getenv(actorVariable) != "" {
		os.Exit(beActor())
	}
	os.Exit(run(m))
}

func run(m *testing.M) int {
	own, err := os.MkdirTemp("", "oneslot-bin-")
	if err == nil {
		defer os.RemoveAll(own)
		// Web servers run it as another user.
		err = os.Chmod(own, 0o755)
	}
	if err == nil {
		bin, err = programs.In(own, programs.Race, programs.Module, programs.Oneslot, programs.Member, programs.Appliance, programs.Stress)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if os.Getenv(programs.Variable) == "" { // for tests that run this program again
		os.Setenv(programs.Variable, own)
	}
	// Engines and member processes inherit this. They have no terminal to tell
	// what the race detector found.
	reports := filepath.Join(own, "report")
	os.Setenv("GORACE", "log_path="+reports)
	// Tests in namespaces mostly wait.
	if err := flag.Set("test.parallel", "4"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	code := m.Run()
	races, _ := filepath.Glob(reports + ".*")
	for _, race := range races {
		text, _ := os.ReadFile(race)
		fmt.Fprintf(os.Stderr, "FAIL: a race in a program:\n%s\n", text)
		code = 1
	}
	return code
}

// A world is a cluster that fails its test when something does not work.
type world struct {
	*cluster.Cluster
	t testing.TB
}

// newWorld makes a group of SoftHSM tokens. Members that are away are tried
// every second, so that no test has to wait for a minute.
func newWorld(t testing.TB, members int) *world {
	t.Helper()
	// Not t.TempDir, whose paths are too long for sockets.
	dir, err := os.MkdirTemp("", "oneslot-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	c, err := cluster.New(bin, dir, members)
	if err != nil {
		t.Fatal(err)
	}
	w := &world{c, t}
	t.Cleanup(w.end)
	w.must(c.Set(`recovery_interval = "1s"`))
	for _, setting := range c.Env() {
		name, value, _ := strings.Cut(setting, "=")
		t.Setenv(name, value)
	}
	return w
}

// end cleans up, and shows the log if the test failed.
func (w *world) end() {
	w.Close()
	if w.t.Failed() {
		w.t.Logf("the engine's log:\n%s", w.log())
	}
}

func (w *world) log() string {
	text, _ := os.ReadFile(w.Log)
	return string(text)
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// await waits for a condition that has nothing to do with members.
func (w *world) await(what string, holds func() bool) {
	w.t.Helper()
	w.must(cluster.Await(what, func() (bool, error) { return holds(), nil }))
}

// open makes this process an application of the group, until the test ends.
func (w *world) open() *token.Token {
	w.t.Helper()
	k, err := token.Open(w.Module, w.Token)
	w.must(err)
	w.t.Cleanup(func() { k.Close() })
	return k
}
