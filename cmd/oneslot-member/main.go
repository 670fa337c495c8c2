// SPDX-License-Identifier: Apache-2.0

// Command oneslot-member is a small program with one vendor module in it: the
// child of an engine for one application and one token. A vendor module that
// hangs, crashes or leaks takes nothing else with it.
package main

import "github.com/alecthomas/kong"

var commands struct {
	Child child `cmd:"" hidden:"" help:"Serve a token on a socket that the parent left open."`
}

func main() {
	run := kong.Parse(&commands, kong.Name("oneslot-member"),
		kong.Description("One HSM of a group: a vendor's PKCS#11 module in a process of its own."))
	run.FatalIfErrorf(run.Run())
}
