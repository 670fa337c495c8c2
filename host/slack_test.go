// SPDX-License-Identifier: Apache-2.0

package host_test

import (
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// The module gives its engine timers that may be 1 ms late, and what the engine starts
// inherits that. A vendor's module that polls its HSM must not be slowed down by it; what
// an administrator chose stays.
func TestTimersOfMembersAreOnTime(t *testing.T) {
	const asked = "ONESLOT_TEST_SLACK"
	if os.Getenv(asked) != "" {
		text, err := os.ReadFile("/proc/self/timerslack_ns")
		if err != nil {
			t.Fatal(err)
		}
		os.Stdout.WriteString("slack " + string(text))
		return
	}
	for has, want := range map[int]string{1000000: "50000", 50000: "50000", 70000: "70000"} {
		got := make(chan string)
		go func() {
			runtime.LockOSThread() // for good: the thread ends with its slack
			c := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
			c.Env = append(os.Environ(), asked+"=1")
			out := []byte("no slack of timers")
			err := unix.Prctl(unix.PR_SET_TIMERSLACK, uintptr(has), 0, 0, 0)
			if err == nil {
				out, err = c.CombinedOutput()
			}
			if err != nil {
				t.Errorf("%v: %s", err, out)
			}
			got <- string(out)
		}()
		if out := <-got; !strings.Contains(out, "slack "+want+"\n") {
			t.Errorf("started with %d ns: %s\nwant %s", has, out, want)
		}
	}
}
