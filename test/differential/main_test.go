// SPDX-License-Identifier: Apache-2.0

// Package differential_test makes the same random calls on a bare SoftHSM token
// and through the module, on a group of one and on a group of three, and
// compares what comes back. An application must not be able to tell; what it
// can tell nevertheless stands in docs/differences.md.
//
// More sequences than usual: go test ./test/differential -rapid.checks=1000. A
// failure says with which -rapid.seed it comes again. With -survey all that
// differs is listed, each with a short way to it.
package differential_test

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"oneslot.dev/oneslot/test/cluster"
	"oneslot.dev/oneslot/test/programs"
)

// usualChecks are the sequences of one test; there are five.
const usualChecks = "25"

// usualSeed makes a plain `go test` run the same sequences each time, so that it
// fails for what was changed. With -rapid.checks others are drawn.
const usualSeed = "1"

const (
	pin   = "123456"
	soPIN = "87654321"
)

var survey = flag.Bool("survey", false, "go on after a difference, and list all of them at the end")

// sides are the processes that make the calls: bare, one member, three members.
var sides []*machine

func TestMain(m *testing.M) {
	flag.Parse()
	given := map[string]bool{}
	flag.Visit(func(f *flag.Flag) { given[f.Name] = true })
	if !given["rapid.checks"] {
		flag.Set("rapid.checks", usualChecks)
		if !given["rapid.seed"] {
			flag.Set("rapid.seed", usualSeed)
		}
	}
	os.Exit(run(m))
}

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "oneslot-diff-")
	if err == nil {
		defer os.RemoveAll(dir)
		var bin string
		if bin, err = build(dir); err == nil {
			err = worlds(bin, dir)
		}
	}
	for _, s := range sides {
		defer s.stop()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	code := m.Run()
	printSurvey()
	return max(code, min(1, len(surveyed)))
}

func command(dir, name string, args ...string) error {
	c := exec.Command(name, args...)
	c.Dir = dir
	if out, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", strings.Join(c.Args, " "), err, out)
	}
	return nil
}

func build(dir string) (bin string, err error) {
	bin, err = programs.In(dir, false, programs.Module, programs.Oneslot, programs.Member, programs.Appliance)
	if err != nil {
		return "", err
	}
	return bin, command(".", "sh", "-c", "cc -std=gnu11 -O1 -g -Wall -Wextra $(pkg-config --cflags p11-kit-1) testdata/driver.c -o "+dir+"/driver")
}

func worlds(bin, dir string) error {
	driver := filepath.Join(dir, "driver")
	var groups []*machine
	softhsm := ""
	for _, members := range []int{1, 3} {
		c, err := cluster.New(bin, filepath.Join(dir, fmt.Sprintf("g%d", members)), members, "--pin="+pin, "--so-pin="+soPIN)
		if err != nil {
			return err
		}
		// No member is silent here but on a machine that stands still.
		if err := c.Set(`probe_timeout = "20m"`, `command_timeout = "30m"`, `stuck_timeout = "40m"`, `stuck_timeout_keygen = "50m"`); err != nil {
			return err
		}
		m, err := start(driver, fmt.Sprintf("a group of %d", members), c.Module, c.Env()...)
		if err != nil {
			return err
		}
		m.log, softhsm = c.Log, c.SoftHSM
		groups = append(groups, m)
	}
	bare, err := bareToken(driver, filepath.Join(dir, "bare"), softhsm)
	if err != nil {
		return err
	}
	sides = append([]*machine{bare}, groups...)
	for _, s := range sides {
		if err := s.findSlot(); err != nil {
			return err
		}
	}
	return nil
}

// bareToken is a token like those of the groups, without oneslot.
func bareToken(driver, dir, softhsm string) (*machine, error) {
	tokens := filepath.Join(dir, "tokens")
	if err := os.MkdirAll(tokens, 0o700); err != nil {
		return nil, err
	}
	conf := filepath.Join(dir, "softhsm2.conf")
	if err := os.WriteFile(conf, []byte("directories.tokendir = "+tokens+"\nlog.level = ERROR\n"), 0o600); err != nil {
		return nil, err
	}
	if err := command(".", "env", "SOFTHSM2_CONF="+conf, "softhsm2-util", "--module", softhsm, "--init-token", "--free", "--label", "bare", "--so-pin", soPIN, "--pin", pin); err != nil {
		return nil, err
	}
	return start(driver, "bare SoftHSM", softhsm, "SOFTHSM2_CONF="+conf)
}

// findSlot initialises the module and takes the slot with the token: the first
// bare one, or the virtual one, which comes last.
func (m *machine) findSlot() error {
	if rv, err := m.make("C_Initialize", &call{args: []argument{{}}}); rv != 0 || err != nil {
		return fmt.Errorf("%s: C_Initialize: %v %w", m.name, rv, err)
	}
	var list call
	list.number(1)
	list.room(room{size: 16 * 8}, false)
	count := list.outputs[0].length
	list.buffers[count] = ulong(16)
	rv, err := m.make("C_GetSlotList", &list)
	n := int(list.ulongAt(count, 0))
	if rv != 0 || err != nil || n == 0 {
		return fmt.Errorf("%s: C_GetSlotList: %v, %d slots, %w", m.name, rv, n, err)
	}
	m.slot = list.ulongAt(list.outputs[0].buffer, 0)
	if m != sides[0] {
		m.slot = list.ulongAt(list.outputs[0].buffer, 8*(n-1))
	}
	return nil
}
