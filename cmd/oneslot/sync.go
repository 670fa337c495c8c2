// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"

	"oneslot.dev/oneslot/config"
	"oneslot.dev/oneslot/engine"
	"oneslot.dev/oneslot/group"
	"oneslot.dev/oneslot/pkcs11"
)

type syncCommand struct {
	Group   string `arg:"" optional:"" help:"Name of a group. Default: every group." placeholder:"GROUP"`
	DryRun  bool   `help:"Say what is where and what would be done, and do nothing."`
	Prove   bool   `help:"Use keys that are on several members, to show that their copies are the same: sign on one, verify on another."`
	PinFrom string `help:"Where the user PIN comes from: prompt, env:NAME or a file." default:"prompt" placeholder:"SOURCE"`
	JSON    bool   `help:"Print JSON." name:"json"`
	Config  string `help:"Configuration file." placeholder:"FILE"`
}

// Help explains what it is for.
func (*syncCommand) Help() string {
	return "Applications sync by themselves. This does the same without one, and shows for each key where it is, what differs, and what cannot be copied and why. With --dry-run it changes nothing and prints the plan."
}

// Run looks, acts, and looks again. The exit code is 1 if members are not equal
// in the end, or would not be.
func (c *syncCommand) Run(ctx context.Context, d *desk) error {
	cfg, _, err := load(c.Config)
	if err != nil {
		return err
	}
	groups := cfg.Groups
	if c.Group != "" {
		g, err := groupIn(cfg, c.Group)
		if err != nil {
			return err
		}
		groups = []config.Group{*g}
	}
	pin, err := d.readPIN(c.PinFrom, "user PIN")
	if err != nil {
		return err
	}
	defer pin.Wipe()
	e := newEngine(d, cfg, slog.New(slog.NewTextHandler(io.Discard, nil)))
	var surveys []group.Survey
	good := true
	for i := range groups {
		survey := e.Look(ctx, &groups[i], pin, c.Prove && c.DryRun)
		if !c.DryRun && !refused(survey) {
			if err := c.act(ctx, d, e, &groups[i], pin); err != nil {
				return err
			}
			survey = e.Look(ctx, &groups[i], pin, c.Prove)
		}
		surveys = append(surveys, survey)
		good = good && equal(survey)
		if !c.JSON {
			printSurvey(d.out, survey)
		}
	}
	if c.JSON {
		err = writeJSON(d, surveys)
	}
	if err == nil && !good {
		err = errWrong
	}
	return err
}

func (c *syncCommand) act(ctx context.Context, d *desk, e *engine.Engine, g *config.Group, pin pkcs11.PIN) error {
	var mu sync.Mutex // of what members tell at the same time
	rv, failed := e.Sync(ctx, g, pin, func(line string) {
		mu.Lock()
		defer mu.Unlock()
		d.note("%s", line)
	})
	if rv != pkcs11.CKR_OK {
		return fmt.Errorf("group %s: login: %w", g.Name, explain(rv, pinAdvice))
	}
	for _, name := range slices.Sorted(maps.Keys(failed)) {
		d.note("member %s: was not brought up to date: %v", name, failed[name])
	}
	return nil
}

// refused says whether no member could be looked at, or a PIN was wrong: then
// none is sent again.
func refused(v group.Survey) bool {
	for _, m := range v.Members {
		if strings.Contains(m.Error, "PIN") {
			return true
		}
	}
	return len(v.Members) == 0
}

// equal says whether the members hold the same.
func equal(v group.Survey) bool {
	for _, m := range v.Members {
		if m.Error != "" {
			return false
		}
	}
	for _, o := range v.Objects {
		if len(o.CopyTo) > 0 || len(o.DestroyOn) > 0 || o.NotCopied != "" || len(o.Differ) > 0 ||
			o.Proof != nil && o.Proof.Verdict == group.Refuted {
			return false
		}
	}
	return true
}

func printSurvey(out io.Writer, v group.Survey) {
	fmt.Fprintf(out, "group %s\n", v.Group)
	for _, m := range v.Members {
		fmt.Fprintf(out, "  member %s\t%s\n", m.Name, firstText(m.Error, fmt.Sprintf("%d objects", m.Objects)))
	}
	for _, o := range v.Objects {
		where := []string{}
		for _, name := range slices.Sorted(maps.Keys(o.On)) {
			if o.On[name] > 1 {
				name = fmt.Sprintf("%s (%d copies)", name, o.On[name])
			}
			where = append(where, name)
		}
		fmt.Fprintf(out, "  %s\ton %s", o.What, strings.Join(where, ", "))
		if len(o.CopyTo) > 0 {
			fmt.Fprintf(out, "\tto copy to %s", strings.Join(o.CopyTo, ", "))
		}
		if len(o.DestroyOn) > 0 {
			fmt.Fprintf(out, "\tto destroy on %s", strings.Join(o.DestroyOn, ", "))
		}
		if o.NotCopied != "" {
			fmt.Fprintf(out, "\tstays there: %s", o.NotCopied)
		}
		fmt.Fprintln(out)
		for _, d := range o.Differ {
			var values []string
			for _, name := range slices.Sorted(maps.Keys(d.Values)) {
				values = append(values, d.Values[name]+" on "+name)
			}
			fmt.Fprintf(out, "    differs: %s is %s\n", d.Attribute, strings.Join(values, ", "))
		}
		if o.Proof != nil {
			fmt.Fprintf(out, "    %s: %s\n", o.Proof.Verdict, o.Proof.How)
		}
	}
	for _, r := range v.Records {
		fmt.Fprintf(out, "  journal: %s (%s)\twaits for %s\n", r.What, r.Time, firstText(strings.Join(r.Waiting, ", "), "nobody"))
	}
}
