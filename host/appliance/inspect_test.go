// SPDX-License-Identifier: Apache-2.0

package appliance

import (
	"bytes"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"oneslot.dev/oneslot/certificate"
)

// What would keep every client out is told when the appliance starts, with what to do.
func TestWhatKeepsClientsOutIsToldAtTheStart(t *testing.T) {
	write := func(path, text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, spoil := range map[string]struct {
		how  func(c *Config)
		want []string // parts of one line; none: nothing is told
	}{
		"nothing":         {func(*Config) {}, nil},
		"no certificate":  {func(c *Config) { os.Remove(c.Certificate) }, []string{"certificate-unreadable", "a.crt", "oneslot-member cert new"}},
		"no PEM":          {func(c *Config) { write(c.Certificate, "x") }, []string{"certificate-unreadable", "a.crt"}},
		"no key":          {func(c *Config) { os.Remove(c.Key) }, []string{"key-unreadable", "a.key", "oneslot-member cert new"}},
		"another's key":   {func(c *Config) { c.Key = other(t) }, []string{"key-unreadable", "a.crt", "b.key", "private key does not match", "made together"}},
		"no module":       {func(c *Config) { c.Tokens[0].Module = "/nowhere/v.so" }, []string{"token-unavailable", "token=ca", "/nowhere/v.so", "install it"}},
		"no register":     {func(c *Config) { c.Register += "/none" }, []string{"register-unreadable", "none", "oneslot-member client add"}},
		"broken register": {func(c *Config) { write(c.Register+"/web.client.toml", "x") }, []string{"register-unreadable", "web.client.toml", "line 1"}},
		"no authority":    {func(c *Config) { c.ClientCA = c.Register + "/ca.pem" }, []string{"authority-unreadable", "client_ca", "ca.pem: no such file"}},
		"no PEM in it":    {func(c *Config) { c.ClientCA = c.Tokens[0].Module }, []string{"authority-unreadable", "holds no certificate in PEM form"}},
		"no CRL":          {func(c *Config) { c.ClientCA, c.CRL = c.Certificate, c.Register+"/crl" }, []string{"authority-unreadable", "crl: open", "no such file"}},
		"no list":         {func(c *Config) { c.ClientCA, c.CRL = c.Certificate, c.Tokens[0].Module }, []string{"authority-unreadable", "crl "}},
		"no such account": {func(c *Config) { c.User = "nobody-is-called-so" }, []string{"user-unknown", "nobody-is-called-so", "correct user"}},
	} {
		if name == "no such account" && os.Getuid() != 0 {
			continue // only root becomes another
		}
		folder := t.TempDir()
		c := &Config{Certificate: filepath.Join(folder, "a.crt"), Key: filepath.Join(folder, "a.key"), Register: folder, Limits: defaultLimits,
			Tokens: []Token{{Name: "ca", Module: filepath.Join(folder, "v.so")}}}
		if _, err := certificate.WriteNew(certificate.Wish{Name: "a", Valid: 90 * 24 * time.Hour}, c.Certificate, c.Key); err != nil {
			t.Fatal(err)
		}
		write(c.Tokens[0].Module, "")
		spoil.how(c)
		var log bytes.Buffer
		l := &Listener{Log: slog.New(slog.NewTextHandler(&log, nil))}
		l.config.Store(c)
		l.warn()
		if lines := strings.Count(log.String(), "\n"); lines != min(len(spoil.want), 1) {
			t.Errorf("%s: %d lines:\n%s", name, lines, log.String())
		}
		for _, part := range spoil.want {
			if !strings.Contains(log.String(), part) {
				t.Errorf("%s: no %q in %s", name, part, log.String())
			}
		}
	}
}

// other is a key that belongs to another certificate.
func other(t *testing.T) string {
	folder := t.TempDir()
	key := filepath.Join(folder, "b.key")
	if _, err := certificate.WriteNew(certificate.Wish{Name: "b", Valid: time.Hour}, filepath.Join(folder, "b.crt"), key); err != nil {
		t.Fatal(err)
	}
	return key
}

func TestAFileThatIsAnothersIsToldWithWhose(t *testing.T) {
	denied := &fs.PathError{Op: "open", Path: "/x", Err: fs.ErrPermission}
	for _, err := range []error{advise(denied), mendCertificate(denied)} {
		if want := fmt.Sprintf("let the user read it that the appliance runs as, here number %d", os.Getuid()); !strings.Contains(err.Error(), want) {
			t.Errorf("%v", err)
		}
	}
}
