// SPDX-License-Identifier: Apache-2.0

package test_test

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A test is an application, of which a process can be but one at a time. So most
// tests have the test program started again for them, and those run beside each
// other: they wait for most of their time. Tests that take packets away, or have
// appliances, which listen, have a network namespace of their own as well. That
// needs root. Where it is not permitted the test fails: a black hole that nobody
// looked into proves nothing.

// aloneVariable names the test that a process was started for.
const aloneVariable = "ONESLOT_TEST_ALONE"

// inProcess says whether the test is in a process of its own. If not it is run there,
// and there is nothing more to do.
func inProcess(t *testing.T) bool {
	t.Helper()
	return os.Getenv(aloneVariable) == t.Name() || !again(t, "a process of its own")
}

// inNamespace says the same of a process in a network namespace.
func inNamespace(t *testing.T) bool {
	t.Helper()
	return os.Getenv(aloneVariable) == t.Name() ||
		!again(t, "a network namespace (needs root, unshare, ip and iptables)", "unshare", "--net", "sh", "-c", `ip link set lo up && exec "$@"`, "sh")
}

// again runs the test in another process, by this command. It returns true.
func again(t *testing.T, where string, by ...string) bool {
	t.Helper()
	t.Parallel()
	only := "^" + strings.ReplaceAll(regexp.QuoteMeta(t.Name()), "/", "$/^") + "$"
	args := append(by, os.Args[0], "-test.run", only, "-test.v", "-test.timeout", "10m")
	flag.Visit(func(f *flag.Flag) {
		if !strings.HasPrefix(f.Name, "test.") { // those are about all tests
			args = append(args, fmt.Sprintf("-%s=%s", f.Name, f.Value))
		}
	})
	again := exec.Command(args[0], args[1:]...)
	again.Env = append(os.Environ(), aloneVariable+"="+t.Name())
	// What is left running when the test ends badly must not keep it.
	again.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	again.WaitDelay = 5 * time.Second
	out, err := again.CombinedOutput()
	if err != nil {
		t.Fatalf("in %s: %v\n%s", where, err, out)
	}
	t.Logf("in %s:\n%s", where, out)
	return true
}
