// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"oneslot.dev/oneslot/config"
	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/wire"
)

// judgeMember says what is wrong with one token. It asks no member.
func judgeMember(m *config.Member, d description) finding {
	f := finding{Name: m.Name}
	if d.err != nil {
		f.wrong("%v", d.err)
		noteMissing(&f, m.Env)
		return f
	}
	t := &d.token.Token
	label, serial := pkcs11.Unpad(t.Label[:]), pkcs11.Unpad(t.Serial[:])
	f.About = fmt.Sprintf("token %q, serial %s, %s %s, domain %s", label, serial,
		pkcs11.Unpad(t.Manufacturer[:]), pkcs11.Unpad(t.Model[:]), domainText(d.token.Domain)+methodText(d.token))
	// On an appliance the token has a name of its own.
	if m.Address == "" && m.Token != "" && m.Token != label {
		f.wrong("the token's label is %q, the configuration says %q", label, m.Token)
	}
	if m.Serial != "" && m.Serial != serial {
		f.wrong("the token's serial number is %s, the configuration says %s: if the HSM was replaced on purpose, change serial", serial, m.Serial)
	}
	judgeFlags(&f, t.Flags, m.Address != "")
	return f
}

// methodText is how a token copies keys (rule K7). Which way it can is found out
// when it joins a domain; whether this client may is the appliance's to say.
func methodText(d *wire.Description) string {
	switch {
	case d.UseOnly:
		return ", where this client may use keys and not manage them"
	case len(d.Domain) == 0, d.Token.Flags&pkcs11.CKF_WRITE_PROTECTED != 0:
		return ""
	case d.Cloning:
		return ", copies keys by cloning"
	}
	return ", copies keys by key export"
}

// noteDeadlines warns ahead of what ends, without which the member cannot be
// reached any more: certificates. And it tells what is unsafe on this host.
func noteDeadlines(f *finding, d description) {
	for _, end := range d.deadlines {
		if end.Warning != "" {
			f.note("%s", end.Warning)
		}
	}
	for _, text := range d.dangers {
		f.note("%s", text)
	}
}

// noteMissing points at variables that name a file which is not there. Modules
// that cannot read their own configuration say CKR_GENERAL_ERROR, no more.
func noteMissing(f *finding, env map[string]string) {
	for _, name := range slices.Sorted(maps.Keys(env)) {
		if !filepath.IsAbs(env[name]) {
			continue
		}
		if _, err := os.Stat(env[name]); err != nil {
			f.note("%s in env: %v", name, err)
		}
	}
}

// judgeFlags reads the flags of CK_TOKEN_INFO.
func judgeFlags(f *finding, flags uint64, appliance bool) {
	if flags&pkcs11.CKF_TOKEN_INITIALIZED == 0 {
		f.wrong("the token is not initialised: initialise it with the vendor's tool")
		return // what follows is then not to be relied on
	}
	if flags&pkcs11.CKF_USER_PIN_INITIALIZED == 0 {
		f.wrong("the token has no user PIN: set one with the vendor's tool")
	}
	switch {
	case flags&pkcs11.CKF_WRITE_PROTECTED == 0:
	case appliance:
		f.wrong("the token is write-protected, or this client is granted it --read-only: no key can be created on it or copied to it")
	default:
		f.wrong("the token is write-protected: no key can be created on it or copied to it")
	}
	switch {
	case flags&pkcs11.CKF_USER_PIN_LOCKED != 0:
		f.wrong("the user PIN is locked: unlock it with the vendor's tool")
	case flags&pkcs11.CKF_USER_PIN_FINAL_TRY != 0:
		f.wrong("one more wrong user PIN locks the token: oneslot does not log in by itself until a right one was given")
	case flags&pkcs11.CKF_USER_PIN_COUNT_LOW != 0:
		f.note("a wrong user PIN was given since the last right one")
	}
	if flags&pkcs11.CKF_USER_PIN_TO_BE_CHANGED != 0 {
		f.wrong("the user PIN has to be changed before the token works: change it with the vendor's tool")
	}
	switch {
	case flags&pkcs11.CKF_SO_PIN_LOCKED != 0:
		f.note("the security officer's PIN is locked: the token cannot join another domain")
	case flags&(pkcs11.CKF_SO_PIN_FINAL_TRY|pkcs11.CKF_SO_PIN_COUNT_LOW) != 0:
		f.note("a wrong security officer's PIN was given since the last right one")
	}
}

// judgeGroup compares the members that were reached. tokens is nil for others.
func judgeGroup(g *config.Group, tokens map[string]*wire.Description) finding {
	f := finding{Name: g.Name, About: fmt.Sprintf("label %q, serial %s, slot 0x%x", g.Label, g.Serial(), g.Slot())}
	var reached []string
	for _, name := range g.Members {
		if tokens[name] != nil {
			reached = append(reached, name)
		}
	}
	if missing := len(g.Members) - len(reached); missing > 0 {
		f.wrong("%d of %d members were not reached, see above", missing, len(g.Members))
	}
	judgeTwins(&f, reached, tokens)
	if len(g.Members) > 1 {
		judgeDomains(&f, g, reached, tokens)
		judgeUse(&f, reached, tokens)
	}
	judgeMechanisms(&f, reached, tokens)
	judgeMakes(&f, reached, tokens)
	return f
}

// noteLabels tells of tokens that an application may take for the group: members are
// listed before groups (G4), and some programs, such as pkcs11-tool, take the first token
// whose label begins with what they were told.
func noteLabels(f *finding, cfg *config.Config, g *config.Group, tokens map[string]*wire.Description) {
	if cfg.GroupOnly {
		return
	}
	for i := range cfg.Members {
		name := cfg.Members[i].Name
		if tokens[name] == nil {
			continue
		}
		if label := pkcs11.Unpad(tokens[name].Token.Label[:]); strings.HasPrefix(label, g.Label) {
			f.note("an application that asks for a token labelled %q may get member %s (%q) alone, which is listed first: group_only = true hides it", g.Label, name, label)
		}
	}
}

// judgeTwins finds one token that is two members: its copies would be counted
// as two, and die as one.
func judgeTwins(f *finding, reached []string, tokens map[string]*wire.Description) {
	seen := map[string]string{}
	for _, name := range reached {
		t := &tokens[name].Token
		key := string(t.Manufacturer[:]) + string(t.Model[:]) + string(t.Serial[:]) + string(t.Label[:])
		if other, ok := seen[key]; ok {
			f.wrong("members %s and %s are the same token: leave one out", other, name)
		}
		seen[key] = name
	}
}

func judgeDomains(f *finding, g *config.Group, reached []string, tokens map[string]*wire.Description) {
	var none, weak []string
	domains := map[string][]string{}
	var order []string
	for _, name := range reached {
		t := tokens[name]
		if len(t.Domain) == 0 {
			none = append(none, name)
			continue
		}
		id := domainText(t.Domain)
		if domains[id] == nil {
			order = append(order, id)
		}
		domains[id] = append(domains[id], name)
		if !t.Cloning && !t.UseOnly {
			weak = append(weak, name)
		}
	}
	if len(none) > 0 {
		f.wrong("%s in no domain, so no key can be copied there: oneslot domain join %s --secret-file FILE", are(none), strings.Join(none, " "))
	}
	if len(order) > 1 {
		var parts []string
		for _, id := range order {
			parts = append(parts, strings.Join(domains[id], " and ")+" in "+id)
		}
		f.wrong("members are in different domains (%s), between which no key can be copied: choose one and join the others to it", strings.Join(parts, ", "))
	}
	if len(weak) > 0 && g.KeyExport {
		f.note("%s not able to mark the domain key as trusted: keys are copied by key export, as key_export = true permits; whoever holds the PIN of such a token can take keys out of it", are(weak))
	}
	if len(weak) > 0 && !g.KeyExport {
		f.wrong("%s not able to mark the domain key as trusted: keys can be copied only by key export, which is weaker and has to be permitted (key_export = true)", are(weak))
	}
}

// judgeUse tells what follows when appliances let this client use keys and not
// manage them. That is a choice, as long as all members agree.
func judgeUse(f *finding, reached []string, tokens map[string]*wire.Description) {
	var use, manage []string
	for _, name := range reached {
		if tokens[name].UseOnly {
			use = append(use, name)
		} else {
			manage = append(manage, name)
		}
	}
	const mend = "oneslot-member client add on the appliance, without --no-key-management"
	switch {
	case len(use) == 0:
	case len(manage) == 0:
		f.note("applications here use the keys of the group; they create, copy, change and destroy none. A host that may has to fill the members and to destroy on them (%s)", mend)
	default:
		f.wrong("this client may manage keys on %s, and not on %s: a key made here is not copied there, and one destroyed here stays there, which takes the member out of service: grant the same on all (%s)",
			strings.Join(manage, ", "), strings.Join(use, ", "), mend)
	}
}

// judgeMechanisms tells what the group does not offer since a member lacks it
// (rule G8). That is a note: a group of unlike members is a choice.
func judgeMechanisms(f *finding, reached []string, tokens map[string]*wire.Description) {
	offered := map[pkcs11.MechanismType][]string{}
	for _, name := range reached {
		for _, m := range tokens[name].Mechanisms {
			if m.Type.Carried() && !slices.Contains(offered[m.Type], name) {
				offered[m.Type] = append(offered[m.Type], name)
			}
		}
	}
	lacking := map[string][]string{} // members that lack it → mechanisms
	common := 0
	for kind, by := range offered {
		var without []string
		for _, name := range reached {
			if !slices.Contains(by, name) {
				without = append(without, name)
			}
		}
		if len(without) == 0 {
			common++
			continue
		}
		key := strings.Join(without, " and ")
		lacking[key] = append(lacking[key], kind.String())
	}
	if len(reached) > 0 && common == 0 {
		f.wrong("there is no mechanism that all members offer")
	}
	var notes []string
	for who, kinds := range lacking {
		slices.Sort(kinds)
		notes = append(notes, fmt.Sprintf("not offered by the group, since missing on %s: %s", who, strings.Join(kinds, ", ")))
	}
	slices.Sort(notes)
	f.Notes = append(f.Notes, notes...)
}

// judgeMakes tells of members with other firmware or another library.
func judgeMakes(f *finding, reached []string, tokens map[string]*wire.Description) {
	for _, name := range reached[min(1, len(reached)):] {
		first, t := tokens[reached[0]], tokens[name]
		if !bytes.Equal(first.Token.Model[:], t.Token.Model[:]) || first.Token.Firmware != t.Token.Firmware || first.Library != t.Library {
			f.note("%s differs from %s: %s, not %s", name, reached[0], makeText(t), makeText(first))
		}
	}
}

func makeText(t *wire.Description) string {
	return fmt.Sprintf("%s firmware %d.%d (%s)", pkcs11.Unpad(t.Token.Model[:]), t.Token.Firmware.Major, t.Token.Firmware.Minor, t.Library)
}

func are(names []string) string {
	if len(names) == 1 {
		return names[0] + " is"
	}
	return strings.Join(names, ", ") + " are"
}
