// SPDX-License-Identifier: Apache-2.0

// Package hosttest gives tests soft tokens, and member processes on them.
package hosttest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"oneslot.dev/oneslot/test/programs"
	"oneslot.dev/oneslot/wire"
)

// What the tokens of tests have in common.
const (
	SoftHSM    = "/usr/lib/softhsm/libsofthsm2.so"
	OfficerPIN = "87654321"
	UserPIN    = "1234"
)

// A Soft is a SoftHSM token in a folder of its own. SoftHSM reads its
// configuration from the environment, so two of them need two processes.
type Soft struct {
	Label string
	Conf  string // path of softhsm2.conf
	Dir   string // folder of the tokens
}

// Env is what a process needs in its environment to see the token.
func (s *Soft) Env() string { return "SOFTHSM2_CONF=" + s.Conf }

// Token makes a token.
func Token(t testing.TB, label string) *Soft {
	t.Helper()
	if _, err := os.Stat(SoftHSM); err != nil {
		t.Fatal("SoftHSM is not installed: run make deps")
	}
	folder := t.TempDir()
	s := &Soft{Label: label, Conf: filepath.Join(folder, "softhsm2.conf"), Dir: filepath.Join(folder, "tokens")}
	if err := os.Mkdir(s.Dir, 0o700); err != nil {
		t.Fatal(err)
	}
	conf := fmt.Sprintf("directories.tokendir = %s\nobjectstore.backend = file\nlog.level = ERROR\n", s.Dir)
	if err := os.WriteFile(s.Conf, []byte(conf), 0o600); err != nil {
		t.Fatal(err)
	}
	s.Add(t, label)
	return s
}

// Add makes a further token beside the first.
func (s *Soft) Add(t testing.TB, label string) {
	t.Helper()
	run := exec.Command("softhsm2-util", "--init-token", "--free", "--label", label, "--so-pin", OfficerPIN, "--pin", UserPIN)
	run.Env = append(os.Environ(), s.Env())
	if out, err := run.CombinedOutput(); err != nil {
		t.Fatalf("softhsm2-util: %v\n%s", err, out)
	}
}

var (
	building sync.Once
	program  string // folder of the programs
	buildErr error
)

// Program is the path of oneslot-member, with the appliance's program beside it. If
// it is built for these tests it lies where the test program does, in a folder that
// go test removes.
func Program(t testing.TB) string {
	t.Helper()
	building.Do(func() {
		var own string
		if own, buildErr = os.Executable(); buildErr != nil {
			return
		}
		program, buildErr = programs.In(filepath.Dir(own), programs.Race, programs.Member, programs.Appliance)
	})
	if buildErr != nil {
		t.Fatalf("build oneslot-member: %v", buildErr)
	}
	return filepath.Join(program, programs.Member)
}

// Start starts a member process on the token and connects with it. More
// arguments go to the program.
func Start(t testing.TB, s *Soft, more ...string) wire.Client {
	t.Helper()
	return StartModule(t, []string{s.Env()}, append([]string{"--module", SoftHSM, "--token", s.Label}, more...)...)
}

// StartModule starts a member process with these arguments and additions to its environment.
func StartModule(t testing.TB, env []string, arguments ...string) wire.Client {
	t.Helper()
	ours, theirs, err := wire.SocketPair(unix.SOCK_SEQPACKET)
	if err != nil {
		t.Fatal(err)
	}
	defer theirs.Close()
	child := exec.Command(Program(t), append([]string{"child", "--fd", "3"}, arguments...)...)
	child.Env = append(os.Environ(), env...)
	child.ExtraFiles = []*os.File{theirs}
	child.Stdout, child.Stderr = os.Stdout, os.Stderr
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	client := wire.NewSockets(ours)
	t.Cleanup(func() {
		client.Close()
		child.Wait()
	})
	return client
}

// A Stream is a session on a token, for tests.
type Stream struct {
	wire.Stream
	t testing.TB
}

// Open opens a session.
func Open(t testing.TB, c wire.Client, view wire.View) *Stream {
	t.Helper()
	s, err := c.Open(view)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return &Stream{s, t}
}

// Patience is how long a call may take in tests.
const Patience = time.Minute

// Do sends the calls, which must arrive.
func (s *Stream) Do(calls ...wire.Call) {
	s.t.Helper()
	if _, _, err := s.Stream.Do(s.t.Context(), Patience, Patience, calls...); err != nil {
		s.t.Fatalf("%v: %v", calls[0].Number(), err)
	}
}

// Must sends the calls, which must succeed.
func (s *Stream) Must(calls ...wire.Call) {
	s.t.Helper()
	s.Do(calls...)
	for _, c := range calls {
		if c.Result() != 0 {
			s.t.Fatalf("%v: %v", c.Number(), c.Result())
		}
	}
}

// Login logs the user in.
func (s *Stream) Login() {
	s.t.Helper()
	s.Must(&wire.Login{User: 1, Pin: []byte(UserPIN)})
}
