// SPDX-License-Identifier: Apache-2.0

package appliance

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/pelletier/go-toml/v2"
)

// Config is the configuration of an appliance. A relative path starts at the
// folder of the file; a Duration is written "10s", "1m".
type Config struct {
	// Listen is the address to listen on, "0.0.0.0:7411" say. It is not used
	// when systemd hands over the socket.
	Listen string `toml:"listen"`

	// Certificate and Key are PEM files. Clients pin the certificate, or its
	// name and authority. Both are read anew for each connection.
	Certificate string `toml:"certificate"`
	Key         string `toml:"key"`

	// Register is the folder of the registered clients, a file for each, and
	// of what the appliance remembers of wrong PINs. Nobody but the operator
	// may write there.
	Register string `toml:"register"`

	// ClientCA holds authorities, as PEM, for clients that are registered by
	// the name in their certificate instead of its fingerprint. CRL is a
	// list of their revoked certificates, PEM or DER; once it is named here,
	// nobody with such a certificate is let in without it.
	ClientCA string `toml:"client_ca"`
	CRL      string `toml:"crl"`

	// Log is the file of log and audit. Empty: standard error.
	Log string `toml:"log"`

	// User is who the process of a connection becomes before it loads the
	// vendor module, if the appliance was started by root.
	User string `toml:"user"`

	Tokens []Token `toml:"token"`
	Limits Limits  `toml:"limits"`
}

// A Token is a token that clients can be granted.
type Token struct {
	Name   string            `toml:"name"`   // what clients call it
	Module string            `toml:"module"` // path of the vendor's PKCS#11 library
	Label  string            `toml:"label"`  // one of label and serial is enough
	Serial string            `toml:"serial"`
	Init   string            `toml:"init"` // text for C_Initialize, as NSS needs it
	Env    map[string]string `toml:"env"`
}

// Limits keep one peer from harming others.
type Limits struct {
	HalfOpen           int      `toml:"half_open"`             // connections that are not admitted yet [64]
	HalfOpenPerAddress int      `toml:"half_open_per_address"` // … from one address [16]
	Connections        int      `toml:"connections"`           // that are admitted, in all [512]
	PerClient          int      `toml:"connections_per_client"`
	PerAddress         int      `toml:"connections_per_address"`
	Sessions           int      `toml:"sessions"`       // of one connection [1024]
	Calls              int      `toml:"calls"`          // of one connection inside the vendor module, and beside them so many sessions that begin or end and probes [64]
	Memory             int      `toml:"memory"`         // MiB of one connection, beside what the vendor module takes [512]
	Message            Duration `toml:"message"`        // from the first byte of a request to its last [2m]
	Handshake          Duration `toml:"handshake"`      // from accepting to admitting [10s]
	ConnectionAge      Duration `toml:"connection_age"` // after which a connection is drained; 0: never [0]
	Drain              Duration `toml:"drain"`          // how long running commands may take then [5m]

	// LoginTries wrong PINs of one client on one token, without a right one,
	// close the token to that client for LoginPause, and for twice as long
	// with each further one. Keep it below the token's own limit.
	LoginTries int      `toml:"login_tries"` // [3]
	LoginPause Duration `toml:"login_pause"` // [5m]

	// Audit is the interval in which equal calls are counted [10s]. Entries is
	// how many lines a second the connections of one client together may have
	// written into log and audit, and at once those of ten seconds; what is
	// beyond is counted [50].
	Audit   Duration `toml:"audit"`
	Entries int      `toml:"entries"`
}

// defaultLimits are what is not configured.
var defaultLimits = Limits{
	HalfOpen: 64, HalfOpenPerAddress: 16, Connections: 512, PerClient: 128, PerAddress: 256,
	Sessions: 1024, Calls: 64, Memory: 512, Message: Duration(2 * time.Minute), Handshake: Duration(10 * time.Second), Drain: Duration(5 * time.Minute),
	LoginTries: 3, LoginPause: Duration(5 * time.Minute), Audit: Duration(10 * time.Second), Entries: 50,
}

// DefaultLimits are the limits of an appliance that configures none.
func DefaultLimits() Limits { return defaultLimits }

// A Duration is written with its unit.
type Duration time.Duration

// UnmarshalText reads "10s".
func (d *Duration) UnmarshalText(text []byte) error {
	v, err := time.ParseDuration(string(text))
	*d = Duration(v)
	return err
}

// MarshalText writes it.
func (d Duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

// LoadConfig reads and checks the configuration. It opens no module.
func LoadConfig(path string) (*Config, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("configuration: %w: write it (docs/appliance.md), or say with --config where it is", err)
	}
	if err != nil {
		return nil, fmt.Errorf("configuration: not read: %w", advise(err))
	}
	c := &Config{Limits: defaultLimits}
	decoder := toml.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(c); err != nil {
		return nil, fmt.Errorf("configuration %s: %w", path, explainTOML(err))
	}
	folder, err := filepath.Abs(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	for _, p := range []*string{&c.Certificate, &c.Key, &c.Register, &c.ClientCA, &c.CRL, &c.Log} {
		if *p != "" && !filepath.IsAbs(*p) {
			*p = filepath.Join(folder, *p)
		}
	}
	if err := errors.Join(c.check()...); err != nil {
		return nil, fmt.Errorf("configuration %s: %w", path, err)
	}
	return c, nil
}

// explainTOML says where: the library keeps that apart from its message.
func explainTOML(err error) error {
	var unknown *toml.StrictMissingError
	if errors.As(err, &unknown) {
		var lines []string
		for _, e := range unknown.Errors {
			line, _ := e.Position()
			lines = append(lines, fmt.Sprintf("line %d: unknown key %q: see docs/appliance.md", line, strings.Join(e.Key(), ".")))
		}
		return errors.New(strings.Join(lines, "; "))
	}
	var bad *toml.DecodeError
	if errors.As(err, &bad) {
		line, _ := bad.Position()
		return fmt.Errorf("line %d: %w", line, err)
	}
	return err
}

// isName says whether a token or a client may be called so: names become those of files.
func isName(s string) bool {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-"
	return 0 < len(s) && len(s) <= 64 && strings.Trim(s, letters) == ""
}

// check reports every problem at once.
func (c *Config) check() (problems []error) {
	problem := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }
	if c.Listen != "" {
		if _, _, err := net.SplitHostPort(c.Listen); err != nil {
			problem("listen: %w: write address:port, as in 0.0.0.0:7411", err)
		}
	}
	for _, o := range []struct{ key, value, what string }{
		{"certificate", c.Certificate, "`oneslot-member cert new` makes one"},
		{"key", c.Key, "`oneslot-member cert new` makes one"},
		{"register", c.Register, "name a folder for the registered clients"},
	} {
		if o.value == "" {
			problem("%s is missing: %s", o.key, o.what)
		}
	}
	if c.CRL != "" && c.ClientCA == "" {
		problem("crl without client_ca: clients that are known by fingerprint are revoked with `client remove`")
	}
	if len(c.Tokens) == 0 {
		problem("no token is offered: add a [[token]] with name, module and label")
	}
	seen := map[string]bool{}
	for i, t := range c.Tokens {
		switch {
		case !isName(t.Name):
			problem("token %d: the name %q cannot be used: take 1 to 64 of A-Z a-z 0-9 _ . -", i+1, t.Name)
		case seen[t.Name]:
			problem("token %q stands there twice", t.Name)
		case !filepath.IsAbs(t.Module):
			problem("token %q: module %q is no absolute path", t.Name, t.Module)
		case t.Label == "" && t.Serial == "":
			problem("token %q says neither label nor serial", t.Name)
		}
		seen[t.Name] = true
	}
	return append(problems, c.Limits.check()...)
}

func (l *Limits) check() (problems []error) {
	for _, o := range []struct {
		key  string
		good bool
	}{
		{"half_open", l.HalfOpen > 0}, {"half_open_per_address", l.HalfOpenPerAddress > 0}, {"connections", l.Connections > 0},
		{"connections_per_client", l.PerClient > 0}, {"connections_per_address", l.PerAddress > 0},
		{"sessions", l.Sessions > 0}, {"calls", l.Calls > 0}, {"memory", l.Memory > 0}, {"login_tries", l.LoginTries > 0}, {"entries", l.Entries > 0},
	} {
		if !o.good {
			problems = append(problems, fmt.Errorf("limits: %s must be more than 0", o.key))
		}
	}
	for _, o := range []struct {
		key  string
		wait Duration
	}{
		{"message", l.Message}, {"handshake", l.Handshake}, {"drain", l.Drain}, {"login_pause", l.LoginPause}, {"audit", l.Audit}, {"connection_age", l.ConnectionAge},
	} {
		// A number without a unit is read as nanoseconds.
		if never := o.key == "connection_age" && o.wait == 0; time.Duration(o.wait) < time.Millisecond && !never {
			problems = append(problems, fmt.Errorf("limits: %s is %v: write a duration with its unit, in quotes: \"10s\"", o.key, time.Duration(o.wait)))
		}
	}
	return problems
}

// token returns the token with that name, or nil.
func (c *Config) token(name string) *Token {
	for i := range c.Tokens {
		if c.Tokens[i].Name == name {
			return &c.Tokens[i]
		}
	}
	return nil
}
