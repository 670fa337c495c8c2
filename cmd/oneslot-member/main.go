// SPDX-License-Identifier: Apache-2.0

// Command oneslot-member is a small program with one vendor module in it: the
// child of an engine for one application and one token, or of a listener for one
// client of an appliance. A vendor module that hangs, crashes or leaks takes
// nothing else with it.
package main

import (
	"fmt"
	"os"
	"runtime"

	"github.com/alecthomas/kong"
)

// The commands. Each stands in the file of its name.
var commands struct {
	Listen listen `cmd:"" help:"Make a network HSM of tokens: serve registered clients over mutual TLS."`
	Client client `cmd:"" help:"The register of clients: add, list, remove, show."`
	Cert   cert   `cmd:"" help:"The appliance's certificate."`
	Drain  drain  `cmd:"" help:"End a listener when its clients have taken their work elsewhere."`

	Child      child      `cmd:"" hidden:"" help:"Serve a token on a socket that the parent left open."`
	Connection connection `cmd:"" hidden:"" help:"Serve a client on a connection that the listener accepted."`
}

func main() {
	shareProcessors()
	if c := engineChild(os.Args[1:]); c != nil {
		if err := c.Run(); err != nil {
			fmt.Fprintf(os.Stderr, "oneslot-member: %v\n", err)
			os.Exit(1)
		}
		return
	}
	run := kong.Parse(&commands, kong.Name("oneslot-member"),
		kong.Description("One HSM of a group: a vendor's PKCS#11 module in a process of its own."),
		kong.Vars{"config": defaultConfig})
	run.FatalIfErrorf(run.Run())
}

// shareProcessors keeps this process from looking for work on every processor of
// the machine: while it runs, so do the engine and other members, and what the
// vendor's module computes is not limited by it. $GOMAXPROCS overrides it.
func shareProcessors() {
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(max(1, runtime.NumCPU()/2))
	}
}
