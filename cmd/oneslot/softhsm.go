// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"oneslot.dev/oneslot/config"
	"oneslot.dev/oneslot/pkcs11"
)

// A sandbox is what its marker file holds. The marker is written first, says
// "complete" last, and is what allows --reset to remove things.
type sandbox struct {
	Magic    string `json:"made_by"`
	Complete bool   `json:"complete"`
	Members  int    `json:"members"`
	Label    string `json:"label"`
	PIN      string `json:"pin"` // of throw-away tokens; the file is readable by its owner alone
	SOPIN    string `json:"so_pin"`
	Module   string `json:"module"` // SoftHSM's

	Network   bool     `json:"network,omitempty"`
	Addresses []string `json:"addresses,omitempty"` // of the appliances
}

const (
	markerName  = ".oneslot-sandbox"
	markerMagic = "oneslot sandbox"
	secretName  = "domain.secret"

	// lockPatience is for another `oneslot sandbox` at work in the same folder.
	lockPatience = time.Minute
	lockRetry    = 50 * time.Millisecond
)

func configFile(dir string) string        { return filepath.Join(dir, "oneslot.toml") }
func softhsmConf(dir, name string) string { return filepath.Join(dir, name, "softhsm2.conf") }

// memberName gives a, b, … z, aa, ab, …
func memberName(i int) string {
	if i < 26 {
		return string(rune('a' + i))
	}
	return "a" + string(rune('a'+i-26))
}

// readMarker returns nil if there is none.
func readMarker(dir string) (*sandbox, error) {
	text, err := os.ReadFile(filepath.Join(dir, markerName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("sandbox: %w", err)
	}
	box := &sandbox{}
	if err := json.Unmarshal(text, box); err != nil || box.Magic != markerMagic {
		return nil, fmt.Errorf("sandbox: %s was not written by oneslot: take another folder", filepath.Join(dir, markerName))
	}
	return box, nil
}

// writeMarker replaces the marker in one step.
func (box *sandbox) writeMarker(dir string) error {
	box.Magic = markerMagic
	text, err := json.MarshalIndent(box, "", "  ")
	if err != nil {
		return err
	}
	fresh := filepath.Join(dir, markerName+".new")
	if err := os.WriteFile(fresh, append(text, '\n'), 0o600); err != nil {
		return err
	}
	return os.Rename(fresh, filepath.Join(dir, markerName))
}

// lockFolder makes the folder if need be and keeps other sandbox commands out.
// The lock is on the folder itself: it ends with the process, and leaves no file.
func lockFolder(ctx context.Context, dir string) (unlock func(), err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("sandbox: %w", err)
	}
	f, err := os.Open(dir)
	if err != nil {
		return nil, fmt.Errorf("sandbox: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, lockPatience)
	defer cancel()
	retry := time.NewTicker(lockRetry)
	defer retry.Stop()
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return func() { _ = f.Close() }, nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) {
			return nil, errors.Join(fmt.Errorf("sandbox %s: not locked: %w", dir, err), f.Close())
		}
		select {
		case <-ctx.Done():
			return nil, errors.Join(fmt.Errorf("sandbox %s: another oneslot sandbox is at work there", dir), f.Close())
		case <-retry.C:
		}
	}
}

// build makes everything anew, in place of what a sandbox left there.
func (box *sandbox) build(ctx context.Context, d *desk, dir string) error {
	box.Complete = false
	err := box.writeMarker(dir)
	for _, step := range []func() error{
		func() error { return clearSandbox(dir) },
		func() error { return box.makeTokens(ctx, dir) },
		func() error { return os.WriteFile(configFile(dir), box.toml(dir), 0o600) },
		func() error { return box.join(ctx, d, dir) },
		func() error { return box.network(ctx, dir) },
		func() error { box.Complete = true; return box.writeMarker(dir) },
	} {
		if err == nil {
			err = step()
		}
	}
	if err != nil {
		return fmt.Errorf("sandbox %s: not made: %w", dir, err)
	}
	return nil
}

// clearSandbox removes what sandboxes consist of, and nothing that somebody
// else put beside it.
func clearSandbox(dir string) error {
	names := []string{filepath.Base(configFile(dir)), secretName, "oneslot.log", "run", networkClient + ".crt", networkClient + ".key"}
	for i := range 32 {
		names = append(names, memberName(i))
	}
	for _, name := range names {
		if err := os.RemoveAll(filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	return nil
}

// makeTokens makes a SoftHSM for each member, with a configuration and a token
// folder of its own: they have nothing in common that could fail.
func (box *sandbox) makeTokens(ctx context.Context, dir string) error {
	for i := range box.Members {
		name := memberName(i)
		tokens, conf := filepath.Join(dir, name, "tokens"), softhsmConf(dir, name)
		if err := os.MkdirAll(tokens, 0o700); err != nil {
			return err
		}
		// reset_on_fork: for applications that are pointed at the bare token
		// and fork; without it SoftHSM fails them.
		text := "directories.tokendir = " + tokens + "\nobjectstore.backend = file\nlog.level = ERROR\nslots.removable = false\nlibrary.reset_on_fork = true\n"
		if err := os.WriteFile(conf, []byte(text), 0o600); err != nil {
			return err
		}
		if err := box.initToken(ctx, conf); err != nil {
			return fmt.Errorf("member %s: %w", name, err)
		}
	}
	return nil
}

func (box *sandbox) initToken(ctx context.Context, conf string) error {
	cmd := exec.CommandContext(ctx, "softhsm2-util", "--module", box.Module, "--init-token", "--free",
		"--label", box.Label, "--so-pin", box.SOPIN, "--pin", box.PIN)
	cmd.Env = append(os.Environ(), "SOFTHSM2_CONF="+conf)
	out, err := cmd.CombinedOutput()
	if errors.Is(err, exec.ErrNotFound) {
		return errors.New("softhsm2-util is missing: install it (Debian: apt install softhsm2)")
	}
	if err != nil {
		return fmt.Errorf("softhsm2-util: %w: %s", err, strings.TrimSpace(string(out)))
	}
	return nil
}

// join makes the domain. Its secret stays in the sandbox, for tokens that are
// added by hand.
func (box *sandbox) join(ctx context.Context, d *desk, dir string) error {
	cfg, err := config.Load(configFile(dir))
	if err != nil {
		return err
	}
	secret := newSecret()
	defer secret.Wipe()
	if err := writeSecret(filepath.Join(dir, secretName), secretHead, printable(secret)); err != nil {
		return err
	}
	for i := range cfg.Members {
		if _, err := d.joinDomain(ctx, cfg, &cfg.Members[i], pkcs11.PIN(box.SOPIN), pkcs11.PIN(box.PIN), secret); err != nil {
			return err
		}
	}
	return nil
}

// toml is the configuration. All tokens and the group have one label, so that
// an application finds the bare token by the same name; group_only keeps it
// from seeing several.
func (box *sandbox) toml(dir string) []byte {
	var b strings.Builder
	b.WriteString(box.tomlHead(dir))
	var names []string
	for i := range box.Members {
		name := memberName(i)
		names = append(names, tomlQuote(name))
		fmt.Fprintf(&b, "\n[[member]]\nname = %s\nmodule = %s\ntoken = %s\n[member.env]\nSOFTHSM2_CONF = %s\n",
			tomlQuote(name), tomlQuote(box.Module), tomlQuote(box.Label), tomlQuote(softhsmConf(dir, name)))
	}
	b.WriteString(box.tomlGroup(names))
	return []byte(b.String())
}

func (box *sandbox) tomlHead(dir string) string {
	return fmt.Sprintf("# Written by oneslot sandbox.\ngroup_only = true\nruntime_dir = %s\n\n[log]\nfile = %s\n",
		tomlQuote(filepath.Join(dir, "run")), tomlQuote(filepath.Join(dir, "oneslot.log")))
}

func (box *sandbox) tomlGroup(quoted []string) string {
	return fmt.Sprintf("\n[[group]]\nname = \"sandbox\"\nlabel = %s\nmembers = [%s]\n", tomlQuote(box.Label), strings.Join(quoted, ", "))
}

// tomlQuote: every JSON string is a basic string of TOML.
func tomlQuote(text string) string {
	quoted, err := json.Marshal(text)
	if err != nil {
		panic("a string has no JSON: " + err.Error())
	}
	return string(quoted)
}

// findSoftHSM looks where distributions put the library.
func findSoftHSM(named string) (string, error) {
	if named != "" {
		path, err := filepath.Abs(named)
		if err == nil {
			_, err = os.Stat(path)
		}
		if err != nil {
			return "", fmt.Errorf("sandbox: --module: %w", err)
		}
		return path, nil
	}
	patterns := []string{
		"/usr/lib/softhsm/libsofthsm2.so",       // Debian, Ubuntu
		"/usr/lib/*/softhsm/libsofthsm2.so",     // Debian multiarch
		"/usr/lib64/softhsm/libsofthsm2.so",     // SUSE
		"/usr/lib64/pkcs11/libsofthsm2.so",      // Fedora
		"/usr/lib/pkcs11/libsofthsm2.so",        // Arch
		"/usr/local/lib/softhsm/libsofthsm2.so", // built from source
		"/usr/lib/libsofthsm2.so",               // Alpine
		"/opt/*/lib/softhsm/libsofthsm2.so",     // others
	}
	for _, pattern := range patterns {
		if found, _ := filepath.Glob(pattern); len(found) > 0 {
			return found[0], nil
		}
	}
	return "", errors.New("sandbox: SoftHSM is missing: install it (Debian: apt install softhsm2) or name its library with --module")
}
