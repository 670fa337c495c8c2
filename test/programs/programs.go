// SPDX-License-Identifier: Apache-2.0

// Package programs has what is tested built: the module and the programs. `make
// test` builds them once for the tests of all packages; where `go test` is called
// without it each package builds what it needs.
package programs

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Variable names the folder that make has filled. The folder "race" in it has the
// same with the race detector.
const Variable = "ONESLOT_TEST_BIN"

// The names of what there is, in the folder.
const (
	Module    = "oneslot-pkcs11.so"
	Oneslot   = "oneslot"
	Member    = "oneslot-member"
	Appliance = "oneslot-appliance"
	Stress    = "p11stress"
)

var sources = map[string]string{
	Oneslot: "cmd/oneslot", Member: "cmd/oneslot-member", Appliance: "cmd/oneslot-appliance", Stress: "test/app",
}

// In returns the folder with these: the one that make has filled, or one in dir,
// after building them there. With race the programs have the race detector.
func In(dir string, race bool, names ...string) (string, error) {
	made := os.Getenv(Variable)
	if made != "" {
		dir = made
	}
	if race {
		dir = filepath.Join(dir, "race")
	}
	if made != "" {
		return dir, nil
	}
	for _, name := range names {
		if err := build(dir, race, name); err != nil {
			return "", err
		}
	}
	return dir, nil
}

func build(dir string, race bool, name string) error {
	switch source := sources[name]; name {
	case Module:
		root, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}").Output()
		if err != nil {
			return fmt.Errorf("go list -m: %w", err)
		}
		return run(strings.TrimSpace(string(root)), "make", "-s", "-f", "module/build.mk", "BUILD="+dir, filepath.Join(dir, name))
	case Stress: // has no part in what races
		return run("", "go", "build", "-buildvcs=false", "-o", filepath.Join(dir, name), "oneslot.dev/oneslot/"+source)
	default:
		return run("", "go", "build", fmt.Sprintf("-race=%v", race), "-buildvcs=false", "-o", filepath.Join(dir, name), "oneslot.dev/oneslot/"+source)
	}
}

func run(dir string, args ...string) error {
	c := exec.Command(args[0], args[1:]...)
	c.Dir = dir
	if out, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", strings.Join(args, " "), err, out)
	}
	return nil
}
