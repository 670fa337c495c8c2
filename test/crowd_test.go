// SPDX-License-Identifier: Apache-2.0

package test_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// sockets is how many a process has open.
func (w *world) sockets(pid int) (n int) {
	w.t.Helper()
	folder := fmt.Sprintf("/proc/%d/fd", pid)
	all, err := os.ReadDir(folder)
	w.must(err)
	for _, fd := range all {
		if to, _ := os.Readlink(filepath.Join(folder, fd.Name())); strings.HasPrefix(to, "socket:") {
			n++
		}
	}
	return n
}

// H6: 10 000 sessions of an application are none of a member until they work.
func TestTenThousandSessions(t *testing.T) {
	if !inProcess(t) {
		return
	}
	w := newWorld(t, 3)
	w.signer()
	app := w.obedient("crowd", "sessions")
	for line := ""; line != "opened\n"; {
		var err error
		if line, err = app.out.ReadString('\n'); err != nil {
			t.Fatalf("it said %q, %v", line, err)
		}
	}
	for _, p := range w.Processes() { // a session is a pair of sockets there
		if n := w.sockets(p.PID); p.Member != "" && n > 20 {
			t.Errorf("a process of member %s has %d sockets", p.Member, n)
		}
	}
	_, err := app.in.Write([]byte("\n"))
	w.must(err)
	app.end()
	w.alone()
}

// H5 of the field reports: C_Finalize while 32 threads are inside signatures, parts,
// creations, searches and waits. All come back at once, with nothing but
// CKR_CRYPTOKI_NOT_INITIALIZED, and the process can begin anew.
func TestFinalizeInTheMiddle(t *testing.T) {
	if !inProcess(t) {
		return
	}
	w := newWorld(t, 3)
	w.signer()
	c := w.Command(w.compile("crowd"), w.Module, "finalize")
	var complaints output
	c.Stderr = &complaints
	if err := c.Run(); err != nil || complaints.String() != "" {
		t.Errorf("%v\n%s", err, complaints.String())
	}
	w.alone()
}

// field-H6: C_WaitForSlotEvent tells the loss of the last member and the return of the
// first, other threads work meanwhile, and C_Finalize ends it.
func TestEventsOfTheSlot(t *testing.T) {
	if !inProcess(t) {
		return
	}
	w := newWorld(t, 2)
	w.signer()
	app := w.obedient("crowd", "events")
	hears := func(want string) {
		t.Helper()
		if line, err := app.out.ReadString('\n'); err != nil || line != want+"\n" {
			t.Fatalf("it said %q, %v; want %s", line, err, want)
		}
	}
	hears("waiting")
	app.hears("?", "there")
	w.must(w.Ready())
	w.must(w.Away("a"))
	w.must(w.Gone("a"))
	app.hears("?", "there")
	w.must(w.Away("b"))
	hears("event")
	app.hears("?", "not there")
	w.must(w.Back("b"))
	hears("event")
	app.hears("?", "there")
	app.end()
	w.alone()
}
