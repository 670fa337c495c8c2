// SPDX-License-Identifier: Apache-2.0

package config

import (
	"fmt"
	"strings"
	"testing"
)

// fine is a member and a group without fault, in eight lines; a case of
// mistakes continues it from line 9, inside the group.
const fine = `[[member]]
name = "a"
module = "/m.so"
token = "t"

[[group]]
name = "ca"
members = ["a"]
`

var mistakes = []struct {
	name, text string
	want       []string // how the lines of the error begin, without the file
}{
	{"syntax", "a = \nb = 1\n", []string{`1: `}},
	{"key twice", "group_only = true\ngroup_only = true\n" + fine, []string{`2: `}},
	{"unknown, top", "grup_only = true\n" + fine, []string{`1: unknown key "grup_only": did you mean "group_only"?`}},
	{"unknown, far off", "[log]\nxyz = 1\n" + fine, []string{`2: log: unknown key "xyz": remove it; known here: file, level`}},
	{"unknown, group", fine + "membres = [\"a\"]\n", []string{`9: group "ca": unknown key "membres": did you mean "members"?`}},
	{"unknown table", fine + "[groups]\n", []string{`9: unknown key "groups": did you mean "group"?`}},
	{"pin", "[[member]]\nname = \"a\"\nmodule = \"/m.so\"\ntoken = \"t\"\nuser_pin = \"1\"\n", []string{`5: member "a": unknown key "user_pin": remove it: a PIN never`}},
	{"type bool", "group_only = \"yes\"\n" + fine, []string{`1: group_only is "yes": write true or false`}},
	{"type string", "runtime_dir = 5\n" + fine, []string{`1: runtime_dir is 5: write a string`}},
	{"type name", "[[member]]\nname = 5\nmodule = \"/m.so\"\ntoken = true\n", []string{`2: member 1: name is 5: write a string`, `4: member 1: token is true: write a string`}},
	{"type table", "log = 5\n" + fine, []string{`1: log is 5: write a table: [log]`}},
	{"type tables", "group = 5\n[[member]]\nname = \"a\"\nmodule = \"/m.so\"\ntoken = \"t\"\n", []string{`1: group is 5: write [[group]] for each`}},
	{"type in tables", "group = [5]\n[[member]]\nname = \"a\"\nmodule = \"/m.so\"\ntoken = \"t\"\n", []string{
		`1: group 1: is 5: write [[group]]`, `1: group 1: has no name`, `1: group 1: has 0 members`}},
	{"type env", "[[member]]\nname = \"a\"\nmodule = \"/m.so\"\ntoken = \"t\"\nenv = \"A=b\"\n", []string{`5: member "a": env is "A=b": write a table of strings`}},
	{"type in env", "[[member]]\nname = \"a\"\nmodule = \"/m.so\"\ntoken = \"t\"\n[member.env]\nA = 1\n", []string{`6: member "a": A is 1: write a string in quotes`}},
	{"type members", "[[member]]\nname = \"a\"\nmodule = \"/m.so\"\ntoken = \"t\"\n[[group]]\nname = \"g\"\nmembers = \"a\"\n", []string{
		`7: group "g": members is "a": write a list of names`, `7: group "g": has 0 members`}},
	{"type in members", fine + "standby = [\n1]\n", []string{`10: group "ca": standby holds 1: write names`, `10: group "ca": standby "1" is no member`}},
	{"bare duration", fine + "probe_interval = 2\n", []string{`9: group "ca": probe_interval is 2: write a duration with its unit, in quotes, such as "2s"`}},
	{"bad duration", fine + "probe_interval = \"2 sec\"\n", []string{`9: group "ca": probe_interval is "2 sec": write a duration`}},
	{"bare size", fine + "replay_limit = 1024\n", []string{`9: group "ca": replay_limit is 1024: write a size with its unit`}},
	{"bad size", fine + "replay_limit = \"1MB\"\n", []string{`9: group "ca": replay_limit is "1MB": write a size`}},
	{"huge size", fine + "replay_limit = \"9999999999999GiB\"\n", []string{`9: group "ca": replay_limit is `}},
	{"huge number", fine + "min_copies = 99999999999\n", []string{`9: group "ca": min_copies is 99999999999: write a whole number`}},
	{"recovery", fine + "recovery = \"never\"\n", []string{`9: group "ca": recovery is "never": write one of auto, manual`}},
	{"multipart", fine + "multipart = true\n", []string{`9: group "ca": multipart is true: write one of balance, primary`}},
	{"level", "[log]\nlevel = \"INFO+2\"\n" + fine, []string{`2: log: level is "INFO+2": write one of debug, info, warn, error`}},

	{"empty", "", []string{`1: no member is defined: add a [[member]]`}},
	{"no groups to show", "\ngroup_only = true\n[[member]]\nname = \"a\"\nmodule = \"/m.so\"\ntoken = \"t\"\n", []string{`2: group_only hides the members, and there is no group`}},
	{"member without all", "[[member]]\n", []string{`1: member 1: has no name`, `1: member 1: has no module`, `1: member 1: says neither token nor serial`}},
	{"member's name", "[[member]]\nname = \"a b\"\nmodule = \"/m.so\"\ntoken = \"t\"\n", []string{`2: member "a b": this name cannot be used`}},
	{"member twice", fine + "[[member]]\nname = \"a\"\nmodule = \"/m.so\"\ntoken = \"t\"\n", []string{`10: member "a": this name stands already on line 2`}},
	{"relative module", "[[member]]\nname = \"a\"\nmodule = \"m.so\"\ntoken = \"t\"\n", []string{`3: member "a": module "m.so" is no absolute path`}},
	{"long token", "[[member]]\nname = \"a\"\nmodule = \"/m.so\"\ntoken = \"" + strings.Repeat("x", 33) + "\"\n", []string{`4: member "a": token has 33 bytes: a token has at most 32`}},
	{"long serial", "[[member]]\nname = \"a\"\nmodule = \"/m.so\"\nserial = \"" + strings.Repeat("x", 17) + "\"\n", []string{`4: member "a": serial has 17 bytes`}},
	{"blank token", "[[member]]\nname = \"a\"\nmodule = \"/m.so\"\ntoken = \"t \"\n", []string{`4: member "a": token "t " begins or ends with a blank`}},
	{"env name", "[[member]]\nname = \"a\"\nmodule = \"/m.so\"\ntoken = \"t\"\nenv = { \"A=B\" = \"1\" }\n", []string{`5: member "a": "A=B" cannot be an environment variable`}},

	{"group twice", fine + "[[group]]\nname = \"ca\"\nlabel = \"other\"\nmembers = [\"a\"]\n", []string{`10: group "ca": this name stands already on line 7`}},
	{"label twice", fine + "[[group]]\nname = \"cb\"\nlabel = \"ca\"\nmembers = [\"a\"]\n", []string{`11: group "cb": has the label of group "ca", "ca"`}},
	{"label too long", fine + "label = \"" + strings.Repeat("ä", 17) + "\"\n", []string{`9: group "ca": label has 34 bytes`}},
	{"name too long for a label", "[[member]]\nname = \"a\"\nmodule = \"/m.so\"\ntoken = \"t\"\n[[group]]\nname = \"" + strings.Repeat("g", 40) + "\"\nmembers = [\"a\"]\n", []string{
		`5: group "` + strings.Repeat("g", 40) + `": label has 40 bytes`}},
	{"no members", "[[member]]\nname = \"a\"\nmodule = \"/m.so\"\ntoken = \"t\"\n[[group]]\nname = \"g\"\n", []string{`5: group "g": has 0 members`}},
	{"undefined member", "[[member]]\nname = \"a\"\nmodule = \"/m.so\"\ntoken = \"t\"\n[[group]]\nname = \"g\"\nmembers = [\n\"a\",\n\"x\"]\n", []string{
		`9: group "g": member "x" is not defined: add a [[member]] named "x" or remove it`}},
	{"member listed twice", "[[member]]\nname = \"a\"\nmodule = \"/m.so\"\ntoken = \"t\"\n[[group]]\nname = \"g\"\nmembers = [\"a\", \"a\"]\n", []string{`7: group "g": member "a" is listed twice`}},
	{"one token as two members", fine + "[[member]]\nname = \"b\"\nmodule = \"/m.so\"\ntoken = \"t\"\n[[group]]\nname = \"g\"\nmembers = [\"a\", \"b\"]\n", []string{`15: group "g": members "a" and "b" are the same token`}},
	{"all standby", fine + "standby = [\"a\"]\n", []string{`9: group "ca": all members are standby`}},
	{"standby is no member", fine + "standby = [\"b\"]\n", []string{`9: group "ca": standby "b" is no member of the group`}},
	{"standby twice", "[[member]]\nname = \"a\"\nmodule = \"/m.so\"\ntoken = \"t\"\n[[member]]\nname = \"b\"\nmodule = \"/m.so\"\ntoken = \"u\"\n[[group]]\nname = \"g\"\nmembers = [\"a\", \"b\"]\nstandby = [\"b\", \"b\"]\n", []string{
		`12: group "g": standby "b" is listed twice`}},
	{"copies 0", fine + "min_copies = 0\n", []string{`9: group "ca": min_copies is 0: it must be 1 to 1`}},
	{"copies 2 of 1", fine + "min_copies = 2\n", []string{`9: group "ca": min_copies is 2: it must be 1 to 1`}},
	{"attempts 0", fine + "recovery_attempts = 0\n", []string{`9: group "ca": recovery_attempts is 0`}},
	{"attempts -2", fine + "recovery_attempts = -2\n", []string{`9: group "ca": recovery_attempts is -2`}},
	{"no time", fine + "recovery_interval = \"0s\"\n", []string{`9: group "ca": recovery_interval is 0s: it must be more than 0`}},
	{"negative time", fine + "command_timeout = \"-1s\"\n", []string{`9: group "ca": command_timeout is -1s: it must be more than 0`}},
	{"probes", fine + "probe_timeout = \"2s\"\n", []string{`9: group "ca": probe_timeout (2s) is not more than probe_interval (2s)`}},
	{"probes, by the other option", fine + "probe_interval = \"6s\"\n", []string{`9: group "ca": probe_timeout (5s) is not more than probe_interval (6s)`}},
	{"command and probe", fine + "probe_timeout = \"30s\"\n", []string{`9: group "ca": command_timeout (20s) is not more than probe_timeout (30s)`}},
	{"stuck", fine + "stuck_timeout = \"10s\"\n", []string{`9: group "ca": stuck_timeout (10s) is not more than command_timeout (20s)`}},
	{"stuck keygen", fine + "stuck_timeout_keygen = \"30s\"\n", []string{`9: group "ca": stuck_timeout_keygen (30s) is not more than stuck_timeout (1m0s)`}},
	{"less than a heartbeat", fine + "probe_interval = \"10ms\"\nprobe_timeout = \"20ms\"\ncommand_timeout = \"2s\"\n", []string{`11: group "ca": command_timeout is 2s: it must be more than 2s`}},

	{"all at once, in order", "[log]\nlevel = 3\n[[member]]\nname = \"a\"\nmodule = \"m.so\"\ntoken = \"t\"\nx = 1\n[[group]]\nname = \"g\"\nmembers = [\"a\", \"b\"]\nprobe_timeout = 3\nmin_copies = 9\n", []string{
		`2: log: level is 3`,
		`5: member "a": module "m.so" is no absolute path`,
		`7: member "a": unknown key "x"`,
		`10: group "g": member "b" is not defined`,
		`11: group "g": probe_timeout is 3`,
		`12: group "g": min_copies is 9`,
	}},
}

func TestMistakesAreToldAllAtOnceWithTheirLines(t *testing.T) {
	for _, c := range mistakes {
		t.Run(c.name, func(t *testing.T) {
			_, err := Parse("f.toml", []byte(c.text))
			if err == nil {
				t.Fatal("no error")
			}
			got := strings.Split(err.Error(), "\n")
			for i, line := range got {
				if i >= len(c.want) || !strings.HasPrefix(line, "f.toml:"+c.want[i]) {
					t.Fatalf("got\n%s\nwant\n%s", err, strings.Join(c.want, "\n"))
				}
			}
			if len(got) != len(c.want) {
				t.Errorf("got\n%s\nwant\n%s", err, strings.Join(c.want, "\n"))
			}
		})
	}
}

func TestThirtyTwoMembersAndNoMore(t *testing.T) {
	for _, n := range []int{32, 33} {
		var text, list strings.Builder
		for i := range n {
			fmt.Fprintf(&text, "[[member]]\nname = \"m%d\"\nmodule = \"/m.so\"\ntoken = \"t%d\"\n", i, i)
			fmt.Fprintf(&list, "\"m%d\", ", i)
		}
		_, err := Parse("f.toml", []byte(text.String()+"[[group]]\nname = \"g\"\nmembers = ["+list.String()+"]\n"))
		if (err == nil) != (n <= 32) {
			t.Errorf("%d members: err = %v", n, err)
		}
	}
}

func TestNamesWithOneSlotNumberAreRefused(t *testing.T) {
	first := map[uint64]string{}
	for i := 0; ; i++ {
		m := Member{Name: fmt.Sprint("m", i)}
		other, ok := first[m.Slot()]
		if !ok {
			first[m.Slot()] = m.Name
			continue
		}
		_, err := Parse("f.toml", fmt.Appendf(nil, "[[member]]\nname = %q\nmodule = \"/m.so\"\ntoken = \"t\"\n[[member]]\nname = %q\nmodule = \"/m.so\"\ntoken = \"u\"\n", other, m.Name))
		if err == nil || !strings.HasPrefix(err.Error(), fmt.Sprintf("f.toml:6: member %q: has the slot number of member %q", m.Name, other)) {
			t.Errorf("err = %v", err)
		}
		return
	}
}

func TestSizes(t *testing.T) {
	for text, want := range map[string]Size{"0B": 0, "5B": 5, "1KiB": 1024, "64 KiB": 65536, "1MiB": 1 << 20, "3GiB": 3 << 30} {
		var got Size
		if err := got.UnmarshalText([]byte(text)); err != nil || got != want {
			t.Errorf("%s = %d, %v", text, got, err)
		}
		if s := got.String(); s != strings.ReplaceAll(text, " ", "") {
			t.Errorf("%s prints as %s", text, s)
		}
	}
	for _, text := range []string{"", "5", "-1B", "1.5MiB", "KiB", "1MB", "9223372036854775807KiB"} {
		var got Size
		if err := got.UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%q = %d", text, got)
		}
	}
}
