// SPDX-License-Identifier: Apache-2.0

// Command oneslot-appliance makes a network HSM of tokens. Users call it as
// oneslot-member, which becomes this program for all that is not a local member:
// the listener, its child for one client, and the tools around them.
package main

import (
	"fmt"
	"os"
	"slices"

	"github.com/alecthomas/kong"

	"oneslot.dev/oneslot/host"
)

// The commands. Each stands in the file of its name.
var commands struct {
	Listen listen `cmd:"" help:"Make a network HSM of tokens: serve registered clients over mutual TLS."`
	Client client `cmd:"" help:"The register of clients: add, list, remove, show."`
	Cert   cert   `cmd:"" help:"The appliance's certificate."`
	Drain  drain  `cmd:"" help:"End a listener when its clients have taken their work elsewhere."`

	Connection connection `cmd:"" hidden:"" help:"Serve a client on a connection that the listener accepted."`
}

func main() {
	host.ShareProcessors()
	// A client waits for this one, so the commands for people are not built.
	if slices.Equal(os.Args[1:], connectionCommand) {
		if err := commands.Connection.Run(); err != nil {
			fmt.Fprintf(os.Stderr, "oneslot-member: error: %v\n", err)
			os.Exit(1)
		}
		return
	}
	run := kong.Parse(&commands, kong.Name("oneslot-member"),
		kong.Description("One HSM of a group: a vendor's PKCS#11 module in a process of its own."),
		kong.Vars{"config": defaultConfig})
	run.FatalIfErrorf(run.Run())
}
