// SPDX-License-Identifier: Apache-2.0

package config

import (
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

const whole = `
group_only = true
member_program = "bin/oneslot-member"
runtime_dir = "run"

[log]
file = "oneslot.log"
level = "debug"

[[member]]
name = "a"
module = "/usr/lib/softhsm/libsofthsm2.so"
token = "ca"
[member.env]
SOFTHSM2_CONF = "/etc/a.conf"

[[member]]
name = "b"
module = "/usr/lib/softhsm/libsofthsm2.so"
serial = "0123456789abcdef"
env = { SOFTHSM2_CONF = "/etc/b.conf" }

[[group]]
name = "ca"
label = "CA keys"
members = ["a", # the comment is no member
  "b"]
standby = ["b"]
min_copies = 2
recovery = "manual"
recovery_interval = "90s"
recovery_attempts = 5
command_timeout = "10s"
probe_interval = "500ms"
probe_timeout = "1s"
stuck_timeout = "30s"
stuck_timeout_keygen = "1h"
multipart = "primary"
replay_limit = "64KiB"
key_export = true
`

func TestEveryOptionIsRead(t *testing.T) {
	got, err := Parse("/etc/oneslot/oneslot.toml", []byte(whole))
	if err != nil {
		t.Fatal(err)
	}
	module := "/usr/lib/softhsm/libsofthsm2.so"
	want := &Config{
		GroupOnly:     true,
		MemberProgram: "/etc/oneslot/bin/oneslot-member",
		RuntimeDir:    "/etc/oneslot/run",
		Log:           Log{File: "/etc/oneslot/oneslot.log", Level: slog.LevelDebug},
		Members: []Member{
			{Name: "a", Module: module, Token: "ca", Env: map[string]string{"SOFTHSM2_CONF": "/etc/a.conf"}},
			{Name: "b", Module: module, Serial: "0123456789abcdef", Env: map[string]string{"SOFTHSM2_CONF": "/etc/b.conf"}},
		},
		Groups: []Group{{
			Name: "ca", Label: "CA keys", Members: []string{"a", "b"}, Standby: []string{"b"}, MinCopies: 2,
			Recovery: RecoverManual, RecoveryInterval: 90 * time.Second, RecoveryAttempts: 5,
			CommandTimeout: 10 * time.Second, ProbeInterval: 500 * time.Millisecond, ProbeTimeout: time.Second,
			StuckTimeout: 30 * time.Second, StuckTimeoutKeygen: time.Hour,
			Multipart: MultipartPrimary, ReplayLimit: 64 << 10, KeyExport: true,
		}},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func TestDefaults(t *testing.T) {
	c, err := Parse("x.toml", []byte(`
[[member]]
name = "a"
module = "/m.so"
token = "t"
[[group]]
name = "g"
members = ["a"]
`))
	if err != nil {
		t.Fatal(err)
	}
	want := Group{
		Name: "g", Label: "g", Members: []string{"a"}, MinCopies: 1,
		Recovery: RecoverAuto, RecoveryInterval: time.Minute, RecoveryAttempts: -1,
		CommandTimeout: 20 * time.Second, ProbeInterval: 2 * time.Second, ProbeTimeout: 5 * time.Second,
		StuckTimeout: time.Minute, StuckTimeoutKeygen: 45 * time.Minute,
		Multipart: MultipartBalance, ReplayLimit: 1 << 20,
	}
	if got := c.Groups[0]; !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	if c.Log.Level != slog.LevelInfo || c.Log.File != "" || c.GroupOnly {
		t.Errorf("got %+v", c)
	}
}

// A default that cannot be read would panic at the first file without it.
func TestEveryOptionHasADefaultOrIsRequired(t *testing.T) {
	required := map[string]bool{"name": true, "module": true}
	var walk func(reflect.Type)
	walk = func(s reflect.Type) {
		for i := range s.NumField() {
			f := s.Field(i)
			key := f.Tag.Get("toml")
			inner := f.Type
			if inner.Kind() == reflect.Slice {
				inner = inner.Elem()
			}
			_, ok := f.Tag.Lookup("default")
			switch {
			case key == "":
				t.Errorf("%s.%s has no key", s.Name(), f.Name)
			case inner.Kind() == reflect.Struct:
				walk(inner)
			case f.Type.Kind() != reflect.Slice && f.Type.Kind() != reflect.Map && !ok && !required[key]:
				t.Errorf("%s.%s has no default", s.Name(), f.Name)
			}
		}
	}
	walk(reflect.TypeFor[Config]())
}

func TestLoadTellsWhyAFileCannotBeRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "none.toml")
	if _, err := Load(path); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), path) {
		t.Errorf("err = %v", err)
	}
}

func TestLoadRefusesWhatIsFarTooLarge(t *testing.T) {
	path := filepath.Join(t.TempDir(), "large.toml")
	if err := os.WriteFile(path, []byte(strings.Repeat("#\n", maxFile)), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(path); err == nil || !strings.Contains(err.Error(), "larger than 1 MiB") {
		t.Errorf("err = %v", err)
	}
}

func TestLoadAnchorsPathsAtTheFile(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "o.toml")
	if err := os.WriteFile(path, []byte(whole), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := Load(path)
	if err != nil {
		t.Fatal(err)
	}
	if want := filepath.Join(folder, "run"); c.RuntimeDir != want || c.Runtime() != want {
		t.Errorf("RuntimeDir = %s, want %s", c.RuntimeDir, want)
	}
}

// Slot and serial numbers are written into the configurations of applications:
// these values must never change (rules G3, E1 of the field reports).
func TestNumbersFollowFromNamesForEver(t *testing.T) {
	g, m := Group{Name: "ca"}, Member{Name: "a"}
	if got := g.Serial(); got != "b646c41ab98ed0f8" {
		t.Errorf("Serial() = %q", got)
	}
	if got := g.Slot(); got != 0x20b646c4 {
		t.Errorf("group Slot() = %#x", got)
	}
	if got := m.Slot(); got != 0x1052f96b {
		t.Errorf("member Slot() = %#x", got)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(whole))
	for _, c := range mistakes {
		f.Add([]byte(c.text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		c, err := Parse("fuzz.toml", text)
		if (c == nil) == (err == nil) {
			t.Fatalf("c = %v, err = %v", c, err)
		}
		var problems Problems
		if !errors.As(err, &problems) {
			return
		}
		lines := strings.Count(string(text), "\n") + 1
		for _, p := range problems {
			if p.Line < 1 || p.Line > lines || p.What == "" {
				t.Errorf("%d lines, problem %+v", lines, p)
			}
		}
	})
}
