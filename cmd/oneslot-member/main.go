// SPDX-License-Identifier: Apache-2.0

// Command oneslot-member is a small program with one vendor module in it: the
// child of an engine for one application and one token. A vendor module that
// hangs, crashes or leaks takes nothing else with it.
//
// The commands of an appliance stand in a program of their own, which this one
// turns into: an application waits for the start of its members, and what speaks
// over networks takes twice as long to start.
package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	"oneslot.dev/oneslot/host"
)

func main() {
	var err error
	if c := engineChild(os.Args[1:]); c != nil {
		host.ShareProcessors()
		err = c.Run()
	} else {
		err = become(applianceProgram)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "oneslot-member: %v\n", err)
		os.Exit(1)
	}
}

// applianceProgram has every command but child.
const applianceProgram = "oneslot-appliance"

// become turns this process into the program, which lies beside this one, where
// packages put what is not for people, or in $PATH.
func become(name string) error {
	var places []string
	if self, err := os.Executable(); err == nil {
		places = append(places, filepath.Join(filepath.Dir(self), name))
	}
	for _, path := range append(places, "/usr/libexec/oneslot/"+name) {
		if _, err := os.Stat(path); err == nil {
			return run(path)
		}
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return fmt.Errorf("%s, which has this command, is not installed beside it: %w", name, err)
	}
	return run(path)
}

func run(path string) error {
	return fmt.Errorf("%s: %w", path, syscall.Exec(path, os.Args, os.Environ()))
}
