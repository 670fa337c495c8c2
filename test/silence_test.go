// SPDX-License-Identifier: Apache-2.0

package test_test

import (
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	p11 "github.com/miekg/pkcs11"
)

// In these tests the appliances are on another host, and packets are lost on the
// way. probe_timeout is long, so that one can be told from several.
const patientProbes = 10 * time.Second

func newFar(t *testing.T, members int) (n *network, there *place) {
	t.Helper()
	n = newNetwork(t, members)
	// Long enough that none but a probe can tell in time.
	n.must(n.Set(`probe_timeout = "10s"`, `command_timeout = "50s"`))
	_, there = n.elsewhere()
	return n, there
}

// F3; field-G1: a firewall forgot every connection of an idle application. The
// next call waits for one timeout, however many they are.
func TestAllIdleConnectionsForgotten(t *testing.T) {
	if !inNamespace(t) {
		return
	}
	n, there := newFar(t, 4)
	a := n.login()
	works := a.everything()
	a.use(works...)
	for _, member := range n.Members {
		n.served(member, 1)
	}
	// What is established is dropped; who connects anew passes.
	there.run("iptables", "-w", "-A", "INPUT", "-p", "tcp", "-m", "connmark", "!", "--mark", "7", "-m", "conntrack", "--ctstate", "ESTABLISHED", "-j", "DROP")
	there.run("iptables", "-w", "-t", "mangle", "-A", "PREROUTING", "-p", "tcp", "--syn", "-j", "CONNMARK", "--set-mark", "7")
	n.outlast("work after four stale connections", 2*patientProbes, func() { a.use(works...) })
	n.must(n.Ready())
	a.use(works...)
}

// F3, S2; field-G2: the appliance vanishes with fifty calls in the middle, all of
// them on the one link to it. All are answered elsewhere after one timeout.
func TestBlackHoleInTheMiddleOfCalls(t *testing.T) {
	if !inNamespace(t) {
		return
	}
	n, there := newFar(t, 2)
	n.must(n.Set(`standby = ["b"]`)) // so that all calls go to a
	slow := n.slow("a")
	a := n.login()
	_, work := a.rsa()
	a.use(work)
	const calls = 50
	slow.Make("C_SignInit", "3600")
	var sessions []p11.SessionHandle
	for range calls {
		s, err := a.Session()
		n.must(err)
		sessions = append(sessions, s)
	}
	var all sync.WaitGroup
	defer all.Wait()
	var answered atomic.Int64
	for _, s := range sessions {
		all.Go(func() {
			check, err := work.Do(s)
			if err == nil {
				err = check()
			}
			if err != nil {
				t.Error(err)
			}
			answered.Add(1)
		})
	}
	n.await("fifty calls in the module of a", func() bool { return slow.Calls("C_SignInit") >= calls })
	if pids := n.served("a", 1); answered.Load() != 0 {
		t.Errorf("%d calls did not hang in process %v", answered.Load(), pids)
	}
	there.swallow([]string{"a"})
	n.outlast("fifty calls in a black hole", 2*patientProbes, all.Wait)
	if !strings.Contains(n.log(), "event=member-down group=sandbox member=a") {
		t.Error("a was not given up")
	}
}

// field-G2: the appliance vanishes during a login, whose answer is lost. The
// application's login succeeds all the same, and a is in again afterwards.
func TestBlackHoleDuringLogin(t *testing.T) {
	if !inNamespace(t) {
		return
	}
	n, there := newFar(t, 2)
	slow := n.slow("a")
	a := &app{Token: n.open(), w: n.world}
	n.must(n.Ready())
	answer := slow.Make("C_Login", "3600")
	done := make(chan error, 1)
	go func() {
		var err error
		a.s, err = a.Login(n.PIN)
		done <- err
	}()
	n.await("the login to begin", func() bool { return slow.Calls("C_Login") > 0 })
	undo := there.swallow([]string{"a"})
	n.outlast("a login in a black hole", 2*patientProbes, func() { n.must(<-done) })
	works := a.everything()
	a.use(works...)
	answer()
	undo()
	n.must(n.Ready())
	load := a.calm(2, works...)
	n.must(n.Works("a"))
	unharmed(t, load)
}

// field-G2: connections get through, and nothing that is said on them: the TLS
// handshake never ends. Others serve, and the application starts.
func TestBlackHoleDuringHandshake(t *testing.T) {
	if !inNamespace(t) {
		return
	}
	n, there := newFar(t, 2)
	// SYN and ACK are shorter.
	undo := there.swallow([]string{"a"}, "-m", "length", "--length", "120:65535")
	a := &app{w: n.world}
	n.outlast("the start beside a mute appliance", 30*time.Second, func() {
		a.Token = n.open()
		n.unreached("a")
		var err error
		a.s, err = a.Login(n.PIN)
		n.must(err)
	})
	works := a.everything()
	a.use(works...)
	n.failed("a")
	undo()
	n.must(n.Ready())
	load := a.calm(2, works...)
	n.must(n.Works("a"))
	unharmed(t, load)
}

// F1, F3: the cable of the client is pulled, and plugged in again. Calls wait,
// and the same sessions, handles and login work again.
func TestCablePulled(t *testing.T) {
	if !inNamespace(t) {
		return
	}
	n := newNetwork(t, 2)
	here, there := n.elsewhere()
	a := n.login()
	works := a.everything()
	a.use(works...)
	plug := there.pull(here)
	n.must(n.Gone("a"))
	n.must(n.Gone("b"))
	n.outlast("a call without any appliance", 60*time.Second, func() {
		if err := a.do(works[0]); err == nil {
			t.Error("it succeeded")
		}
	})
	plug()
	n.must(n.Ready())
	a.use(works...)
}

// A long way: 40 ms there, 40 ms back. Everything works, also drain.
func TestLongWay(t *testing.T) {
	if !inNamespace(t) {
		return
	}
	n := newNetwork(t, 2)
	for _, member := range n.Members {
		n.delay(member, 40*time.Millisecond)
	}
	a := n.login()
	load := a.load(threads, a.everything()...)
	n.must(n.Works("a"))
	n.drain("a")
	n.must(n.Gone("a"))
	n.must(n.Works("b"))
	n.restart()
	n.must(n.Ready())
	n.must(n.Works("a"))
	unharmed(t, load)
}
