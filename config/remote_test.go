// SPDX-License-Identifier: Apache-2.0

package config

import (
	"strings"
	"testing"
)

const hexPrint = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

// far is a member on an appliance, without fault, in seven lines.
const far = `[[member]]
name = "a"
address = "hsm1.example.org:7411"
token = "ca"
certificate = "web.crt"
key = "/etc/web.key"
server = "sha256:` + hexPrint + `"
`

func TestMembersOnAppliances(t *testing.T) {
	for _, text := range []string{
		far,
		strings.Replace(far, "hsm1.example.org:7411", "[2001:db8::1]:7411", 1),
		strings.Replace(far, `server = "sha256:`+hexPrint+`"`, `server = "SHA256:EZ4B-2TNO-DOQN-MEIP-VPDL-4NOA-3THW-6XQ2-YYAO-OOO3-INLT-TT6P-AKWA"`, 1),
		strings.Replace(far, `server = "sha256:`+hexPrint+`"`, "server_name = \"hsm1\"\nserver_ca = \"ca.pem\"", 1),
	} {
		c, err := Parse("/etc/oneslot/oneslot.toml", []byte(text))
		if err != nil {
			t.Errorf("%s\n%v", text, err)
			continue
		}
		if m := c.Members[0]; m.Certificate != "/etc/oneslot/web.crt" || m.Key != "/etc/web.key" || m.ServerCA != "" && m.ServerCA != "/etc/oneslot/ca.pem" {
			t.Errorf("paths: %+v", m)
		}
	}
	for _, c := range []struct{ from, to, want string }{
		{"hsm1.example.org:7411", "hsm1.example.org", `3: member "a": address "hsm1.example.org" is not host:port`},
		{"hsm1.example.org:7411", ":7411", `3: member "a": address ":7411" is not host:port`},
		{"token = \"ca\"", "module = \"/m.so\"", `4: member "a": has a module and an address`},
		{"token = \"ca\"", "token = \"a b\"", `4: member "a": token "a b" is no name`},
		{"token = \"ca\"", "", `1: member "a": token "" is no name`},
		{"token = \"ca\"", "token = \"ca\"\nserial = \"1\"", `5: member "a": serial is not for members on an appliance`},
		{"token = \"ca\"", "token = \"ca\"\nenv = { A = \"b\" }", `5: member "a": env is not for members on an appliance`},
		{`key = "/etc/web.key"`, "", `5: member "a": does not say who this client is`},
		{hexPrint, hexPrint[1:], `7: member "a": server "sha256:` + hexPrint[1:] + `" is no SHA-256 fingerprint`},
		{`server = "sha256:` + hexPrint + `"`, "", `1: member "a": does not say how the appliance is known`},
		{`server =`, "server_name = \"x\"\nserver =", `8: member "a": has a fingerprint and a name`},
		{`server = "sha256:` + hexPrint + `"`, `server_name = "x"`, `7: member "a": server_name and server_ca belong together`},
		{`address = "hsm1.example.org:7411"`, `module = "/m.so"`, `5: member "a": certificate is for appliances, and there is no address`},
	} {
		_, err := Parse("x.toml", []byte(strings.Replace(far, c.from, c.to, 1)))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q for %q: %v\nwant %s", c.to, c.from, err, c.want)
		}
	}
	// Two tokens of one appliance are two tokens.
	two := far + strings.Replace(strings.Replace(far, `"a"`, `"b"`, 1), `"ca"`, `"tls"`, 1) + "[[group]]\nname = \"g\"\nmembers = [\"a\", \"b\"]\n"
	if _, err := Parse("x.toml", []byte(two)); err != nil {
		t.Error(err)
	}
	if _, err := Parse("x.toml", []byte(strings.Replace(two, `"tls"`, `"ca"`, 1))); err == nil || !strings.Contains(err.Error(), "are the same token") {
		t.Errorf("one token as two members: %v", err)
	}
}
