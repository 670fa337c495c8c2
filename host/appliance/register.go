// SPDX-License-Identifier: Apache-2.0

package appliance

import (
	"bytes"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/pelletier/go-toml/v2"

	"oneslot.dev/oneslot/certificate"
)

// A Client is an entry of the register: who may use which tokens. It is known by
// the fingerprints of its certificates, or by the name in a certificate that an
// authority of the configuration issued.
type Client struct {
	Name         string        `toml:"name" json:"name"`
	Certificates []Certificate `toml:"certificate" json:"certificates,omitempty"`
	CAName       string        `toml:"ca_name,omitempty" json:"ca_name,omitempty"`
	Added        time.Time     `toml:"added" json:"added"`
	Grants       []Grant       `toml:"grant" json:"grants"`
}

// A Certificate is one by which a client is known.
type Certificate struct {
	Fingerprint certificate.Fingerprint `toml:"fingerprint" json:"fingerprint"`
	Expires     time.Time               `toml:"expires,omitempty" json:"expires,omitzero"` // if it was seen
}

// A Grant is what a client may do with a token.
type Grant struct {
	Token string `toml:"token" json:"token"`

	// ReadOnly: nothing on the token is made, changed or destroyed.
	// NoKeyManagement: keys are used, but none is made, changed, wrapped,
	// unwrapped, derived or destroyed.
	ReadOnly        bool `toml:"read_only,omitempty" json:"read_only,omitempty"`
	NoKeyManagement bool `toml:"no_key_management,omitempty" json:"no_key_management,omitempty"`

	// Officer: the security officer may log in, PINs may be set, the token
	// may be initialised and join a domain.
	Officer bool `toml:"officer,omitempty" json:"officer,omitempty"`
}

func (g Grant) String() string {
	var words []string
	for _, w := range []struct {
		set  bool
		word string
	}{{g.ReadOnly, "read-only"}, {g.NoKeyManagement, "no key management"}, {g.Officer, "security officer"}} {
		if w.set {
			words = append(words, w.word)
		}
	}
	if words == nil {
		return g.Token
	}
	return g.Token + " (" + strings.Join(words, ", ") + ")"
}

// grant returns what the client may do with a token, or nil.
func (c *Client) grant(token string) *Grant {
	for i := range c.Grants {
		if c.Grants[i].Token == token {
			return &c.Grants[i]
		}
	}
	return nil
}

// knownBy says whether a certificate is one of the client's.
func (c *Client) knownBy(f certificate.Fingerprint) bool {
	return slices.ContainsFunc(c.Certificates, func(k Certificate) bool { return k.Fingerprint == f })
}

// Expires is when the last certificate of the client ends, zero if not known.
func (c *Client) Expires() (last time.Time) {
	for _, k := range c.Certificates {
		if k.Expires.IsZero() {
			return time.Time{}
		}
		if k.Expires.After(last) {
			last = k.Expires
		}
	}
	return last
}

// A Register is a folder with a file for each client. It is read anew whenever
// it is asked: what an operator changed counts at once.
type Register string

const clientSuffix = ".client.toml"

// Clients are all clients, in the order of their names.
func (r Register) Clients() ([]*Client, error) {
	if err := r.guarded(); err != nil {
		return nil, err
	}
	// Not by filepath.Glob: a folder that cannot be read is not an empty one,
	// which would cut every client off.
	files, err := os.ReadDir(string(r))
	if err != nil {
		return nil, fmt.Errorf("register: %w", err)
	}
	var clients []*Client
	for _, file := range files {
		if !strings.HasSuffix(file.Name(), clientSuffix) {
			continue
		}
		c, err := readClient(filepath.Join(string(r), file.Name()))
		if errors.Is(err, fs.ErrNotExist) {
			continue // removed since
		}
		if err != nil {
			return nil, fmt.Errorf("register: %w", err)
		}
		clients = append(clients, c)
	}
	return clients, nil
}

// guarded says whether only the operator writes into the register: whoever does
// decides who may use the tokens.
func (r Register) guarded() error {
	info, err := os.Stat(string(r))
	if err != nil {
		return fmt.Errorf("register: %w: `oneslot-member client add` makes it", err)
	}
	if err := othersMayWrite(info); err != nil {
		return fmt.Errorf("register %s: %w", string(r), err)
	}
	return nil
}

// Prepare makes the folder if it is not there. It is an error if others than its owner
// may write there: nothing is to be written where they can lay links.
func (r Register) Prepare() error {
	if err := os.MkdirAll(string(r), 0o750); err != nil {
		return fmt.Errorf("register: %w", err)
	}
	return r.guarded()
}

func readClient(file string) (*Client, error) {
	text, err := readTrusted(file)
	if err != nil {
		return nil, err
	}
	c := &Client{}
	decoder := toml.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(c); err != nil {
		return nil, fmt.Errorf("%s: %w", file, explainTOML(err))
	}
	if !isName(c.Name) || filepath.Base(file) != c.Name+clientSuffix {
		return nil, fmt.Errorf("%s: the file is not named after the client %q", file, c.Name)
	}
	return c, nil
}

// Client is the client of that name, nil if there is none.
func (r Register) Client(name string) (*Client, error) {
	if !isName(name) {
		return nil, fmt.Errorf("client %q: this name cannot be used: take 1 to 64 of A-Z a-z 0-9 _ . -", name)
	}
	c, err := readClient(r.file(name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return c, err
}

func (r Register) file(name string) string { return filepath.Join(string(r), name+clientSuffix) }

// Change changes the entry of a client under a lock: change gets nil if there is
// none, and returns what shall be there, nil for nothing.
func (r Register) Change(name string, change func(*Client) (*Client, error)) error {
	return r.change(name, syscall.LOCK_EX, change)
}

func (r Register) change(name string, how int, change func(*Client) (*Client, error)) error {
	if err := r.Prepare(); err != nil {
		return err
	}
	lock, err := os.Open(string(r))
	if err != nil {
		return fmt.Errorf("register: %w", err)
	}
	defer lock.Close()
	if err := syscall.Flock(int(lock.Fd()), how); err != nil {
		return fmt.Errorf("register %s: not locked: %w", string(r), err)
	}
	before, err := r.Client(name)
	if err != nil {
		return err
	}
	after, err := change(before)
	switch {
	case err != nil:
		return err
	case after == nil:
		err = os.Remove(r.file(name))
		os.Remove(r.triesFile(name)) // a later client of that name starts afresh
		return err
	}
	text, err := toml.Marshal(after)
	if err != nil {
		return err
	}
	// In one step: connections read it at any time.
	fresh := r.file(name) + ".new"
	if err := os.WriteFile(fresh, append([]byte("# Written by oneslot-member client add.\n"), text...), 0o640); err != nil {
		return fmt.Errorf("register: %w", err)
	}
	return os.Rename(fresh, r.file(name))
}

// errNothing ends a Change that has nothing to change.
var errNothing = errors.New("nothing to change")

// learn notes when a certificate of a client ends, if the register does not know:
// by telephone only the fingerprint is told, and whoever shows the certificate
// proves the rest. While an operator changes the register it is left to the next
// connection.
func (r Register) learn(c *Client, cert *x509.Certificate) error {
	print := certificate.Of(cert)
	unknown := func(k Certificate) bool { return k.Fingerprint == print && k.Expires.IsZero() }
	if !slices.ContainsFunc(c.Certificates, unknown) {
		return nil
	}
	err := r.change(c.Name, syscall.LOCK_EX|syscall.LOCK_NB, func(now *Client) (*Client, error) {
		if now == nil {
			return nil, errNothing
		}
		at := slices.IndexFunc(now.Certificates, unknown)
		if at < 0 {
			return nil, errNothing
		}
		now.Certificates[at].Expires = cert.NotAfter.UTC()
		return now, nil
	})
	if errors.Is(err, errNothing) || errors.Is(err, syscall.EWOULDBLOCK) {
		return nil
	}
	return err
}

// Owner is the client that is known by a certificate, nil if there is none.
func (r Register) Owner(f certificate.Fingerprint) (*Client, error) {
	clients, err := r.Clients()
	if err != nil {
		return nil, err
	}
	for _, c := range clients {
		if c.knownBy(f) {
			return c, nil
		}
	}
	return nil, nil
}
