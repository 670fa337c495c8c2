// SPDX-License-Identifier: Apache-2.0

package hosttest

import (
	_ "embed"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// Module compiles a vendor's module that misbehaves, and returns its path.
// Options go to the compiler.
func Module(t testing.TB, source string, options ...string) string {
	t.Helper()
	flags, err := exec.Command("pkg-config", "--cflags", "p11-kit-1").Output()
	if err != nil {
		t.Fatalf("pkg-config: %v: run make deps", err)
	}
	folder := t.TempDir()
	c, so := filepath.Join(folder, "m.c"), filepath.Join(folder, "m.so")
	if err := os.WriteFile(c, []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	arguments := append(append([]string{"-shared", "-fPIC", "-o", so, c, "-ldl"}, strings.Fields(string(flags))...), options...)
	if out, err := exec.Command("cc", arguments...).CombinedOutput(); err != nil {
		t.Fatalf("cc: %v\n%s", err, out)
	}
	return so
}

//go:embed testdata/slow.c
var slowSource string

// A Slow is SoftHSM whose functions take as long as a test wants.
type Slow struct {
	Path   string // of the module
	Folder string // what the variable SLOW of its processes must name
	t      testing.TB
	before map[string]int // calls of each function when it was made slow last
}

// NewSlow makes one. C_Initialize, C_GenerateKeyPair, C_SignInit, C_Login and C_GenerateRandom
// can be slow.
func NewSlow(t testing.TB) *Slow {
	t.Helper()
	return &Slow{Module(t, slowSource, "-Wall", "-Werror", `-DSOFTHSM="`+SoftHSM+`"`), t.TempDir(), t, map[string]int{}}
}

// Make makes a function take that many seconds, until it is undone: then calls
// that linger go on at once. The module may run as another user.
func (s *Slow) Make(function, seconds string) (undo func()) {
	s.t.Helper()
	s.before[function] = s.Calls(function)
	file := filepath.Join(s.Folder, function)
	if err := os.WriteFile(file, []byte(seconds), 0o644); err != nil {
		s.t.Fatal(err)
	}
	return func() {
		s.t.Helper()
		if err := os.Remove(file); err != nil {
			s.t.Fatal(err)
		}
	}
}

// Calls is how many calls of a function there were while it was slow.
func (s *Slow) Calls(function string) int {
	s.t.Helper()
	return len(s.noted(function, "calls"))
}

// Ended is how many of them have done their work.
func (s *Slow) Ended(function string) int {
	s.t.Helper()
	return len(s.noted(function, "ended"))
}

// Callers are the processes that have called a function since it was made slow last.
// Where it takes long they are in it still, and in nothing else that a signal would harm:
// SoftHSM's C_Login empties token.object and writes it anew, and who is killed in
// between leaves a folder that is no token any more.
func (s *Slow) Callers(function string) []int {
	s.t.Helper()
	return s.noted(function, "calls")[s.before[function]:]
}

func (s *Slow) noted(function, what string) (pids []int) {
	s.t.Helper()
	text, err := os.ReadFile(filepath.Join(s.Folder, function+"."+what))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		s.t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		pid, err := strconv.Atoi(strings.TrimSuffix(line, "\n"))
		if err != nil {
			s.t.Fatal(err)
		}
		pids = append(pids, pid)
	}
	return pids
}
