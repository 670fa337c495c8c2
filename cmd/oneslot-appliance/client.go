// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"oneslot.dev/oneslot/certificate"
	"oneslot.dev/oneslot/host/appliance"
)

// client is the register: who may use the tokens. Changes count at once, for
// connections that last too.
type client struct {
	Add    clientAdd    `cmd:"" help:"Register a client, or grant one more."`
	List   clientList   `cmd:"" help:"Show the clients."`
	Remove clientRemove `cmd:"" help:"Take a client, or a grant, or a certificate away."`
	Show   clientShow   `cmd:"" help:"Show one client."`
}

// where is how the commands find the register.
type where struct {
	Config string `default:"${config}" help:"Configuration of the appliance." placeholder:"FILE"`
}

func (w *where) load() (*appliance.Config, appliance.Register, error) {
	config, err := appliance.LoadConfig(w.Config)
	if err != nil {
		return nil, "", err
	}
	return config, appliance.Register(config.Register), nil
}

type clientAdd struct {
	where
	Name            string   `arg:"" help:"What the appliance calls the client." placeholder:"NAME"`
	Certificate     string   `help:"The client's certificate, as PEM. Compare the fingerprint that is printed." placeholder:"FILE" xor:"known"`
	Fingerprint     string   `help:"Its fingerprint, as read out by the client's operator." placeholder:"SHA256" xor:"known"`
	CAName          string   `name:"ca-name" help:"The name in its certificate, which an authority of client_ca issued." placeholder:"NAME" xor:"known"`
	Also            bool     `help:"The client keeps the certificates it has, and gets this one too."`
	Token           []string `help:"Name of a token that is granted; may be given several times." placeholder:"TOKEN"`
	ReadOnly        bool     `help:"Nothing on these tokens may be made, changed or destroyed."`
	NoKeyManagement bool     `help:"Keys on these tokens may be used, not made, wrapped, changed or destroyed."`
	Officer         bool     `help:"The security officer may log in, PINs may be set, the token may join a domain."`
}

// Run registers the client.
func (c *clientAdd) Run() error {
	config, register, err := c.load()
	if err != nil {
		return err
	}
	for _, name := range c.Token {
		if !slices.ContainsFunc(config.Tokens, func(t appliance.Token) bool { return t.Name == name }) {
			return fmt.Errorf("client %s: the appliance offers no token %q", c.Name, name)
		}
	}
	known, err := c.known()
	if err != nil {
		return err
	}
	if c.CAName != "" && config.ClientCA == "" {
		return fmt.Errorf("client %s: --ca-name: the configuration names no client_ca", c.Name)
	}
	var result *appliance.Client
	err = register.Change(c.Name, func(before *appliance.Client) (*appliance.Client, error) {
		if known != nil { // under the lock: two may be registering it at once
			owner, err := register.Owner(known.Fingerprint)
			if err != nil {
				return nil, err
			}
			if owner != nil && owner.Name != c.Name {
				return nil, fmt.Errorf("client %s: this certificate is the one of client %s already", c.Name, owner.Name)
			}
		}
		result, err = c.changed(before, known)
		return result, err
	})
	if err != nil {
		return err
	}
	return showClient(result)
}

func (c *clientAdd) known() (*appliance.Certificate, error) {
	switch {
	case c.Certificate != "":
		cert, err := certificate.Read(c.Certificate)
		if err != nil {
			return nil, err
		}
		if err := certificate.Valid(cert, time.Now()); err != nil {
			return nil, fmt.Errorf("client %s: %w", c.Name, err)
		}
		return &appliance.Certificate{Fingerprint: certificate.Of(cert), Expires: cert.NotAfter.UTC()}, nil
	case c.Fingerprint != "":
		f, err := certificate.Parse(c.Fingerprint)
		return &appliance.Certificate{Fingerprint: f}, err
	}
	return nil, nil
}

// changed is the client's entry with what this command adds.
func (c *clientAdd) changed(before *appliance.Client, known *appliance.Certificate) (*appliance.Client, error) {
	after := before
	if before == nil {
		after = &appliance.Client{Name: c.Name, Added: time.Now().UTC().Truncate(time.Second)}
		if known == nil && c.CAName == "" {
			return nil, fmt.Errorf("client %s: by what is it known? name its --certificate, --fingerprint or --ca-name", c.Name)
		}
		if len(c.Token) == 0 {
			return nil, fmt.Errorf("client %s: nothing is granted: name a --token", c.Name)
		}
	}
	at := slices.IndexFunc(after.Certificates, func(k appliance.Certificate) bool { return known != nil && k.Fingerprint == known.Fingerprint })
	switch {
	case known == nil:
	case at >= 0:
		if !known.Expires.IsZero() { // the file may follow the fingerprint
			after.Certificates[at] = *known
		}
	case len(after.Certificates) == 0, c.Also:
		after.Certificates = append(after.Certificates, *known)
	default:
		return nil, fmt.Errorf("client %s: is registered with another certificate: add --also to let it use both for a while, or remove the client first", c.Name)
	}
	if c.CAName != "" {
		after.CAName = c.CAName
	}
	for _, token := range c.Token {
		after.Grants = slices.DeleteFunc(after.Grants, func(g appliance.Grant) bool { return g.Token == token })
		after.Grants = append(after.Grants, appliance.Grant{Token: token, ReadOnly: c.ReadOnly, NoKeyManagement: c.NoKeyManagement, Officer: c.Officer})
	}
	return after, nil
}

type clientRemove struct {
	where
	Name        string   `arg:"" help:"Name of the client." placeholder:"NAME"`
	Token       []string `help:"Take only this grant away." placeholder:"TOKEN"`
	Fingerprint []string `help:"Take only this certificate away." placeholder:"SHA256"`
}

// Run removes what was named. Connections that rest on it end within a minute,
// or at once when the listener gets SIGHUP.
func (c *clientRemove) Run() error {
	_, register, err := c.load()
	if err != nil {
		return err
	}
	return register.Change(c.Name, func(before *appliance.Client) (*appliance.Client, error) {
		if before == nil {
			return nil, fmt.Errorf("client %s: is not registered", c.Name)
		}
		if len(c.Token)+len(c.Fingerprint) == 0 {
			return nil, nil
		}
		for _, token := range c.Token {
			n := len(before.Grants)
			before.Grants = slices.DeleteFunc(before.Grants, func(g appliance.Grant) bool { return g.Token == token })
			if len(before.Grants) == n {
				return nil, fmt.Errorf("client %s: is not granted a token %q", c.Name, token)
			}
		}
		for _, text := range c.Fingerprint {
			f, err := certificate.Parse(text)
			if err != nil {
				return nil, err
			}
			n := len(before.Certificates)
			before.Certificates = slices.DeleteFunc(before.Certificates, func(k appliance.Certificate) bool { return k.Fingerprint == f })
			if len(before.Certificates) == n {
				return nil, fmt.Errorf("client %s: has no certificate %s", c.Name, f)
			}
		}
		return before, nil
	})
}

type clientList struct {
	where
	JSON bool `name:"json" help:"Print JSON."`
}

// Run lists the clients.
func (c *clientList) Run() error {
	_, register, err := c.load()
	if err != nil {
		return err
	}
	clients, err := register.Clients()
	if err != nil {
		return err
	}
	if c.JSON {
		return printJSON(clients)
	}
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "CLIENT\tEXPIRES\tTOKENS\tCERTIFICATE")
	for _, k := range clients {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", k.Name, expiry(k.Expires()), grants(k), knownBy(k))
	}
	return w.Flush()
}

type clientShow struct {
	where
	Name string `arg:"" help:"Name of the client." placeholder:"NAME"`
	JSON bool   `name:"json" help:"Print JSON."`
}

// Run shows the client.
func (c *clientShow) Run() error {
	_, register, err := c.load()
	if err != nil {
		return err
	}
	k, err := register.Client(c.Name)
	switch {
	case err != nil:
		return err
	case k == nil:
		return fmt.Errorf("client %s: is not registered", c.Name)
	case c.JSON:
		return printJSON(k)
	}
	return showClient(k)
}

func showClient(k *appliance.Client) error {
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "client\t%s\n", k.Name)
	for _, cert := range k.Certificates {
		fmt.Fprintf(w, "certificate\t%s\n\texpires %s\n", cert.Fingerprint, expiry(cert.Expires))
	}
	if k.CAName != "" {
		fmt.Fprintf(w, "certificate\tof the authority, for %q\n", k.CAName)
	}
	for _, g := range k.Grants {
		fmt.Fprintf(w, "token\t%s\n", g)
	}
	fmt.Fprintf(w, "added\t%s\n", k.Added.Format(time.DateOnly))
	return w.Flush()
}

func expiry(end time.Time) string {
	if end.IsZero() {
		return "not known"
	}
	if warning := certificate.Warning(end, time.Now()); warning != "" {
		return end.Format(time.DateOnly) + " (" + warning + ")"
	}
	return end.Format(time.DateOnly)
}

func grants(k *appliance.Client) string {
	var list []string
	for _, g := range k.Grants {
		list = append(list, g.String())
	}
	return strings.Join(list, ", ")
}

func knownBy(k *appliance.Client) string {
	var list []string
	for _, cert := range k.Certificates {
		list = append(list, cert.Fingerprint.Short()+"…")
	}
	if k.CAName != "" {
		list = append(list, "authority: "+k.CAName)
	}
	return strings.Join(list, ", ")
}

func printJSON(v any) error {
	e := json.NewEncoder(os.Stdout)
	e.SetIndent("", "  ")
	return errors.Join(e.Encode(v))
}
