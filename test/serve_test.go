// SPDX-License-Identifier: Apache-2.0

package test_test

import (
	"bytes"
	"net"
	"os"
	"syscall"
	"testing"

	"oneslot.dev/oneslot/control"
)

// socket is what this process's environment names, if anything.
func (w *world) socket() string { return os.Getenv("ONESLOT_SOCKET") }

// serve runs one engine for all applications of the test, and checks at the end
// that it ends in peace.
func (w *world) serve() (socket string) {
	w.t.Helper()
	socket = w.Dir + "/serve.sock"
	c := w.Command(w.Program, "serve", "--socket", socket)
	var said bytes.Buffer
	c.Stdout, c.Stderr = &said, &said
	w.must(c.Start())
	w.t.Cleanup(func() {
		c.Process.Signal(syscall.SIGTERM)
		if err := c.Wait(); err != nil {
			w.t.Errorf("oneslot serve: %v\n%s", err, said.String())
		}
	})
	w.await("oneslot serve listens", func() bool {
		conn, err := net.Dial("unix", socket)
		if err == nil {
			conn.Close()
		}
		return err == nil
	})
	w.t.Setenv("ONESLOT_SOCKET", socket)
	return socket
}

// quarantined waits until a member waits for an operator, for this reason.
func (w *world) quarantined(member, reason string) {
	w.t.Helper()
	w.must(w.Wait(member, "is quarantined: "+reason, func(m control.Member) bool {
		return m.State == "quarantined" && bytes.Contains([]byte(m.LastError), []byte(reason))
	}))
}

// An application that was there before sees members that are lost and come
// back, each application with processes of its own.
func TestServedApplicationsSurviveMembers(t *testing.T) {
	if !inProcess(t) {
		return
	}
	w := newWorld(t, 3)
	w.serve()
	a := w.login()
	load := a.load(8, a.everything()...)
	other := w.stress("-for=0", "-threads=8", "-key=other")
	w.work(other)
	w.must(w.Ready()) // no process is in its login: see hosttest.Slow.Callers
	w.must(w.Works("b"))
	w.must(w.Wait("b", "shows both processes", func(m control.Member) bool { return len(m.PIDs) == 2 }))
	before := w.PIDs("b")
	w.must(w.Kill("b"))
	w.await("two other processes for member b", func() bool { return len(others(w.PIDs("b"), before)) == 2 })
	w.must(w.Ready())
	w.must(w.Works("b"))
	other.end()
	unharmed(t, load)
}
