// SPDX-License-Identifier: Apache-2.0

package hosttest

import (
	_ "embed"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

//go:embed testdata/untrusting.c
var untrusting string

// Untrusting compiles a vendor module, SoftHSM without trusted keys, and returns
// its path.
func Untrusting(t testing.TB) string {
	t.Helper()
	folder := t.TempDir()
	source, module := filepath.Join(folder, "untrusting.c"), filepath.Join(folder, "untrusting.so")
	if err := os.WriteFile(source, []byte(untrusting), 0o600); err != nil {
		t.Fatal(err)
	}
	flags, err := exec.Command("pkg-config", "--cflags", "p11-kit-1").Output()
	if err != nil {
		t.Fatalf("pkg-config p11-kit-1: %v: run make deps", err)
	}
	arguments := append(strings.Fields(string(flags)), "-shared", "-fPIC", "-Wall", "-Werror", `-DSOFTHSM="`+SoftHSM+`"`, "-o", module, source, "-ldl")
	if out, err := exec.Command("cc", arguments...).CombinedOutput(); err != nil {
		t.Fatalf("cc: %v\n%s", err, out)
	}
	return module
}
