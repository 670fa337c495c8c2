// SPDX-License-Identifier: Apache-2.0

package config

import (
	"os"
	"path/filepath"
	"testing"
)

// O2: what is wrong elsewhere in a file does not hide where its log is.
func TestSalvage(t *testing.T) {
	const head = "runtime_dir = \"/run/x\"\n[log]\nfile = \"my.log\"\nlevel = \"debug\"\n"
	for name, c := range map[string]struct{ text, dir, log string }{
		"unknown key":  {head + "[[group]]\nnonsense = 1\n", "/run/x", "my.log"},
		"no TOML":      {head + "[[[\n", "/run/x", "my.log"},
		"no TOML at 1": {"[[[\n" + head, "", ""},
		"empty":        {"", "", ""},
	} {
		path := filepath.Join(t.TempDir(), "oneslot.toml")
		if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		log := c.log
		if log != "" {
			log = filepath.Join(filepath.Dir(path), log)
		}
		if got := Salvage(path); got.RuntimeDir != c.dir || got.Log.File != log || len(got.Groups) > 0 {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if got := Salvage("/none/such.toml"); got == nil || got.RuntimeDir != "" {
		t.Errorf("no file: %+v", got)
	}
}
