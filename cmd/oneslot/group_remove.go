// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"

	"oneslot.dev/oneslot/config"
	"oneslot.dev/oneslot/group"
)

type groupRemove struct {
	memberOf
	PinFrom string `help:"Look first, with the user PIN from here, whether the member holds what no other one does: prompt, env:NAME or a file." placeholder:"SOURCE"`
	Force   bool   `help:"Remove it also if it does, or if that cannot be told."`
}

// Help explains what is looked at.
func (*groupRemove) Help() string {
	return "Keys that are on this member alone are out of reach when it has left the group. They stay on its token, and are there again when it is added again. Seeing private keys takes the user PIN, so without --pin-from they are not looked for."
}

// Run removes the member, unless it is seen to hold what no other one does.
func (c *groupRemove) Run(ctx context.Context, d *desk) error {
	cfg, _, err := load(c.Config)
	if err != nil {
		return err
	}
	g, err := groupIn(cfg, c.Group)
	if err != nil {
		return err
	}
	switch {
	case c.Force || len(g.Members) < 2 || !slices.Contains(g.Members, c.Member): // what is wrong with that is said below
	case c.PinFrom == "":
		d.note("it was not looked whether member %s holds keys that no other one does, which leave the group with it: oneslot sync --dry-run shows them, --pin-from looks first", c.Member)
	default:
		if err := c.look(ctx, d, cfg, g); err != nil {
			return err
		}
	}
	return c.with(d, func(_ *config.Group, has bool, e *config.Editor) error {
		if !has {
			return c.missing()
		}
		return errors.Join(e.RemoveFrom(c.Group, "members", c.Member), e.RemoveFrom(c.Group, "standby", c.Member))
	})
}

// look is an error if the member holds what no other one does, or that cannot be told.
func (c *groupRemove) look(ctx context.Context, d *desk, cfg *config.Config, g *config.Group) error {
	pin, err := d.readPIN(c.PinFrom, "user PIN")
	if err != nil {
		return err
	}
	defer pin.Wipe()
	e := newEngine(d, cfg, slog.New(slog.NewTextHandler(io.Discard, nil)))
	return mayLeave(e.Look(ctx, g, pin, false), c.Member)
}

// mostTold is how many objects are told one by one.
const mostTold = 10

// mayLeave says of a survey why a member should not leave the group, nil if nothing is
// known against it. Another one that was not looked at has nothing, as far as is known.
func mayLeave(v group.Survey, leaving string) error {
	var blind []string
	for _, m := range v.Members {
		switch {
		case m.Error == "":
		case m.Name == leaving:
			return fmt.Errorf("member %s: not removed, since it cannot be told what it holds: %s: --force removes it all the same", leaving, m.Error)
		default:
			blind = append(blind, m.Name)
		}
	}
	only := v.Only(leaving)
	if len(only) == 0 {
		return nil
	}
	var told strings.Builder
	for i, o := range only {
		if i == mostTold {
			fmt.Fprintf(&told, "\n  and %d more", len(only)-i)
			break
		}
		fmt.Fprintf(&told, "\n  %s", o.What)
		if o.NotCopied != "" {
			fmt.Fprintf(&told, ", which stays there: %s", o.NotCopied)
		}
	}
	if blind != nil {
		fmt.Fprintf(&told, "\nnot looked at: %s", strings.Join(blind, ", "))
	}
	return fmt.Errorf("member %s: not removed, since it holds %d objects that no other member does: oneslot sync copies those that can be; --force removes it all the same, and they stay on its token:%s", leaving, len(only), told.String())
}
