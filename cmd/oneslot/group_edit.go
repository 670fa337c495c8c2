// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"oneslot.dev/oneslot/config"
)

// replaceFile puts a new text in a file's place, in one step: whoever reads it
// sees the old one or the new one. A symbolic link stays one.
func replaceFile(path string, text []byte) error {
	path, err := filepath.EvalSymlinks(path)
	if err != nil {
		return err
	}
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	fresh, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return fmt.Errorf("%s: not changed: %w", path, err)
	}
	_, err = fresh.Write(text)
	if err = errors.Join(err, fresh.Chmod(info.Mode().Perm()), fresh.Sync(), fresh.Close()); err == nil {
		err = os.Rename(fresh.Name(), path)
	}
	if err != nil {
		os.Remove(fresh.Name())
		return fmt.Errorf("%s: not changed: %w", path, err)
	}
	return nil
}

type groupCreate struct {
	edited
	Group   string   `arg:"" help:"Name of the new group." placeholder:"GROUP"`
	Members []string `arg:"" help:"Names of members in the configuration, the primary first." placeholder:"MEMBER"`
	Label   string   `help:"Label of the virtual token. Default: the group's name."`
}

func (c *groupCreate) Run(d *desk) error {
	return c.edit(d, func(cfg *config.Config, e *config.Editor) error {
		if cfg.Group(c.Group) != nil {
			return fmt.Errorf("group %q: is there already", c.Group)
		}
		e.AddGroup(c.Group, c.Label, c.Members)
		return nil
	})
}

type groupDelete struct {
	edited
	Group string `arg:"" placeholder:"GROUP"`
}

func (c *groupDelete) Run(d *desk) error {
	return c.edit(d, func(cfg *config.Config, e *config.Editor) error {
		if _, err := groupIn(cfg, c.Group); err != nil {
			return err
		}
		return e.RemoveGroup(c.Group)
	})
}

// A memberOf names a group and one member.
type memberOf struct {
	edited
	Group  string `arg:"" placeholder:"GROUP"`
	Member string `arg:"" placeholder:"MEMBER"`
}

// with runs change on the group, and tells it whether it has the member.
func (c *memberOf) with(d *desk, change func(g *config.Group, has bool, e *config.Editor) error) error {
	return c.edit(d, func(cfg *config.Config, e *config.Editor) error {
		g, err := groupIn(cfg, c.Group)
		if err != nil {
			return err
		}
		return change(g, slices.Contains(g.Members, c.Member), e)
	})
}

func (c *memberOf) missing() error {
	return fmt.Errorf("group %q: has no member %q", c.Group, c.Member)
}

type groupAdd struct {
	memberOf
	Standby bool `help:"As a standby member."`
}

func (c *groupAdd) Run(d *desk) error {
	return c.with(d, func(_ *config.Group, has bool, e *config.Editor) error {
		if has {
			return nil
		}
		err := e.AddTo(c.Group, "members", c.Member)
		if err == nil && c.Standby {
			err = e.AddTo(c.Group, "standby", c.Member)
		}
		return err
	})
}

type groupStandby struct{ memberOf }

func (c *groupStandby) Run(d *desk) error {
	return c.with(d, func(g *config.Group, has bool, e *config.Editor) error {
		if g.IsStandby(c.Member) {
			return nil
		}
		if !has {
			if err := e.AddTo(c.Group, "members", c.Member); err != nil {
				return err
			}
		}
		return e.AddTo(c.Group, "standby", c.Member)
	})
}

type groupActive struct{ memberOf }

func (c *groupActive) Run(d *desk) error {
	return c.with(d, func(_ *config.Group, has bool, e *config.Editor) error {
		if !has {
			return c.missing()
		}
		return e.RemoveFrom(c.Group, "standby", c.Member)
	})
}

type groupMode struct {
	edited
	Group string `arg:"" placeholder:"GROUP"`
	Mode  string `arg:"" enum:"auto,manual" help:"auto or manual."`
}

func (c *groupMode) Run(d *desk) error {
	return c.set(d, c.Group, "recovery", strconv.Quote(c.Mode))
}

type groupRetry struct {
	edited
	Group    string `arg:"" placeholder:"GROUP"`
	Attempts string `arg:"" help:"A number, or -1 for ever (write -- before it)."`
}

// Run sets the attempts. 0, which means off to a Luna administrator, is manual
// recovery here.
func (c *groupRetry) Run(d *desk) error {
	n, err := strconv.Atoi(c.Attempts)
	if err != nil {
		return fmt.Errorf("attempts %q: is no number", c.Attempts)
	}
	if n == 0 {
		return c.set(d, c.Group, "recovery", `"manual"`)
	}
	return c.set(d, c.Group, "recovery_attempts", strconv.Itoa(n))
}

type groupPause struct {
	edited
	Group    string `arg:"" placeholder:"GROUP"`
	Interval string `arg:"" help:"With its unit, such as 60s; a bare number is seconds."`
}

func (c *groupPause) Run(d *desk) error {
	if _, err := strconv.Atoi(c.Interval); err == nil {
		c.Interval += "s"
	}
	return c.set(d, c.Group, "recovery_interval", strconv.Quote(c.Interval))
}

type groupOnly struct {
	edited
	Switch string `arg:"" enum:"on,off" help:"on or off."`
}

func (c *groupOnly) Run(d *desk) error {
	return c.edit(d, func(_ *config.Config, e *config.Editor) error {
		e.SetTop("group_only", strconv.FormatBool(c.Switch == "on"))
		return nil
	})
}
