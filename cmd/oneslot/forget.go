// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"
)

type groupForget struct {
	edited
	Group   string `arg:"" placeholder:"GROUP"`
	Serial  string `arg:"" help:"Serial number of the token, as oneslot sync and the log show it." placeholder:"SERIAL"`
	Yes     bool   `help:"Do it. Without this it only says how many records wait for the token."`
	Trust   bool   `help:"Take a forgotten token back with what it holds. Keys that were destroyed meanwhile come back with it."`
	PinFrom string `help:"Where the user PIN comes from: prompt, env:NAME or a file." default:"prompt" placeholder:"SOURCE"`
	JSON    bool   `help:"Print JSON." name:"json"`
}

// Help explains what it is for.
func (*groupForget) Help() string {
	return "What is destroyed or changed while a token is no member is recorded for it, so that it brings nothing back. For one that is gone for good that can end: its records go, and should it return after all it is quarantined until it is initialised anew."
}

// Run counts, and with --yes gives the order. Running engines follow it the next
// time they look into the journal.
func (c *groupForget) Run(ctx context.Context, d *desk) error {
	cfg, _, err := load(c.Config)
	if err != nil {
		return err
	}
	g, err := groupIn(cfg, c.Group)
	if err != nil {
		return err
	}
	pin, err := d.readPIN(c.PinFrom, "user PIN")
	if err != nil {
		return err
	}
	defer pin.Wipe()
	e := newEngine(d, cfg, slog.New(slog.NewTextHandler(io.Discard, nil)))
	f, err := e.Forget(ctx, g, pin, c.Serial, c.Trust, !c.Yes)
	if err != nil {
		return fmt.Errorf("group %s: %w", c.Group, err)
	}
	if c.JSON {
		return writeJSON(d, []any{f})
	}
	for _, missed := range f.Missed {
		d.note("not told: %s", missed)
	}
	what := "forgotten"
	if c.Trust {
		what = "trusted again"
	}
	if !c.Yes {
		d.note("nothing done: --yes does it")
		what = "would be " + what
	}
	fmt.Fprintf(d.out, "token %s\t%s\t%d records wait for it\t%s\n", f.Serial, what, f.Records, strings.Join(f.Members, ", "))
	return nil
}
