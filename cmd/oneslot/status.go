// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"golang.org/x/term"

	"oneslot.dev/oneslot/config"
	"oneslot.dev/oneslot/control"
	"oneslot.dev/oneslot/tui"
)

type statusCommand struct {
	Config string `help:"Configuration file." placeholder:"FILE"`
	JSON   bool   `help:"Print JSON." name:"json"`
}

// Run shows what the engines say. An engine that does not answer makes the
// exit code 1; a member that is down does not, `oneslot status` did its work.
func (c *statusCommand) Run(ctx context.Context, d *desk) error {
	dir, err := c.folder(d)
	if err != nil {
		return err
	}
	statuses, err := control.Engines(ctx, dir)
	if err != nil {
		return err
	}
	if c.JSON {
		err = writeJSON(d, statuses)
	} else {
		_, err = fmt.Fprint(d.out, tui.Text(statuses, width(d)))
	}
	if err != nil {
		return err
	}
	for _, s := range statuses {
		if s.Unreachable != "" {
			return errWrong
		}
	}
	return nil
}

// folder is where the engines' sockets are. Without any configuration engines
// can still run, started with one that is gone; and with a broken one those that
// have refused it.
func (c *statusCommand) folder(d *desk) (string, error) {
	cfg, path, err := load(c.Config)
	var missing *config.NotFound
	var broken config.Problems
	switch {
	case errors.As(err, &missing), err == nil:
		return cfg.Runtime(), nil
	case errors.As(err, &broken):
		d.note("the configuration is broken, see oneslot check: %v", err)
		return config.Salvage(path).Runtime(), nil
	}
	return "", err
}

// width is the terminal's, or 0 if the answer goes elsewhere.
func width(d *desk) int {
	if f, ok := d.out.(*os.File); ok {
		if w, _, err := term.GetSize(int(f.Fd())); err == nil {
			return w
		}
	}
	return 0
}

// writeJSON prints lists that are empty as [], which programs expect.
func writeJSON[T any](d *desk, list []T) error {
	if list == nil {
		list = []T{}
	}
	e := json.NewEncoder(d.out)
	e.SetIndent("", "  ")
	return e.Encode(list)
}
