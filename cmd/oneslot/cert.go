// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"oneslot.dev/oneslot/certificate"
)

// certCommand makes what shows an appliance who this client is.
type certCommand struct {
	New  certNewCommand  `cmd:"" help:"Make a key and a certificate for this client."`
	Show certShowCommand `cmd:"" help:"Print the fingerprint of a certificate."`
}

type certNewCommand struct {
	Name string `arg:"" optional:"" help:"Name of the client (default: this host's)." placeholder:"NAME"`
	Dir  string `help:"Folder of NAME.crt and NAME.key." default:"." placeholder:"DIR"`
	Days int    `help:"How long it is valid." default:"730"`
}

// Run makes the pair. The answer is the fingerprint, to be read out to the
// operator of each appliance.
func (c *certNewCommand) Run(d *desk) error {
	name := c.Name
	if name == "" {
		host, err := os.Hostname()
		if err != nil {
			return fmt.Errorf("cert: the name of this host is not known: name the client: %w", err)
		}
		name = host
	}
	switch {
	case !printableLine(name) || filepath.Base(name) != name || name == "." || name == "..":
		return fmt.Errorf("cert: the name %q cannot be used: it is the name of two files", name)
	case c.Days < 1:
		return fmt.Errorf("cert: --days %d: it must be more than 0", c.Days)
	}
	at := filepath.Join(c.Dir, name)
	made, err := certificate.WriteNew(certificate.Wish{Name: name, Valid: time.Duration(c.Days) * 24 * time.Hour}, at+".crt", at+".key")
	if err != nil {
		return fmt.Errorf("cert: %w", err)
	}
	d.note("%s.crt is valid until %s. On each appliance: oneslot-member client add %s --token … --certificate %s.crt, or --fingerprint as printed here",
		at, made.NotAfter.UTC().Format(time.DateOnly), name, name)
	_, err = fmt.Fprintln(d.out, certificate.Of(made))
	return err
}

type certShowCommand struct {
	File string `arg:"" help:"Certificate, as PEM." placeholder:"FILE"`
}

// Run prints the fingerprint, to compare it by telephone.
func (c *certShowCommand) Run(d *desk) error {
	read, err := certificate.Read(c.File)
	if err != nil {
		return fmt.Errorf("cert: %w", err)
	}
	_, err = fmt.Fprintln(d.out, certificate.Of(read))
	return err
}
