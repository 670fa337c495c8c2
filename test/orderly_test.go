// SPDX-License-Identifier: Apache-2.0

package test_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// However an application ends, its member processes first finish what their modules are
// at, and end then. SoftHSM's C_Login empties token.object and writes it anew: a process
// that was killed in it would leave no token. Nobody waits for that: the end of the
// application is not delayed by a member that is slow.
func TestMembersFinishWhatTheyAreAt(t *testing.T) {
	ends := map[string]func(*stress){
		"the application is killed": func(s *stress) {
			s.w.must(s.Process.Kill())
			_ = s.Wait()
		},
		"the engine is killed": func(s *stress) {
			for _, p := range s.w.Processes() {
				if p.Name == "oneslot" {
					s.w.must(syscall.Kill(p.PID, syscall.SIGKILL))
				}
			}
			s.w.must(s.Process.Kill()) // without an engine it only fails
			_ = s.Wait()
		},
		"C_Finalize": (*stress).end,
	}
	for _, c := range []struct{ function, how string }{
		{"C_Login", "the application is killed"},
		{"C_Login", "the engine is killed"},
		{"C_Login", "C_Finalize"},
		{"C_SignInit", "the engine is killed"}, // on the direct path
	} {
		t.Run(c.function+", "+c.how, func(t *testing.T) {
			if !inProcess(t) {
				return
			}
			w := newWorld(t, 3)
			slow := w.slow("c")
			s := w.stress("-for=0", "-threads=2", "-work=rsa")
			w.work(s)
			w.must(w.Ready())
			before := w.tokenObject("c")
			undo := slow.Make(c.function, "3600")
			if c.function == "C_Login" {
				w.must(w.Kill("c")) // which comes back, and is given the login
			}
			w.await("a call that lasts", func() bool { return len(slow.Callers(c.function)) > 0 })
			ends[c.how](s)
			w.await("the other members to end", func() bool { return len(w.PIDs("a")) == 0 && len(w.PIDs("b")) == 0 })
			undo()
			w.alone()
			if called, ended := slow.Calls(c.function), slow.Ended(c.function); ended != called {
				t.Errorf("%d calls of %s, of which %d were finished", called, c.function, ended)
			}
			after := w.tokenObject("c")
			if after.Size() == 0 || c.function == "C_Login" && after.ModTime().Equal(before.ModTime()) {
				t.Errorf("token.object was %d bytes of %v, and is %d bytes of %v", before.Size(), before.ModTime(), after.Size(), after.ModTime())
			}
		})
	}
}

// tokenObject is the file that SoftHSM knows a member's token by.
func (w *world) tokenObject(member string) os.FileInfo {
	w.t.Helper()
	found, err := filepath.Glob(filepath.Join(w.Dir, member, "tokens", "*", "token.object"))
	w.must(err)
	if len(found) != 1 {
		w.t.Fatalf("member %s has tokens %v", member, found)
	}
	info, err := os.Stat(found[0])
	w.must(err)
	return info
}
