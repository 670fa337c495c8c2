// SPDX-License-Identifier: Apache-2.0

package config

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Limits of the standard (CK_TOKEN_INFO) and of the rules.
const (
	maxLabel   = 32
	maxSerial  = 16
	maxMembers = 32 // G1

	// A busy member sends a heartbeat every 2 s (F2); with less patience
	// than that every slow command would look like a failure.
	heartbeat = 2 * time.Second
)

// maxName is how many characters a name may have.
const maxName = 64

// isName says whether text is 1 to maxName of A-Z a-z 0-9 _ . -. An application waits
// for the start of its engine, where compiling an expression for this takes 1 ms.
func isName(text string) bool {
	return text != "" && len(text) <= maxName && only(text, func(c rune) bool {
		return isLetter(c) || '0' <= c && c <= '9' || c == '_' || c == '.' || c == '-'
	})
}

func isLetter(c rune) bool { return 'A' <= c && c <= 'Z' || 'a' <= c && c <= 'z' }

// only says whether text consists of nothing else.
func only(text string, such func(rune) bool) bool {
	return !strings.ContainsFunc(text, func(c rune) bool { return !such(c) })
}

// check finds what is possible in TOML and impossible in oneslot.
func (d *decoder) check(c *Config) {
	names := map[string]string{}
	slots := map[uint64]string{}
	for i := range c.Members {
		m, at := &c.Members[i], fmt.Sprintf("member[%d]", i)
		d.name("member", m.Name, m.Slot(), at, i, names, slots)
		d.checkMember(m, at, title("member", m.Name, i))
	}
	labels := map[string]string{}
	names = map[string]string{} // a group may be called as a member
	for i := range c.Groups {
		g, at := &c.Groups[i], fmt.Sprintf("group[%d]", i)
		where := title("group", g.Name, i)
		d.name("group", g.Name, g.Slot(), at, i, names, slots)
		d.label(g.Label, labels, at, where)
		d.checkMembers(c, g, at, where)
		d.checkTimes(g, at, where)
		d.checkNumbers(g, at, where)
	}
	if len(c.Members) == 0 {
		d.problem(1, "", "no member is defined", "add a [[member]] with name, module and token")
	}
	if c.GroupOnly && len(c.Groups) == 0 {
		d.problem(d.line("group_only"), "", "group_only hides the members, and there is no group", "add a [[group]] or remove group_only")
	}
}

func title(kind, name string, i int) string {
	if name == "" {
		return fmt.Sprintf("%s %d", kind, i+1)
	}
	return fmt.Sprintf("%s %q", kind, name)
}

// name checks the name of a member or group, and the slot number it leads to.
func (d *decoder) name(kind, name string, slot uint64, at string, i int, names map[string]string, slots map[uint64]string) {
	where, line := title(kind, name, i), d.line(at+".name")
	switch {
	case name == "":
		d.problem(line, where, "has no name", `add name = "…"`)
		return
	case !isName(name):
		d.problem(line, where, "this name cannot be used", "take 1 to 64 of A-Z a-z 0-9 _ . -")
	}
	if first, ok := names[name]; ok {
		d.problem(line, where, fmt.Sprintf("this name stands already on line %s", first), "take another name")
		return
	}
	names[name] = fmt.Sprint(line)
	if other, ok := slots[slot]; ok {
		d.problem(line, where, fmt.Sprintf("has the slot number of %s, since it follows from the name", other), "take another name for the newer of the two")
	}
	slots[slot] = where
}

func (d *decoder) checkMember(m *Member, at, where string) {
	if m.Address != "" {
		d.checkRemote(m, at, where)
		return
	}
	for _, o := range remoteOptions(m) {
		if o.value != "" {
			d.problem(d.line(at+"."+o.key), where, fmt.Sprintf("%s is for appliances, and there is no address", o.key), `add address = "host:port" in place of module, or remove it`)
		}
	}
	switch {
	case m.Module == "":
		d.problem(d.line(at+".module"), where, "has no module", "add module = with the absolute path of the vendor's PKCS#11 library, or address = with host:port of an appliance")
	case !filepath.IsAbs(m.Module):
		d.problem(d.line(at+".module"), where, fmt.Sprintf("module %q is no absolute path", m.Module), "write the path from / on")
	}
	if m.Token == "" && m.Serial == "" {
		d.problem(d.line(at+".token"), where, "says neither token nor serial", "add the token's label (token =) or its serial number (serial =)")
	}
	d.text(m.Token, "token", maxLabel, at, where)
	d.text(m.Serial, "serial", maxSerial, at, where)
	for _, key := range slices.Sorted(maps.Keys(m.Env)) {
		if key == "" || strings.ContainsAny(key, "=\x00") || strings.Contains(m.Env[key], "\x00") {
			d.problem(d.line(at+".env."+key), where, fmt.Sprintf("%q cannot be an environment variable", key), "name it without = and zero bytes")
		}
	}
}

// text checks what is compared with a blank padded field of CK_TOKEN_INFO.
func (d *decoder) text(text, key string, most int, at, where string) {
	line := d.line(at + "." + key)
	if len(text) > most {
		d.problem(line, where, fmt.Sprintf("%s has %d bytes", key, len(text)), fmt.Sprintf("a token has at most %d", most))
	}
	if strings.TrimSpace(text) != text || !utf8.ValidString(text) || strings.ContainsFunc(text, unicode.IsControl) {
		d.problem(line, where, fmt.Sprintf("%s %q begins or ends with a blank, or holds control characters", key, text), "remove them")
	}
}

func (d *decoder) label(label string, labels map[string]string, at, where string) {
	if label == "" {
		return // the name is missing too, and that is told already
	}
	d.text(label, "label", maxLabel, at, where)
	if other, ok := labels[label]; ok {
		d.problem(d.line(at+".label"), where, fmt.Sprintf("has the label of %s, %q", other, label), "give each group a label of its own: applications choose by it")
		return
	}
	labels[label] = where
}

func (d *decoder) checkMembers(c *Config, g *Group, at, where string) {
	if n := len(g.Members); n < 1 || n > maxMembers {
		d.problem(d.line(at+".members"), where, fmt.Sprintf("has %d members", n), fmt.Sprintf(`list 1 to %d: members = ["a", "b"]`, maxMembers))
	}
	tokens := map[string]string{}
	for i, name := range g.Members {
		line := d.line(fmt.Sprintf("%s.members[%d]", at, i))
		m := c.Member(name)
		switch {
		case slices.Contains(g.Members[:i], name):
			d.problem(line, where, fmt.Sprintf("member %q is listed twice", name), "list it once")
			continue
		case m == nil:
			d.problem(line, where, fmt.Sprintf("member %q is not defined", name), fmt.Sprintf("add a [[member]] named %q or remove it", name))
			continue
		}
		// Copies on one token would count as two.
		token := fmt.Sprintf("%q %q %q %q %q", m.Module, m.Address, m.Token, m.Serial, m.Env)
		if other, ok := tokens[token]; ok {
			d.problem(line, where, fmt.Sprintf("members %q and %q are the same token", other, name), "list one of them, or tell them apart by serial or env")
		}
		tokens[token] = name
	}
	d.checkStandby(g, at, where)
}

func (d *decoder) checkStandby(g *Group, at, where string) {
	active := len(g.Members)
	for i, name := range g.Standby {
		line := d.line(fmt.Sprintf("%s.standby[%d]", at, i))
		switch {
		case slices.Contains(g.Standby[:i], name):
			d.problem(line, where, fmt.Sprintf("standby %q is listed twice", name), "list it once")
		case !slices.Contains(g.Members, name):
			d.problem(line, where, fmt.Sprintf("standby %q is no member of the group", name), "add it to members or remove it from standby")
		default:
			active--
		}
	}
	if active < 1 && len(g.Members) > 0 {
		d.problem(d.line(at+".standby"), where, "all members are standby", "leave at least one out of standby")
	}
}

func (d *decoder) checkTimes(g *Group, at, where string) {
	good := true
	for _, option := range []struct {
		key  string
		wait time.Duration
	}{
		{"recovery_interval", g.RecoveryInterval},
		{"command_timeout", g.CommandTimeout},
		{"probe_interval", g.ProbeInterval},
		{"probe_timeout", g.ProbeTimeout},
		{"stuck_timeout", g.StuckTimeout},
		{"stuck_timeout_keygen", g.StuckTimeoutKeygen},
	} {
		if option.wait <= 0 {
			good = false
			d.problem(d.line(at+"."+option.key), where, fmt.Sprintf("%s is %s", option.key, option.wait), "it must be more than 0")
		}
	}
	if !good {
		return // an order among them would be reported twice
	}
	d.longer(at, where, "probe_timeout", g.ProbeTimeout, "probe_interval", g.ProbeInterval)
	d.longer(at, where, "command_timeout", g.CommandTimeout, "probe_timeout", g.ProbeTimeout)
	d.longer(at, where, "stuck_timeout", g.StuckTimeout, "command_timeout", g.CommandTimeout)
	d.longer(at, where, "stuck_timeout_keygen", g.StuckTimeoutKeygen, "stuck_timeout", g.StuckTimeout)
	if g.CommandTimeout <= heartbeat {
		d.problem(d.line(at+".command_timeout"), where, fmt.Sprintf("command_timeout is %s", g.CommandTimeout), "it must be more than 2s: so often a busy member gives a sign of life")
	}
}

// longer wants one option to be more than another, and blames the line of
// whichever was written.
func (d *decoder) longer(at, where, key string, wait time.Duration, than string, other time.Duration) {
	if wait > other {
		return
	}
	line, ok := d.lines[at+"."+key]
	if !ok {
		line = d.line(at + "." + than)
	}
	d.problem(line, where, fmt.Sprintf("%s (%s) is not more than %s (%s)", key, wait, than, other), "make "+key+" longer or "+than+" shorter")
}

func (d *decoder) checkNumbers(g *Group, at, where string) {
	if most := max(len(g.Members), 1); g.MinCopies < 1 || g.MinCopies > most {
		d.problem(d.line(at+".min_copies"), where, fmt.Sprintf("min_copies is %d", g.MinCopies), fmt.Sprintf("it must be 1 to %d, the number of members", most))
	}
	if g.RecoveryAttempts < -1 || g.RecoveryAttempts == 0 {
		d.problem(d.line(at+".recovery_attempts"), where, fmt.Sprintf("recovery_attempts is %d", g.RecoveryAttempts), `write -1 for ever, a number from 1 on, or recovery = "manual"`)
	}
}
