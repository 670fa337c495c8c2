// SPDX-License-Identifier: Apache-2.0

package test_test

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Tests that take packets away have a network namespace of their own: the test
// program is started again for each, there. So do tests that wait for most of
// their time: they run beside each other. That needs root. Where it is not
// permitted the test fails: a black hole that nobody looked into proves nothing.

const namespaceVariable = "ONESLOT_TEST_NAMESPACE"

// inNamespace says whether the test is in its namespace. If not it is run there,
// and there is nothing more to do.
func inNamespace(t *testing.T) bool {
	t.Helper()
	if os.Getenv(namespaceVariable) == t.Name() {
		return true
	}
	t.Parallel()
	args := []string{"--net", "sh", "-c", `ip link set lo up && exec "$@"`, "sh",
		os.Args[0], "-test.run", "^" + t.Name() + "$", "-test.v", "-test.timeout", "10m"}
	flag.Visit(func(f *flag.Flag) {
		if !strings.HasPrefix(f.Name, "test.") { // those are about all tests
			args = append(args, fmt.Sprintf("-%s=%s", f.Name, f.Value))
		}
	})
	again := exec.Command("unshare", args...)
	again.Env = append(os.Environ(), namespaceVariable+"="+t.Name())
	// What is left running when the test ends badly must not keep it.
	again.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	again.WaitDelay = 5 * time.Second
	out, err := again.CombinedOutput()
	if err != nil {
		t.Fatalf("in a network namespace (needs root, unshare, ip and iptables): %v\n%s", err, out)
	}
	t.Logf("in a network namespace:\n%s", out)
	return false
}
