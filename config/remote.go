// SPDX-License-Identifier: Apache-2.0

package config

import (
	"fmt"
	"net"
	"strings"
)

// isFingerprint says whether text is a SHA-256 as `oneslot-member cert show` prints it,
// or in hexadecimal digits, with or without what only makes it readable.
func isFingerprint(text string) bool {
	const kind = "sha256"
	text = strings.NewReplacer("-", "", ":", "", " ", "").Replace(text)
	digits := text
	if len(text) >= len(kind) && strings.EqualFold(text[:len(kind)], kind) {
		digits = text[len(kind):]
	}
	return isHash(text) || isHash(digits)
}

// isHash says whether digits are those of 32 bytes, in base 32 or hexadecimal.
func isHash(digits string) bool {
	switch len(digits) {
	case 52:
		return only(digits, func(c rune) bool { return isLetter(c) || '2' <= c && c <= '7' })
	case 64:
		return only(digits, func(c rune) bool {
			return '0' <= c && c <= '9' || 'A' <= c && c <= 'F' || 'a' <= c && c <= 'f'
		})
	}
	return false
}

// remoteOptions are those of a member on an appliance, and of no other.
func remoteOptions(m *Member) []struct{ key, value string } {
	return []struct{ key, value string }{
		{"certificate", m.Certificate}, {"key", m.Key},
		{"server", m.Server}, {"server_name", m.ServerName}, {"server_ca", m.ServerCA},
	}
}

// checkRemote checks a member on an appliance.
func (d *decoder) checkRemote(m *Member, at, where string) {
	problem := func(key, what, fix string) { d.problem(d.line(at+"."+key), where, what, fix) }
	if host, port, err := net.SplitHostPort(m.Address); err != nil || host == "" || port == "" {
		problem("address", fmt.Sprintf("address %q is not host:port", m.Address), `write it as "hsm1.example.org:7411" or "[2001:db8::1]:7411"`)
	}
	if m.Module != "" {
		problem("module", "has a module and an address", "remove module: the appliance loads it; or remove address")
	}
	if m.Serial != "" {
		problem("serial", "serial is not for members on an appliance", "remove it: the appliance knows its tokens")
	}
	if len(m.Env) > 0 {
		problem("env", "env is not for members on an appliance", "write it into the appliance's configuration")
	}
	if !isName(m.Token) {
		problem("token", fmt.Sprintf("token %q is no name of an appliance's token", m.Token), "ask its operator: 1 to 64 of A-Z a-z 0-9 _ . -")
	}
	if m.Certificate == "" || m.Key == "" {
		problem("certificate", "does not say who this client is", "add certificate = and key = with the files that `oneslot cert new` makes")
	}
	d.checkServer(m, problem)
}

// checkServer wants the appliance's identity to be pinned one way: "any
// certificate of this authority" would be any of its members.
func (d *decoder) checkServer(m *Member, problem func(key, what, fix string)) {
	named := m.ServerName != "" || m.ServerCA != ""
	switch {
	case m.Server == "" && !named:
		problem("server", "does not say how the appliance is known", "add server = with the fingerprint that the appliance's operator reads out, or server_name and server_ca")
	case m.Server != "" && named:
		problem("server", "has a fingerprint and a name for the appliance", "keep server, or server_name and server_ca")
	case named && (m.ServerName == "" || m.ServerCA == ""):
		problem("server_name", "server_name and server_ca belong together", "add the other one")
	case m.Server != "" && !isFingerprint(m.Server):
		problem("server", fmt.Sprintf("server %q is no SHA-256 fingerprint", m.Server), "copy what the appliance's operator reads out: sha256: and 52 letters and digits, or 64 hexadecimal digits")
	}
}
