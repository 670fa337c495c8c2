// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"oneslot.dev/oneslot/config"
	"oneslot.dev/oneslot/control"
)

// The commands on groups (rule O1). They edit the configuration file; running
// engines follow it. The names that a Luna administrator expects work too.
type groupCommand struct {
	List          groupList    `cmd:"" help:"Show the groups and their members."`
	Create        groupCreate  `cmd:"" aliases:"create-group" help:"Make a group of members that are defined."`
	Delete        groupDelete  `cmd:"" aliases:"delete-group" help:"Remove a group. Tokens and their keys stay as they are."`
	AddMember     groupAdd     `cmd:"" help:"Add a member. It gets every key before it serves."`
	RemoveMember  groupRemove  `cmd:"" help:"Remove a member. It finishes what it has."`
	AddStandby    groupStandby `cmd:"" help:"Make a member standby; add it if the group does not have it."`
	RemoveStandby groupActive  `cmd:"" help:"Make a standby member active."`
	Recover       groupRecover `cmd:"" help:"Have running engines try failed and quarantined members now."`
	RecoveryMode  groupMode    `cmd:"" aliases:"auto-recovery" help:"Set who takes failed members back: auto or manual."`
	Retry         groupRetry   `cmd:"" help:"Set how often a failed member is tried: -1 for ever, 0 not at all."`
	Interval      groupPause   `cmd:"" help:"Set the time between two attempts, such as 60s."`
	GroupOnly     groupOnly    `cmd:"" aliases:"ha-only" help:"Show applications the groups alone, or their members too."`
	Forget        groupForget  `cmd:"" help:"Give up a token that left the group for good, with the records that wait for it."`
	Sync          syncCommand  `cmd:"" aliases:"synchronize" help:"Bring members to hold the same: oneslot sync."`
}

// familiar are names of Luna's tools (lunacm's hagroup, vtl's haAdmin) for
// commands on groups, without capitals and hyphens.
var familiar = map[string]string{
	"list": "list", "listgroups": "list", "show": "list", "create": "create", "creategroup": "create", "newgroup": "create",
	"delete": "delete", "deletegroup": "delete", "addmember": "add-member", "removemember": "remove-member",
	"addstandby": "add-standby", "removestandby": "remove-standby", "recover": "recover", "recoverymode": "recovery-mode",
	"autorecovery": "recovery-mode", "retry": "retry", "interval": "interval", "haonly": "group-only", "grouponly": "group-only",
	"sync": "sync", "synchronize": "sync",
}

// ours puts our names in the place of familiar ones, however they are written.
func ours(args []string) []string {
	if len(args) < 2 {
		return args
	}
	plain := func(name string) string { return strings.ReplaceAll(strings.ToLower(name), "-", "") }
	if first := plain(args[0]); first != "group" && first != "hagroup" && first != "haadmin" {
		return args
	}
	args = slices.Clone(args)
	args[0] = "group"
	if known, ok := familiar[plain(args[1])]; ok {
		args[1] = known
	}
	return args
}

// An edited is what every command has that edits the file.
type edited struct {
	Config string `help:"Configuration file." placeholder:"FILE"`
}

// edit changes the file in one step, if what comes out is right. Comments stay.
func (c *edited) edit(d *desk, change func(cfg *config.Config, e *config.Editor) error) error {
	cfg, path, err := load(c.Config)
	if err != nil {
		return err
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	e := config.Edit(text)
	if err := change(cfg, e); err != nil {
		return err
	}
	fresh, err := config.Parse(path, e.Text())
	if err != nil {
		return fmt.Errorf("%s: not changed, since the result would be wrong: %w", path, err)
	}
	changes := config.Changes(cfg, fresh)
	if len(changes) == 0 {
		d.note("%s: says so already", path)
		return nil
	}
	if err := replaceFile(path, e.Text()); err != nil {
		return err
	}
	for _, line := range changes {
		fmt.Fprintln(d.out, line)
	}
	return nil
}

// groupIn refuses the name of a group that there is not.
func groupIn(cfg *config.Config, name string) (*config.Group, error) {
	g := cfg.Group(name)
	if g == nil {
		var names []string
		for _, other := range cfg.Groups {
			names = append(names, other.Name)
		}
		return nil, fmt.Errorf("group %q: is not defined: there is %s", name, firstText(strings.Join(names, ", "), "none"))
	}
	return g, nil
}

// set gives an option of a group a value.
func (c *edited) set(d *desk, group, key, value string) error {
	return c.edit(d, func(cfg *config.Config, e *config.Editor) error {
		if _, err := groupIn(cfg, group); err != nil {
			return err
		}
		return e.Set(group, key, value)
	})
}

type groupList struct {
	edited
	JSON bool `help:"Print JSON." name:"json"`
}

type listedGroup struct {
	Name             string   `json:"name"`
	Label            string   `json:"label"`
	Serial           string   `json:"serial"`
	Slot             uint64   `json:"slot"`
	Members          []string `json:"members"`
	Standby          []string `json:"standby"`
	MinCopies        int      `json:"min_copies"`
	Recovery         string   `json:"recovery"`
	RecoveryInterval string   `json:"recovery_interval"`
	RecoveryAttempts int      `json:"recovery_attempts"`
}

func (c *groupList) Run(d *desk) error {
	cfg, _, err := load(c.Config)
	if err != nil {
		return err
	}
	var list []listedGroup
	for _, g := range cfg.Groups {
		list = append(list, listedGroup{g.Name, g.Label, g.Serial(), g.Slot(), g.Members, append([]string{}, g.Standby...), g.MinCopies,
			string(g.Recovery), g.RecoveryInterval.String(), g.RecoveryAttempts})
	}
	if c.JSON {
		return writeJSON(d, list)
	}
	for _, g := range list {
		names := make([]string, len(g.Members))
		for i, m := range g.Members {
			names[i] = m
			for _, s := range g.Standby {
				if s == m {
					names[i] += " (standby)"
				}
			}
		}
		fmt.Fprintf(d.out, "%s\tslot %d\tlabel %q\tserial %s\t%s\trecovery %s, every %s, attempts %d\n", g.Name, g.Slot, g.Label, g.Serial,
			strings.Join(names, ", "), g.Recovery, g.RecoveryInterval, g.RecoveryAttempts)
	}
	return nil
}

type groupRecover struct {
	edited
}

// Run gives the order to every engine. None that runs is no error: there is
// nothing to recover.
func (c *groupRecover) Run(ctx context.Context, d *desk) error {
	status := statusCommand{Config: c.Config}
	dir, err := status.folder(d)
	if err != nil {
		return err
	}
	told, err := control.Tell(ctx, dir, "recover")
	for _, pid := range told {
		fmt.Fprintf(d.out, "engine %d tries its failed members\n", pid)
	}
	if err == nil && len(told) == 0 {
		d.note("no engine runs")
	}
	return err
}
