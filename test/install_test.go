// SPDX-License-Identifier: Apache-2.0

package test_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// What `make install` puts below a prefix works there: an application loads the module,
// which finds the programs, and the units name those that are there.
func TestInstalled(t *testing.T) {
	if !inProcess(t) {
		return
	}
	w := newWorld(t, 1)
	stage := filepath.Join(w.Dir, "stage")
	const prefix = "/opt/hsm"
	c := exec.Command("make", "-s", "-C", "..", "install", "BUILD="+bin, "DESTDIR="+stage, "PREFIX="+prefix)
	c.Env = append(os.Environ(), "MAKEFLAGS=")
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	below := func(path string) string { return filepath.Join(stage, prefix, path) }
	app := w.Command("pkcs11-tool", "--module", below("lib/oneslot-pkcs11.so"), "--list-slots")
	if out, err := app.CombinedOutput(); err != nil || !strings.Contains(string(out), w.Token) {
		t.Errorf("an application with the installed module: %v\n%s", err, out)
	}
	modes := map[string]os.FileMode{"lib/oneslot-pkcs11.so": 0o644, "share/doc/oneslot/configuration.md": 0o644, "share/doc/oneslot/LICENSE": 0o644}
	for _, program := range []string{"oneslot", "oneslot-member", "oneslot-appliance"} {
		modes["bin/"+program] = 0o755
	}
	units, err := filepath.Glob("../packaging/oneslot*.*")
	if err != nil || len(units) < 2 {
		t.Fatal(units, err)
	}
	for _, unit := range units {
		path := "lib/systemd/system/" + filepath.Base(unit)
		modes[path] = 0o644
		text, err := os.ReadFile(below(path))
		if err != nil || strings.Contains(string(text), "/usr/bin/oneslot") || strings.Contains(string(text), "/usr/share/doc") ||
			strings.HasSuffix(path, ".service") && !strings.Contains(string(text), "ExecStart="+prefix+"/bin/oneslot") {
			t.Errorf("%s: %v\n%s", path, err, text)
		}
	}
	for path, mode := range modes {
		if info, err := os.Stat(below(path)); err != nil || info.Mode() != mode {
			t.Errorf("%s: %v, not %v", path, err, mode)
		}
	}
}
