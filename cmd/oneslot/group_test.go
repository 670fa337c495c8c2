// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// O1: each command changes what it says, comments stay, and what would be wrong
// is refused and changes nothing.
func TestGroupCommands(t *testing.T) {
	for _, c := range []struct {
		args string
		exit int
		want string // in the file, or in the error
	}{
		{"add-standby g b", 0, `standby = ["b"]`},
		{"remove-member g b", 0, `members = ["a"]`},
		{"create h b a --label=H", 0, "[[group]]\nname = \"h\"\nlabel = \"H\"\nmembers = [\"b\", \"a\"]"},
		{"create-group h b", 0, `name = "h"`},
		{"recovery-mode g manual", 0, `recovery = "manual"`},
		{"auto-recovery g manual", 0, `recovery = "manual"`},
		{"retry g 5", 0, "recovery_attempts = 5"},
		{"retry g -- -1", 0, `members = ["a", "b"]`},
		{"retry g 0", 0, `recovery = "manual"`},
		{"interval g 30", 0, `recovery_interval = "30s"`},
		{"ha-only on", 0, "group_only = true"},
		{"delete g", 0, "[[member]]"},
		{"add-member g a", 0, `members = ["a", "b"]`},
		{"add-member g nobody", 1, "not defined"},
		{"remove-member g nobody", 1, "no member"},
		{"interval g never", 1, "not changed"},
		{"delete nothing", 1, "not defined: there is g"},
		{"add-standby g a", 0, `standby = ["a"]`},
		{"addStandby g b", 0, `standby = ["b"]`},
		{"removeStandby g b", 0, `members = ["a", "b"]`},
		{"removeMember g b", 0, `members = ["a"]`},
		{"addMember g b --standby", 0, `members = ["a", "b"]`},
		{"createGroup h b", 0, `name = "h"`},
		{"deleteGroup g", 0, "[[member]]"},
		{"recoveryMode g manual", 0, `recovery = "manual"`},
		{"HAOnly on", 0, "group_only = true"},
	} {
		path := filepath.Join(t.TempDir(), "oneslot.toml")
		if err := os.WriteFile(path, []byte(watched), 0o640); err != nil {
			t.Fatal(err)
		}
		b := newBench(t)
		args := strings.Fields(c.args)
		exit := b.run(append([]string{"group", args[0], "--config=" + path}, args[1:]...)...)
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		where := string(text)
		if c.exit != 0 {
			where = b.err.String()
			if string(text) != watched {
				t.Errorf("%s: failed and changed the file", c.args)
			}
		}
		if exit != c.exit || !strings.Contains(where, c.want) {
			t.Errorf("%s: exit code %d\n%s%s", c.args, exit, b.err.String(), where)
		}
		if !strings.HasPrefix(c.args, "delete") && !strings.Contains(string(text), "# keep me") {
			t.Errorf("%s: the comment is gone", c.args)
		}
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o640 {
			t.Errorf("%s: mode %v, %v", c.args, info.Mode(), err)
		}
	}
}

// The names that a Luna administrator expects are there, as commands of their
// own or for ours, and no other name is changed.
func TestFamiliarNames(t *testing.T) {
	for from, want := range map[string]string{
		"hagroup addMember": "group add-member", "haAdmin newGroup": "group create", "group haOnly": "group group-only",
		"group synchronize": "group sync", "group ha-only": "group group-only", "group listGroups": "group list",
		"group unknown": "group unknown", "cert addMember": "cert addMember", "group": "group",
	} {
		if got := strings.Join(ours(strings.Fields(from)), " "); got != want {
			t.Errorf("%s: %s, want %s", from, got, want)
		}
	}
	for _, command := range []string{"synchronize", "sync", "group sync", "hagroup synchronize", "hagroup recover", "group --help"} {
		b := newBench(t)
		if b.run(append(strings.Fields(command), "--help")...); !strings.Contains(b.out.String(), "Usage: oneslot") {
			t.Errorf("%s: %s%s", command, b.out.String(), b.err.String())
		}
	}
}
