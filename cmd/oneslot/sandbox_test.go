// SPDX-License-Identifier: Apache-2.0

package main

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"oneslot.dev/oneslot/config"
)

// sandboxBench has SoftHSM's real tokens, and a domain that is only described.
func sandboxBench(t *testing.T) (b *bench, dir string) {
	t.Helper()
	if _, err := exec.LookPath("softhsm2-util"); err != nil {
		t.Fatal("softhsm2-util is not installed: run make deps")
	}
	top, err := os.MkdirTemp("", "box")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(top) })
	return newBench(t), filepath.Join(top, "s")
}

// contents is the hash of every file in a folder.
func contents(t *testing.T, dir string) map[string][32]byte {
	t.Helper()
	all := map[string][32]byte{}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		all[path] = sha256.Sum256(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func same(a, b map[string][32]byte) bool { return fmt.Sprint(a) == fmt.Sprint(b) }

func TestSandboxIsMadeOnceAndPrintedAgain(t *testing.T) {
	b, dir := sandboxBench(t)
	if code := b.run("sandbox", dir, "--label", "it's $HOME", "--members", "2", "--pin", "p'in \"1\""); code != 0 {
		t.Fatal(b.err.String())
	}
	first, made := b.out.String(), contents(t, dir)
	if code := b.run("sandbox", dir); code != 0 || b.out.String() != first {
		t.Errorf("code %d, %s\nfirst %s", code, b.out.String(), first)
	}
	if !same(made, contents(t, dir)) {
		t.Error("the second run changed files")
	}
	// What a shell makes of it is what was asked for.
	out, err := exec.Command("sh", "-c", `eval "$1"; printf '%s|' "$TOKEN" "$PIN" "$SO_PIN" "$ONESLOT_CONF" "$SOFTHSM2_CONF"; basename "$MODULE"`, "sh", first).Output()
	want := fmt.Sprintf("it's $HOME|p'in \"1\"|12345678|%s/oneslot.toml|%s/a/softhsm2.conf|oneslot-pkcs11.so\n", dir, dir)
	if err != nil || string(out) != want {
		t.Errorf("%v, got %s, want %s", err, out, want)
	}
	cfg, err := config.Load(filepath.Join(dir, "oneslot.toml"))
	if err != nil {
		t.Fatal(err)
	}
	if len(cfg.Members) != 2 || cfg.Groups[0].Label != "it's $HOME" || cfg.RuntimeDir != dir+"/run" || cfg.Log.File != dir+"/oneslot.log" {
		t.Errorf("%+v", cfg)
	}
	if want := "[join a join b]"; fmt.Sprint(b.calls) != want {
		t.Errorf("calls %v, want %s", b.calls, want)
	}
	for path := range made {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s can be read by others: %v %v", path, info.Mode(), err)
		}
	}
}

func TestSandboxTokensAreSeparate(t *testing.T) {
	b, dir := sandboxBench(t)
	if code := b.run("sandbox", dir, "--members", "2"); code != 0 {
		t.Fatal(b.err.String())
	}
	for _, name := range []string{"a", "b"} {
		cmd := exec.Command("softhsm2-util", "--show-slots")
		cmd.Env = append(os.Environ(), "SOFTHSM2_CONF="+softhsmConf(dir, name))
		out, err := cmd.Output()
		if err != nil || strings.Count(string(out), "Initialized:      yes") != 1 {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
}

func TestSandboxRefusesOtherOptionsThanItWasMadeWith(t *testing.T) {
	b, dir := sandboxBench(t)
	if code := b.run("sandbox", dir, "--members", "1"); code != 0 {
		t.Fatal(b.err.String())
	}
	made := contents(t, dir)
	if code := b.run("sandbox", dir, "--members", "2", "--pin", "9999"); code != 1 || !strings.Contains(b.err.String(), "another value of --members and --pin") {
		t.Errorf("code %d, %s", code, b.err.String())
	}
	if !same(made, contents(t, dir)) {
		t.Error("files were changed")
	}
}

func TestSandboxReset(t *testing.T) {
	b, dir := sandboxBench(t)
	if code := b.run("sandbox", dir, "--members", "3"); code != 0 {
		t.Fatal(b.err.String())
	}
	before := contents(t, dir)
	foreign := filepath.Join(dir, "notes.txt")
	if err := os.WriteFile(foreign, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if code := b.run("sandbox", dir, "--members", "1", "--reset"); code != 0 {
		t.Fatal(b.err.String())
	}
	after := contents(t, dir)
	if _, err := os.Stat(foreign); err != nil {
		t.Error("a file that is not the sandbox's is gone")
	}
	if secret := filepath.Join(dir, secretName); before[secret] == after[secret] {
		t.Error("the domain is the old one")
	}
	if _, err := os.Stat(filepath.Join(dir, "b")); err == nil {
		t.Error("the token of member b is still there")
	}
}

func TestSandboxTouchesNoFolderOfOthers(t *testing.T) {
	for _, name := range []string{"notes.txt", markerName} {
		b, dir := sandboxBench(t)
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte("{}"), 0o600); err != nil {
			t.Fatal(err)
		}
		made := contents(t, dir)
		for _, args := range [][]string{{"sandbox", dir}, {"sandbox", dir, "--reset"}} {
			if code := b.run(args...); code != 1 || !strings.Contains(b.err.String(), "take another folder") {
				t.Errorf("%v: code %d, %s", args, code, b.err.String())
			}
		}
		if !same(made, contents(t, dir)) {
			t.Error("files were changed")
		}
	}
}

// A run that ended anywhere in the middle leaves a marker that is not complete.
func TestAHalfMadeSandboxIsMadeAnew(t *testing.T) {
	b, dir := sandboxBench(t)
	b.tokens["b"] = &token{unreachable: errors.New("killed here")}
	if code := b.run("sandbox", dir); code != 1 || !strings.Contains(b.err.String(), "killed here") || b.out.Len() > 0 {
		t.Fatalf("code %d, %s%s", code, b.out.String(), b.err.String())
	}
	b.tokens["b"] = &token{}
	if code := b.run("sandbox", dir); code != 0 || !strings.Contains(b.err.String(), "was left half made; making it anew") {
		t.Errorf("code %d, %s", code, b.err.String())
	}
	if code := b.run("sandbox", dir); code != 0 || strings.Contains(b.err.String(), "half made") {
		t.Errorf("code %d, %s", code, b.err.String())
	}
}

func TestSandboxOptionsAreCheckedBeforeAnythingIsMade(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--members", "33"}, "a group has 1 to 32 members"},
		{[]string{"--members=-1"}, "a group has 1 to 32 members"},
		{[]string{"--label", strings.Repeat("x", 33)}, "at most 32 bytes"},
		{[]string{"--label", "a\nb"}, "no control characters"},
		{[]string{"--pin", "123"}, "--pin: SoftHSM takes 4 to 255"},
		{[]string{"--so-pin", "1"}, "--so-pin: SoftHSM takes 4 to 255"},
		{[]string{"--module", "/nonexistent.so"}, "--module: stat /nonexistent.so"},
	} {
		b, dir := sandboxBench(t)
		if code := b.run(append([]string{"sandbox", dir}, c.args...)...); code != 1 || !strings.Contains(b.err.String(), c.want) {
			t.Errorf("%v: code %d, %s", c.args, code, b.err.String())
		}
		if made := contents(t, dir); len(made) > 0 {
			t.Errorf("%v: made %v", c.args, made)
		}
	}
}

func TestSandboxNamesThePackageThatIsMissing(t *testing.T) {
	b, dir := sandboxBench(t)
	t.Setenv("PATH", t.TempDir())
	if code := b.run("sandbox", dir); code != 1 || !strings.Contains(b.err.String(), "apt install softhsm2") {
		t.Errorf("code %d, %s", code, b.err.String())
	}
}

func TestMemberNamesAreDifferent(t *testing.T) {
	seen := map[string]bool{}
	for i := range 32 {
		seen[memberName(i)] = true
	}
	if len(seen) != 32 {
		t.Errorf("%d names", len(seen))
	}
}

func TestSandboxesMadeAtTheSameTimeAreOne(t *testing.T) {
	_, dir := sandboxBench(t)
	const runs = 4
	printed := make(chan string, runs)
	for range runs {
		b := newBench(t)
		go func() {
			code := b.run("sandbox", dir, "--members", "1")
			printed <- fmt.Sprintf("%d %s%s", code, b.out.String(), b.err.String())
		}()
	}
	first := <-printed
	if !strings.HasPrefix(first, "0 export MODULE=") {
		t.Error(first)
	}
	for range runs - 1 {
		if got := <-printed; got != first {
			t.Errorf("got %s, want %s", got, first)
		}
	}
}
