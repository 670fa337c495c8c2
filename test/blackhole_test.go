// SPDX-License-Identifier: Apache-2.0

package test_test

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"oneslot.dev/oneslot/control"
	"oneslot.dev/oneslot/test/token"
)

// drop makes a black hole of some packets of the appliance. The result undoes it.
func (n *network) drop(rules ...[]string) (undo func()) {
	n.t.Helper()
	for _, rule := range rules {
		iptables(n.t, append([]string{"-A", "OUTPUT", "-p", "tcp"}, rule...)...)
	}
	return func() {
		n.t.Helper()
		for _, rule := range rules {
			iptables(n.t, append([]string{"-D", "OUTPUT", "-p", "tcp"}, rule...)...)
		}
	}
}

func iptables(t testing.TB, args ...string) {
	t.Helper()
	if out, err := exec.Command("iptables", append([]string{"-w"}, args...)...).CombinedOutput(); err != nil {
		t.Fatalf("iptables %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// blackHole lets no packet pass to or from an appliance.
func (n *network) blackHole(member string) (undo func()) {
	n.t.Helper()
	port := n.port(member)
	return n.drop([]string{"--dport", port, "-j", "DROP"}, []string{"--sport", port, "-j", "DROP"})
}

func (n *network) port(member string) string {
	_, port, err := net.SplitHostPort(n.addresses[member])
	n.must(err)
	return port
}

// forget drops the packets of the connections that there are, and lets new ones
// be made: what a firewall does that forgot them.
func (n *network) forget(member string) (undo func()) {
	n.t.Helper()
	// The port of the other end stands in the log of the appliance.
	text, err := os.ReadFile(n.Dir + "/" + member + "/appliance.log")
	n.must(err)
	var rules [][]string
	for line := range strings.Lines(string(text)) {
		_, from, found := strings.Cut(line, "from=127.0.0.1:")
		if port, _, _ := strings.Cut(from, " "); found && strings.Contains(line, "msg=client-connected") {
			rules = append(rules,
				[]string{"--sport", port, "--dport", n.port(member), "-j", "DROP"},
				[]string{"--sport", n.port(member), "--dport", port, "-j", "DROP"})
		}
	}
	if rules == nil {
		n.t.Fatal("the appliance has no connection")
	}
	return n.drop(rules...)
}

// F3; field-G2: a black hole under load. The probes notice it, long before the
// command timeout would; no call fails.
func TestBlackHoleUnderLoad(t *testing.T) {
	if !inNamespace(t) {
		return
	}
	n := newNetwork(t, 3)
	a := n.login()
	load := a.Start(threads, a.everything()...)
	for _, member := range []string{"b", "a"} {
		n.must(n.Works(member))
		undo := n.blackHole(member)
		n.must(n.Gone(member))
		n.must(n.Works("c"))
		undo()
		n.must(n.Ready())
		n.must(n.Works(member))
	}
	total, problems := load.Stop()
	if problems != nil || total.Failed+total.Wrong > 0 || total.Verified == 0 {
		t.Errorf("%+v\n%v", total, problems)
	}
	// command_timeout is 20 s: with less, a probe told.
	if total.Longest >= 20*time.Second {
		t.Errorf("a call took %v", total.Longest)
	}
	t.Logf("%d calls, all verified; the longest took %v", total.Verified, total.Longest.Round(time.Millisecond))
}

// unreached checks that an engine still makes its first attempt to connect with a
// member, so that nothing before has waited for its end.
func (n *network) unreached(member string) {
	n.t.Helper()
	groups, err := n.Groups()
	n.must(err)
	for _, g := range groups {
		for _, m := range g.Members {
			if m.Name == member && (m.State != "connecting" || m.Failures > 0) {
				n.t.Errorf("member %s is %s after %d failures: the start waited for it", member, m.State, m.Failures)
			}
		}
	}
}

// failed waits until an attempt to connect with a member has failed, so that what
// connects it later is another one.
func (n *network) failed(member string) {
	n.t.Helper()
	n.must(n.Wait(member, "is not reached", func(m control.Member) bool { return m.Failures > 0 }))
}

// field-G10: an appliance is a black hole when the application starts, which
// waits for one member and not for all.
func TestBlackHoleAtStart(t *testing.T) {
	if !inNamespace(t) {
		return
	}
	n := newNetwork(t, 2)
	undo := n.blackHole("a")
	a := &app{Token: n.open(), w: n.world}
	n.unreached("a")
	var works []token.Work
	n.outlast("login and first use", 20*time.Second, func() {
		var err error
		a.s, err = a.Login(n.PIN)
		n.must(err)
		works = a.everything()
		a.use(works...)
	})
	n.failed("a")
	undo()
	n.must(n.Ready())
	load := a.calm(2, works...)
	n.must(n.Works("a"))
	unharmed(t, load)
}

// field-G1: a firewall forgot the only connection, idle since long. It is
// replaced, and the application notices nothing.
func TestForgottenConnection(t *testing.T) {
	if !inNamespace(t) {
		return
	}
	n := newNetwork(t, 1)
	n.must(n.Set(`command_timeout = "50s"`)) // so that a probe has to tell
	a := n.login()
	works := a.everything()
	a.use(works...)
	before := n.served("a", 1)[0]
	undo := n.forget("a")
	defer undo()
	n.outlast("the first calls", 40*time.Second, func() { a.use(works...) })
	n.await("the connection to be replaced", func() bool {
		now := children(n.listener("a"))
		return len(now) > 0 && now[len(now)-1] != before
	})
	n.must(n.Ready())
	a.use(works...)
}

// The cable of a client is pulled: its process on the appliance ends by itself,
// others go on.
func TestClientGoneWithoutAWord(t *testing.T) {
	if !inNamespace(t) {
		return
	}
	n := newNetwork(t, 1)
	gone := n.Command(n.Program, "check", "--config", n.Conf) // only to have another connection first
	if out, err := gone.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	a := n.login()
	a.use(a.everything()...)
	process := n.served("a", 1)[0]
	undo := n.forget("a")
	defer undo()
	// The engine dies with its connection in the black hole: no word of it
	// reaches the appliance.
	for _, p := range n.Processes() {
		if p.Name == "oneslot" {
			n.must(syscall.Kill(p.PID, syscall.SIGKILL))
		}
	}
	n.await(fmt.Sprintf("process %d to end", process), func() bool { return len(children(n.listener("a"))) == 0 })
	if out, err := n.Command(n.Program, "check", "--config", n.Conf).CombinedOutput(); err != nil {
		t.Errorf("the appliance after that: %v\n%s", err, out)
	}
}
