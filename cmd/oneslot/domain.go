// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"oneslot.dev/oneslot/config"
)

type domainCommand struct {
	Create domainCreate `cmd:"" help:"Make the secret of a new domain."`
	Join   domainJoin   `cmd:"" help:"Make tokens members of a domain."`
	Show   domainShow   `cmd:"" help:"Show the domain of every member."`
}

type domainCreate struct {
	Out string `help:"New file for the secret, readable by you alone." required:"" placeholder:"FILE"`
}

const secretHead = `# The secret of a oneslot domain. Whoever has it can read every key that is
# copied within the domain. Keep it offline; it is needed again only when a
# token is added or replaced. Without it no token can join this domain.
`

// Run writes the secret to a new file. It never overwrites one: that secret
// might be the only copy.
func (c *domainCreate) Run(d *desk) error {
	secret := newSecret()
	defer secret.Wipe()
	if err := writeSecret(c.Out, secretHead, printable(secret)); err != nil {
		return err
	}
	d.note("%s holds the secret of the new domain: keep it as safe as the keys, and offline", c.Out)
	return nil
}

func writeSecret(path, head string, text []byte) error {
	defer clear(text)
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("domain secret: %s is already there: take another name; a secret is never overwritten", path)
	}
	if err != nil {
		return fmt.Errorf("domain secret: not written: %w", err)
	}
	_, err = f.WriteString(head)
	if err == nil {
		_, err = f.Write(append(text, '\n'))
	}
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("domain secret: not written: %w", err)
	}
	return nil
}

type domainJoin struct {
	Members    []string `arg:"" help:"Names of members in the configuration." placeholder:"MEMBER"`
	SecretFile string   `help:"File that oneslot domain create wrote." required:"" placeholder:"FILE"`
	SoPinFrom  string   `help:"Where the security officer's PIN comes from: prompt, env:NAME or a file." default:"prompt" placeholder:"SOURCE"`
	PinFrom    string   `help:"Where the user PIN comes from: prompt, env:NAME or a file." default:"prompt" placeholder:"SOURCE"`
	Config     string   `help:"Configuration file." placeholder:"FILE"`
}

// Run joins one member after the other and stops at the first that refuses: a
// PIN that was wrong once is not tried on the others.
func (c *domainJoin) Run(ctx context.Context, d *desk) error {
	cfg, path, err := load(c.Config)
	if err != nil {
		return err
	}
	var members []*config.Member
	for _, name := range c.Members {
		m := cfg.Member(name)
		if m == nil {
			return fmt.Errorf("member %q: is not defined in %s: it has %s", name, path, strings.Join(memberNames(cfg), ", "))
		}
		members = append(members, m)
	}
	secret, err := readSecretFile(c.SecretFile)
	if err != nil {
		return err
	}
	defer secret.Wipe()
	soPIN, err := d.readPIN(c.SoPinFrom, "security officer's PIN")
	if err != nil {
		return err
	}
	defer soPIN.Wipe()
	pin, err := d.readPIN(c.PinFrom, "user PIN")
	if err != nil {
		return err
	}
	defer pin.Wipe()
	for _, m := range members {
		id, err := d.joinDomain(ctx, cfg, m, soPIN, pin, secret)
		if err != nil {
			return err
		}
		fmt.Fprintf(d.out, "%s\t%s\n", m.Name, domainText(id))
	}
	return nil
}

type domainShow struct {
	Config string `help:"Configuration file." placeholder:"FILE"`
	JSON   bool   `help:"Print JSON." name:"json"`
}

type memberDomain struct {
	Member string `json:"member"`
	Domain string `json:"domain"`           // empty: none
	Method string `json:"method,omitempty"` // how keys are copied: cloning or key export (rule K7)
	Error  string `json:"error,omitempty"`
}

func (c *domainShow) Run(ctx context.Context, d *desk) error {
	cfg, _, err := load(c.Config)
	if err != nil {
		return err
	}
	var rows []memberDomain
	failed := false
	for i, answer := range d.describeAll(ctx, cfg) {
		row := memberDomain{Member: cfg.Members[i].Name}
		if answer.err != nil {
			row.Error, failed = answer.err.Error(), true
		} else if len(answer.token.Domain) > 0 {
			row.Domain, row.Method = domainText(answer.token.Domain), "cloning"
			if !answer.token.Cloning {
				row.Method = "key export"
			}
		}
		rows = append(rows, row)
	}
	if c.JSON {
		err = writeJSON(d, rows)
	} else {
		for _, r := range rows {
			line := firstText(r.Error, r.Domain, "none")
			if r.Method != "" {
				line += "\t" + r.Method
			}
			fmt.Fprintf(d.out, "%s\t%s\n", r.Member, line)
		}
	}
	if err == nil && failed {
		err = errWrong
	}
	return err
}

// domainText is as much of the identifier as is needed to compare two.
func domainText(id []byte) string {
	if len(id) == 0 {
		return "none"
	}
	return fmt.Sprintf("%x", id[:min(len(id), 8)])
}

func memberNames(cfg *config.Config) []string {
	var names []string
	for _, m := range cfg.Members {
		names = append(names, m.Name)
	}
	return names
}

// firstText returns the first text that is not empty.
func firstText(texts ...string) string {
	for _, t := range texts {
		if t != "" {
			return t
		}
	}
	return ""
}
