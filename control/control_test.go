// SPDX-License-Identifier: Apache-2.0

package control

import (
	"context"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

// folder is a short path: the name of a Unix socket has at most 107 bytes.
func folder(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "control")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return filepath.Join(dir, "run")
}

func sample() Status {
	at := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	return Status{
		Engine:        Engine{PID: os.Getpid(), Version: "v1", Started: at, Private: true},
		Configuration: "/etc/oneslot/oneslot.toml",
		Applications:  []Application{{PID: 7, Name: "nginx", Sessions: 3}},
		Groups: []Group{{
			Name: "ca", Label: "ca", Serial: "0123456789abcdef", Slot: 0x20000001, State: Degraded, Primary: "a",
			Members: []Member{{Name: "a", Role: Active, Primary: true, State: "ready", Since: at, Outstanding: 2, Calls: 100, Objects: 4}},
		}},
	}
}

func TestAnEngineTellsItsStatus(t *testing.T) {
	dir := folder(t)
	stop, err := Serve(t.Context(), dir, sample)
	if err != nil {
		t.Fatal(err)
	}
	got, err := Engines(t.Context(), dir)
	if err != nil || !reflect.DeepEqual(got, []Status{sample()}) {
		t.Errorf("got %+v, %v", got, err)
	}
	for path, want := range map[string]fs.FileMode{dir: 0o700 | fs.ModeDir, socketPath(dir, os.Getpid()): 0o600 | fs.ModeSocket} {
		if info, err := os.Stat(path); err != nil || info.Mode() != want {
			t.Errorf("%s: mode %v, %v, want %v", path, info.Mode(), err, want)
		}
	}
	stop()
	stop() // the second time does nothing
	if got, err := Engines(t.Context(), dir); err != nil || len(got) != 0 {
		t.Errorf("after stop: got %+v, %v", got, err)
	}
	if _, err := os.Stat(socketPath(dir, os.Getpid())); !os.IsNotExist(err) {
		t.Errorf("the socket is still there: %v", err)
	}
}

func TestServeEndsWithItsContext(t *testing.T) {
	dir := folder(t)
	ctx, cancel := context.WithCancel(t.Context())
	stop, err := Serve(ctx, dir, sample)
	if err != nil {
		t.Fatal(err)
	}
	c, err := net.Dial("unix", socketPath(dir, os.Getpid()))
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	// The server closes the connection: that is the sign, not the clock.
	if _, err := c.Read(make([]byte, 1)); err == nil {
		t.Error("the connection is still open")
	}
	if _, err := net.Dial("unix", socketPath(dir, os.Getpid())); err == nil {
		t.Error("still listening")
	}
	stop()
}

func TestNoFolderMeansNoEngine(t *testing.T) {
	if got, err := Engines(t.Context(), folder(t)); err != nil || len(got) != 0 {
		t.Errorf("got %+v, %v", got, err)
	}
}

// dead is the process ID of a process that has ended.
func dead(t *testing.T) int {
	t.Helper()
	cmd := exec.Command("true")
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	return cmd.Process.Pid
}

// leave makes a socket, with nobody behind it if kept is false.
func leave(t *testing.T, dir string, pid int, kept bool) string {
	t.Helper()
	if err := Prepare(dir); err != nil {
		t.Fatal(err)
	}
	path := socketPath(dir, pid)
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path})
	if err != nil {
		t.Fatal(err)
	}
	l.SetUnlinkOnClose(false)
	if kept {
		t.Cleanup(func() { _ = l.Close() })
	} else if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestSocketsOfDeadProcessesAreRemovedAndNothingElse(t *testing.T) {
	dir := folder(t)
	stale := leave(t, dir, dead(t), false)
	starting := leave(t, dir, os.Getpid(), false) // bound, not yet listening
	other := filepath.Join(dir, "control-x.sock")
	if err := os.WriteFile(other, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := Engines(t.Context(), dir); err != nil || len(got) != 0 {
		t.Errorf("got %+v, %v", got, err)
	}
	if _, err := os.Stat(stale); !os.IsNotExist(err) {
		t.Errorf("the stale socket is still there: %v", err)
	}
	for _, path := range []string{starting, other} {
		if _, err := os.Stat(path); err != nil {
			t.Errorf("%s was removed", path)
		}
	}
}

func TestAnEngineThatDoesNotAnswerIsReportedBesideTheOthers(t *testing.T) {
	dir := folder(t)
	leave(t, dir, os.Getppid(), true) // connects, never answers: as a stopped engine
	stop, err := Serve(t.Context(), dir, sample)
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	got, err := Engines(t.Context(), dir)
	if err != nil || len(got) != 2 {
		t.Fatalf("got %+v, %v", got, err)
	}
	for _, s := range got {
		mute := s.Engine.PID == os.Getppid()
		if mute != strings.Contains(s.Unreachable, "no answer within") {
			t.Errorf("engine %d: Unreachable = %q", s.Engine.PID, s.Unreachable)
		}
	}
}

func TestAFolderThatOthersMayWriteToIsRefused(t *testing.T) {
	for name, spoil := range map[string]func(dir string) error{
		"mode": func(dir string) error { return os.Chmod(dir, 0o777) },
		"file": func(dir string) error { return replace(dir, func() error { return os.WriteFile(dir, nil, 0o600) }) },
		"link": func(dir string) error { return replace(dir, func() error { return os.Symlink(t.TempDir(), dir) }) },
		"owner": func(dir string) error {
			if os.Getuid() != 0 {
				t.Skip("only root can give a folder away")
			}
			return os.Chown(dir, 12345, 12345)
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := folder(t)
			if err := Prepare(dir); err != nil {
				t.Fatal(err)
			}
			if err := spoil(dir); err != nil {
				t.Fatal(err)
			}
			if _, err := Engines(t.Context(), dir); err == nil {
				t.Error("Engines trusts it")
			}
			if stop, err := Serve(t.Context(), dir, sample); err == nil {
				stop()
				t.Error("Serve trusts it")
			}
		})
	}
}

func replace(dir string, with func() error) error {
	if err := os.Remove(dir); err != nil {
		return err
	}
	return with()
}

func TestOnlyTheSameUserAndRootAreTrusted(t *testing.T) {
	for uid, want := range map[uint32]bool{0: true, uint32(os.Geteuid()): true, uint32(os.Geteuid()) + 1: false} {
		if got := trustPeer(uid) == nil; got != want {
			t.Errorf("user %d: trusted = %v", uid, got)
		}
	}
}

func TestThePeerOfASocketIsKnown(t *testing.T) {
	dir := folder(t)
	path := leave(t, dir, os.Getpid(), true)
	c, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := peerTrusted(c); err != nil {
		t.Error(err)
	}
	a, b := net.Pipe()
	defer a.Close()
	defer b.Close()
	if peerTrusted(a) == nil {
		t.Error("a pipe has no peer to trust")
	}
}
