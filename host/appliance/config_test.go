// SPDX-License-Identifier: Apache-2.0

package appliance

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const fine = `listen = "127.0.0.1:7411"
certificate = "a.crt"
key = "/etc/a.key"
register = "clients"
[[token]]
name = "ca"
module = "/m.so"
label = "ca"
`

func load(t *testing.T, text string) (*Config, error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "appliance.toml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return LoadConfig(file)
}

func TestConfigurationIsRead(t *testing.T) {
	c, err := load(t, fine+"env = { A = \"b\" }\n[limits]\nhandshake = \"3s\"\ncalls = 5\n")
	if err != nil {
		t.Fatal(err)
	}
	if !filepath.IsAbs(c.Certificate) || c.Key != "/etc/a.key" || c.Tokens[0].Env["A"] != "b" {
		t.Errorf("%+v", c)
	}
	want := defaultLimits
	want.Handshake, want.Calls = Duration(3*time.Second), 5
	if c.Limits != want {
		t.Errorf("limits are %+v", c.Limits)
	}
}

func TestMistakesInTheConfiguration(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"listne = \"x\"\n" + fine, `line 1: unknown key "listne"`},
		{fine + "[limits]\nhalf_opn = 1\n", `line 10: unknown key "limits.half_opn"`},
		{strings.Replace(fine, "127.0.0.1:7411", "127.0.0.1", 1), "listen:"},
		{strings.Replace(fine, "key =", "# key =", 1), "key is missing"},
		{strings.Replace(fine, "register =", "# register =", 1), "register is missing"},
		{strings.Replace(fine, "label =", "# label =", 1), "neither label nor serial"},
		{strings.Replace(fine, `"/m.so"`, `"m.so"`, 1), "no absolute path"},
		{strings.Replace(fine, `name = "ca"`, `name = "c a"`, 1), "cannot be used"},
		{strings.Replace(fine, `name = "ca"`, `name = "cä"`, 1), "cannot be used"},
		{strings.Replace(fine, `name = "ca"`, `name = "`+strings.Repeat("c", 65)+`"`, 1), "cannot be used"},
		{fine + fine[strings.Index(fine, "[[token]]"):], "stands there twice"},
		{fine[:strings.Index(fine, "[[token]]")], "no token is offered"},
		{"crl = \"x\"\n" + fine, "crl without client_ca"},
		{fine + "[limits]\nsessions = 0\n", "sessions must be more than 0"},
		{fine + "[limits]\nhandshake = 3\n", "handshake is 3ns: write a duration with its unit"},
	} {
		if _, err := load(t, c.text); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v", c.want, err)
		}
	}
}
