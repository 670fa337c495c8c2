// SPDX-License-Identifier: Apache-2.0

package test_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"oneslot.dev/oneslot/config"
	"oneslot.dev/oneslot/control"
	"oneslot.dev/oneslot/host/hosttest"
	"oneslot.dev/oneslot/test/cluster"
)

// A network is a world whose members are appliances on loopback.
type network struct {
	*world
	addresses map[string]string // by member
}

func newNetwork(t *testing.T, members int) *network {
	t.Helper()
	dir, err := os.MkdirTemp("", "oneslot-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	n := &network{addresses: map[string]string{}}
	t.Cleanup(func() { n.killAll(dir) })
	c, err := cluster.New(bin, dir, members, "--network")
	if err != nil {
		t.Fatal(err)
	}
	c.SoftHSM = hosttest.SoftHSM // the configuration of the client does not say
	n.world = &world{c, t}
	t.Cleanup(n.end)
	cfg, err := config.Load(c.Conf)
	n.must(err)
	for _, m := range cfg.Members {
		n.addresses[m.Name] = m.Address
	}
	n.must(c.Set(`recovery_interval = "1s"`))
	for _, setting := range c.Env() {
		name, value, _ := strings.Cut(setting, "=")
		t.Setenv(name, value)
	}
	return n
}

// killAll ends the appliances, whatever state they are in.
func (n *network) killAll(dir string) {
	files, _ := filepath.Glob(filepath.Join(dir, "*", "clients", "listener.pid"))
	for _, file := range files {
		text, _ := os.ReadFile(file)
		if pid, _ := strconv.Atoi(strings.TrimSpace(string(text))); pid > 1 && ours(pid) {
			for _, child := range children(pid) {
				syscall.Kill(child, syscall.SIGKILL)
			}
			syscall.Kill(pid, syscall.SIGKILL)
		}
	}
	if n.world != nil && n.t.Failed() {
		for _, member := range n.Members {
			text, _ := os.ReadFile(filepath.Join(dir, member, "appliance.log"))
			n.t.Logf("the log of appliance %s:\n%s", member, text)
		}
	}
}

// ours says whether a process is a listener, and not one that got its number.
func ours(pid int) bool {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	return bytes.Contains(text, []byte("oneslot-member\x00listen"))
}

// listener is the process of an appliance.
func (n *network) listener(member string) int {
	n.t.Helper()
	text, err := os.ReadFile(filepath.Join(n.Dir, member, "clients", "listener.pid"))
	n.must(err)
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	n.must(err)
	return pid
}

func children(pid int) (pids []int) {
	files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, file := range files {
		text, _ := os.ReadFile(file)
		for _, word := range strings.Fields(string(text)) {
			child, _ := strconv.Atoi(word)
			pids = append(pids, child)
		}
	}
	return pids
}

// served waits until an appliance has this many connections, and returns their
// processes.
func (n *network) served(member string, count int) (pids []int) {
	n.t.Helper()
	n.await(fmt.Sprintf("%d connections of appliance %s", count, member), func() bool {
		pids = children(n.listener(member))
		return len(pids) == count
	})
	return pids
}

// drain runs `oneslot-member drain`, which ends when the appliance has.
func (n *network) drain(member string) {
	n.t.Helper()
	out, err := exec.Command(filepath.Join(bin, "oneslot-member"), "drain", "--config", filepath.Join(n.Dir, member, "appliance.toml")).CombinedOutput()
	if err != nil {
		n.t.Fatalf("drain: %v\n%s", err, out)
	}
}

// restart starts appliances that do not run.
func (n *network) restart() {
	n.t.Helper()
	out, err := exec.Command(n.Program, "sandbox", n.Dir).CombinedOutput()
	if err != nil {
		n.t.Fatalf("sandbox: %v\n%s", err, out)
	}
}

func (n *network) stopAll() {
	n.t.Helper()
	out, err := exec.Command(n.Program, "sandbox", n.Dir, "--stop").CombinedOutput()
	if err != nil {
		n.t.Fatalf("sandbox --stop: %v\n%s", err, out)
	}
}

// N1, N2; F1: the process of a connection is killed on an appliance.
func TestNetworkProcessKilled(t *testing.T) {
	if !inNamespace(t) {
		return
	}
	n := newNetwork(t, 3)
	a := n.login()
	load := a.Start(threads, a.everything()...)
	for _, member := range n.Members {
		n.must(n.Works(member))
		before := n.served(member, 1)[0]
		n.must(syscall.Kill(before, syscall.SIGKILL))
		n.await("another process on appliance "+member, func() bool {
			now := children(n.listener(member))
			return len(now) == 1 && now[0] != before
		})
		n.must(n.Ready())
		n.must(n.Works(member))
	}
	unharmed(t, load)
}

// F1, R1: a whole appliance is gone, and comes back.
func TestNetworkApplianceKilled(t *testing.T) {
	if !inNamespace(t) {
		return
	}
	n := newNetwork(t, 2)
	a := n.login()
	load := a.Start(threads, a.everything()...)
	n.must(n.Works("a"))
	// The listener first: its processes notice and end as well.
	n.must(syscall.Kill(n.listener("a"), syscall.SIGKILL))
	n.must(n.Gone("a"))
	n.must(n.Works("b"))
	n.restart()
	n.must(n.Ready())
	n.must(n.Works("a"))
	unharmed(t, load)
}

// N4: an appliance goes down for maintenance under load, and comes back.
func TestNetworkDrainUnderLoad(t *testing.T) {
	if !inNamespace(t) {
		return
	}
	n := newNetwork(t, 2)
	a := n.login()
	load := a.Start(threads, a.everything()...)
	for _, member := range []string{"a", "b"} {
		n.must(n.Works(member))
		n.drain(member)
		n.must(n.Gone(member))
		n.restart()
		n.must(n.Ready())
		n.must(n.Works(member))
	}
	unharmed(t, load)
	for _, event := range []string{"event=member-draining group=sandbox member=a", "event=member-draining group=sandbox member=b"} {
		if !strings.Contains(n.log(), event) {
			t.Errorf("the log does not say %s", event)
		}
	}
	var failures uint64
	groups, err := n.Groups()
	n.must(err)
	for _, m := range groups[0].Members {
		failures += m.Failures
	}
	if groups[0].State != control.Serving {
		t.Errorf("the group is %s", groups[0].State)
	}
	t.Logf("%d failed attempts to connect while the appliances were down", failures)
}

// The only member restarts: calls wait for it and do not fail for ever after.
func TestNetworkStopAndStart(t *testing.T) {
	if !inNamespace(t) {
		return
	}
	n := newNetwork(t, 1)
	a := n.login()
	works := a.everything()
	a.use(works...)
	n.stopAll()
	n.must(n.Gone("a"))
	n.restart()
	n.must(n.Ready())
	a.use(works...)
}

// H6: an appliance gives each application few sessions. Work goes elsewhere; no
// call fails, and a session that was refused is not taken for a lost member.
func TestNetworkFewSessions(t *testing.T) {
	if !inNamespace(t) {
		return
	}
	n := newNetwork(t, 2)
	for _, member := range []string{"a"} {
		f, err := os.OpenFile(filepath.Join(n.Dir, member, "appliance.toml"), os.O_APPEND|os.O_WRONLY, 0)
		n.must(err)
		_, err = f.WriteString("\n[limits]\nsessions = 3\n")
		n.must(err)
		n.must(f.Close())
		n.must(syscall.Kill(n.listener(member), syscall.SIGHUP))
		n.await("appliance "+member+" to read its configuration", func() bool {
			text, _ := os.ReadFile(filepath.Join(n.Dir, member, "appliance.log"))
			return bytes.Contains(text, []byte("msg=configuration-reloaded"))
		})
	}
	a := n.login()
	load := a.Start(threads, a.everything()...)
	n.must(n.Works("a"))
	n.must(n.Works("b"))
	unharmed(t, load)
	if strings.Contains(n.log(), "not reached") || strings.Contains(n.log(), "answer lost") {
		t.Errorf("a member was dropped for being short of sessions:\n%s", n.log())
	}
}

// F3: the process of a connection stops. Probes notice it.
func TestNetworkProcessStopped(t *testing.T) {
	if !inNamespace(t) {
		return
	}
	n := newNetwork(t, 2)
	a := n.login()
	load := a.Start(threads, a.everything()...)
	n.must(n.Works("a"))
	before := n.served("a", 1)[0]
	n.must(syscall.Kill(before, syscall.SIGSTOP))
	n.must(n.Gone("a"))
	n.must(n.Ready())
	n.must(n.Works("a"))
	unharmed(t, load)
	n.must(syscall.Kill(before, syscall.SIGCONT))
	n.await("the process that stopped to end", func() bool { return len(children(n.listener("a"))) == 1 })
}
