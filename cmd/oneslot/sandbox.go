// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"
)

type sandboxCommand struct {
	Dir     string `arg:"" help:"Folder of the sandbox. Made if it is not there." placeholder:"DIR"`
	Members int    `help:"Number of tokens, 1 to 32 (default 3)."`
	Label   string `help:"Label of the tokens and of the group (default sandbox)."`
	Pin     string `help:"User PIN (default 1234)."`
	SoPin   string `help:"Security officer's PIN (default 12345678)."`
	Module  string `help:"SoftHSM's library (default: found)." placeholder:"FILE"`
	Network bool   `help:"Put each token on an appliance of its own, on loopback."`
	Stop    bool   `help:"Stop the appliances that --network started."`
	Reset   bool   `help:"Destroy the tokens that are there, with their keys, and start afresh."`
}

// Run makes the sandbox, unless it is there, and prints what an application
// needs for eval in a shell.
func (c *sandboxCommand) Run(ctx context.Context, d *desk) error {
	dir, err := filepath.Abs(c.Dir)
	if err != nil {
		return fmt.Errorf("sandbox: %w", err)
	}
	unlock, err := lockFolder(ctx, dir)
	if err != nil {
		return err
	}
	defer unlock()
	if c.Stop {
		return c.stop(ctx, dir)
	}
	box, err := c.prepare(ctx, d, dir)
	if err == nil {
		err = box.startAppliances(ctx, d, dir)
	}
	if err != nil {
		return err
	}
	return printSandbox(d, dir, box)
}

// prepare returns the sandbox that is there, or a new one.
func (c *sandboxCommand) prepare(ctx context.Context, d *desk, dir string) (*sandbox, error) {
	old, err := readMarker(dir)
	switch {
	case err != nil:
		return nil, err
	case old == nil:
		entries, err := os.ReadDir(dir)
		if err != nil {
			return nil, fmt.Errorf("sandbox: %w", err)
		}
		if len(entries) > 0 {
			return nil, fmt.Errorf("sandbox %s: the folder is not empty and no sandbox: take another folder", dir)
		}
	case c.Reset:
		d.note("sandbox %s: starting afresh", dir)
	case old.Complete:
		return old, c.matches(old, dir)
	default:
		d.note("sandbox %s: was left half made; making it anew", dir)
	}
	wanted, err := c.wanted(dir)
	if err == nil && old != nil && old.Network {
		err = old.stopAppliances(ctx, dir)
	}
	if err != nil {
		return nil, err
	}
	return wanted, wanted.build(ctx, d, dir)
}

// matches refuses options that the sandbox which is there does not have.
func (c *sandboxCommand) matches(old *sandbox, dir string) error {
	var other []string
	for _, o := range []struct {
		differs bool
		name    string
	}{
		{c.Members != 0 && c.Members != old.Members, "--members"},
		{c.Label != "" && c.Label != old.Label, "--label"},
		{c.Pin != "" && c.Pin != old.PIN, "--pin"},
		{c.SoPin != "" && c.SoPin != old.SOPIN, "--so-pin"},
		{c.Module != "" && c.Module != old.Module, "--module"},
		{c.Network && !old.Network, "--network"},
	} {
		if o.differs {
			other = append(other, o.name)
		}
	}
	if len(other) > 0 {
		return fmt.Errorf("sandbox %s: was made with another value of %s: leave it out, or add --reset, which destroys the keys", dir, strings.Join(other, " and "))
	}
	return nil
}

// wanted is the sandbox that the options describe, all of them checked before
// anything is made.
func (c *sandboxCommand) wanted(dir string) (*sandbox, error) {
	box := &sandbox{
		Members: c.Members,
		Label:   firstText(c.Label, "sandbox"),
		PIN:     firstText(c.Pin, "1234"),
		SOPIN:   firstText(c.SoPin, "12345678"),
		Module:  c.Module,
		Network: c.Network,
	}
	if box.Members == 0 {
		box.Members = 3
	}
	switch {
	case box.Members < 1 || box.Members > 32:
		return nil, fmt.Errorf("sandbox: --members %d: a group has 1 to 32 members", box.Members)
	case len(box.Label) > 32 || !printableLine(box.Label) || strings.TrimSpace(box.Label) != box.Label:
		return nil, fmt.Errorf("sandbox: --label %q: a label has at most 32 bytes, no control characters, and no blank at its ends", box.Label)
	case !pinFits(box.PIN):
		return nil, errors.New("sandbox: --pin: SoftHSM takes 4 to 255 printable characters")
	case !pinFits(box.SOPIN):
		return nil, errors.New("sandbox: --so-pin: SoftHSM takes 4 to 255 printable characters")
	case !printableLine(dir):
		return nil, fmt.Errorf("sandbox %q: the path holds characters that a configuration cannot: take another folder", dir)
	case len(dir) > maxSandboxPath:
		return nil, fmt.Errorf("sandbox %s: the path is longer than %d bytes, too long for sockets in it: take a shorter one", dir, maxSandboxPath)
	}
	var err error
	box.Module, err = findSoftHSM(box.Module)
	return box, err
}

// maxSandboxPath leaves room for "/run/control-4194304.sock" in the 107 bytes
// that the name of a Unix socket may have.
const maxSandboxPath = 107 - len("/run/control-4194304.sock")

func pinFits(pin string) bool { return len(pin) >= 4 && len(pin) <= 255 && printableLine(pin) }

func printableLine(text string) bool {
	return utf8.ValidString(text) && !strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f })
}

// printSandbox writes what eval "$(oneslot sandbox DIR)" puts into a shell. The
// SOFTHSM2_CONF is the first member's, so that the bare token can be compared
// with the group.
func printSandbox(d *desk, dir string, box *sandbox) error {
	module, err := moduleFile()
	if err != nil {
		return err
	}
	if _, err := os.Stat(module); errors.Is(err, fs.ErrNotExist) {
		d.note("sandbox: %s is not there yet: applications need it", module)
	}
	for _, v := range [][2]string{
		{"MODULE", module},
		{"TOKEN", box.Label},
		{"PIN", box.PIN},
		{"SO_PIN", box.SOPIN},
		{"ONESLOT_CONF", configFile(dir)},
		{"SOFTHSM2_CONF", softhsmConf(dir, memberName(0))},
	} {
		if _, err := fmt.Fprintf(d.out, "export %s=%s\n", v[0], shellQuote(v[1])); err != nil {
			return err
		}
	}
	return nil
}

// moduleFile is the module that belongs to this program: the one beside it.
func moduleFile() (string, error) {
	program, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("sandbox: this program's own folder is not known: %w", err)
	}
	return filepath.Join(filepath.Dir(program), "oneslot-pkcs11.so"), nil
}

// shellQuote makes one word of any text for a POSIX shell.
func shellQuote(text string) string {
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}
