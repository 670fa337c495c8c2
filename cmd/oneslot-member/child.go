// SPDX-License-Identifier: Apache-2.0

package main

import (
	"flag"
	"io"
	"log/slog"
	"os"

	"oneslot.dev/oneslot/host"
	"oneslot.dev/oneslot/wire"
)

// child serves one engine and ends with it.
type child struct {
	FD     int    // descriptor of the socket to the engine
	Module string // path of the vendor's module
	Token  string // label of the token
	Serial string // its serial number
	Init   string // text for the module's C_Initialize
}

// engineChild recognises the command line that an engine starts a member process
// with. Any other is for the appliance's program.
func engineChild(args []string) *child {
	if len(args) == 0 || args[0] != "child" {
		return nil
	}
	c := &child{}
	flags := flag.NewFlagSet("child", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.IntVar(&c.FD, "fd", 3, "")
	flags.StringVar(&c.Module, "module", "", "")
	flags.StringVar(&c.Token, "token", "", "")
	flags.StringVar(&c.Serial, "serial", "", "")
	flags.StringVar(&c.Init, "init", "", "")
	if flags.Parse(args[1:]) != nil || flags.NArg() > 0 || c.Module == "" {
		return nil
	}
	return c
}

// Run serves until the engine closes the connection, or is gone.
func (c *child) Run() error {
	if err := host.Seal(); err != nil {
		return err
	}
	conn, err := host.Inherited(c.FD)
	if err != nil {
		return err
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	token := host.New(host.Config{Module: c.Module, Label: c.Token, Serial: c.Serial, Init: c.Init, Log: log})
	return wire.ServeSockets(conn, token)
}
