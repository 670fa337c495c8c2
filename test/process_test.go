// SPDX-License-Identifier: Apache-2.0

package test_test

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// A stress is p11stress as a process of its own.
type stress struct {
	*exec.Cmd
	w   *world
	out output
}

// output is what a process has said so far.
type output struct {
	mu   sync.Mutex // guards text
	text bytes.Buffer
}

func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(b)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// stress starts p11stress in a process group of its own, as a shell does.
func (w *world) stress(args ...string) *stress {
	w.t.Helper()
	s := &stress{Cmd: w.Command(filepath.Join(bin, "p11stress"), args...), w: w}
	if socket := w.socket(); socket != "" {
		s.Env = append(s.Env, "ONESLOT_SOCKET="+socket)
	}
	s.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	s.Stdout, s.Stderr = &s.out, &s.out
	w.must(s.Start())
	return s
}

// A second in which p11stress got answers, all of them right ones.
var goodSecond = regexp.MustCompile(`(?m)^second \d+: [1-9]\d* verified, 0 failed, 0 wrong`)

// goodSeconds is how many there were.
func (s *stress) goodSeconds() int { return len(goodSecond.FindAllString(s.out.String(), -1)) }

// work waits until each has done work since it was asked, so is past its login
// and whatever else comes before.
func (w *world) work(all ...*stress) {
	w.t.Helper()
	before := make([]int, len(all))
	for i, s := range all {
		before[i] = s.goodSeconds()
	}
	for i, s := range all {
		w.await("an application to work", func() bool { return s.goodSeconds() > before[i] })
	}
}

// end lets it come to an end, which must be a good one.
func (s *stress) end() {
	s.w.t.Helper()
	s.w.must(s.Process.Signal(syscall.SIGTERM))
	defer time.AfterFunc(2*time.Minute, func() { s.Process.Kill() }).Stop()
	if err := s.Wait(); err != nil || !strings.Contains(s.out.String(), "total: ") {
		s.w.t.Errorf("p11stress: %v\n%s", err, s.out.String())
	}
}

// However an application ends, its engine and the member processes end too.
func TestNothingOutlivesTheApplication(t *testing.T) {
	if !inProcess(t) {
		return
	}
	w := newWorld(t, 3)
	s := w.stress("-for=0", "-work=rsa,digest")
	w.must(w.Ready())
	w.must(w.Works("b"))
	if running := w.Processes(); len(running) != 4 {
		t.Errorf("running: %v, want an engine and three members", running)
	}
	w.must(s.Process.Kill())
	if err := s.Wait(); err == nil {
		t.Error("it was not killed")
	}
	w.alone()
}

// A member process that is stopped cannot notice that its engine is gone. The kernel has
// it go on, also where nobody found out that it was stopped.
func TestStoppedMemberDoesNotOutliveTheApplication(t *testing.T) {
	if !inProcess(t) {
		return
	}
	w := newWorld(t, 3)
	s := w.stress("-for=0", "-work=digest", "-pause=1h")
	w.must(w.Ready())
	w.must(w.Pause("b"))
	w.must(s.Process.Kill())
	_ = s.Wait()
	w.alone()
}

// What a terminal sends to the application's process group reaches neither
// engine nor members.
func TestInterruptIsNotForTheEngine(t *testing.T) {
	if !inProcess(t) {
		return
	}
	w := newWorld(t, 3)
	s := w.stress("-for=0", "-deaf")
	w.must(w.Ready())
	w.must(w.Works("b"))
	before := w.Processes()
	for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGINT} {
		w.must(syscall.Kill(-s.Process.Pid, signal))
		w.must(w.Works("a"))
		w.must(w.Works("b"))
	}
	if after := w.Processes(); len(after) != len(before) || after[0] != before[0] {
		t.Errorf("before: %v, after: %v", before, after)
	}
	s.end()
	w.alone()
}
