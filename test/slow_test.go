// SPDX-License-Identifier: Apache-2.0

package test_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	p11 "github.com/miekg/pkcs11"

	"oneslot.dev/oneslot/control"
	"oneslot.dev/oneslot/host/hosttest"
	"oneslot.dev/oneslot/test/token"
)

// slow gives a member a vendor module that can be slow. Engines that run already do
// not see it.
func (w *world) slow(member string) *hosttest.Slow {
	w.t.Helper()
	s := hosttest.NewSlow(w.t)
	name, bare := fmt.Sprintf("name = %q\nmodule = ", member), strings.Replace(w.Bare(member), "=", " = \"", 1)+"\"\n"
	w.edit(fmt.Sprintf("%s%q\n", name, hosttest.SoftHSM), fmt.Sprintf("%s%q\n", name, s.Path))
	w.edit(bare, bare+fmt.Sprintf("SLOW = %q\n", s.Folder))
	return s
}

// slow gives an appliance a vendor module that can be slow.
func (n *network) slow(member string) *hosttest.Slow {
	n.t.Helper()
	s := hosttest.NewSlow(n.t)
	conf := filepath.Join(n.Dir, member, "appliance.toml")
	text, err := os.ReadFile(conf)
	n.must(err)
	old := fmt.Sprintf("module = %q\n", hosttest.SoftHSM)
	if !strings.Contains(string(text), old) {
		n.t.Fatalf("%s has no line %s", conf, old)
	}
	changed := strings.Replace(string(text), old, fmt.Sprintf("module = %q\n", s.Path), 1) + fmt.Sprintf("SLOW = %q\n", s.Folder)
	n.must(os.WriteFile(conf, []byte(changed), 0o600))
	n.reload(member)
	return s
}

// reload has an appliance read its configuration again, and waits until it has.
func (n *network) reload(member string) {
	n.t.Helper()
	read := func() int { return strings.Count(n.applianceLog(member), "msg=configuration-reloaded") }
	before := read()
	n.must(syscall.Kill(n.listener(member), syscall.SIGHUP))
	n.await("appliance "+member+" to read its configuration", func() bool { return read() > before })
}

func (n *network) applianceLog(member string) string {
	text, _ := os.ReadFile(filepath.Join(n.Dir, member, "appliance.log"))
	return string(text)
}

// F1, F2: a key generation of 30 s, three times command_timeout, on an appliance.
// It beats and is no failure: no member is dropped, others work, and one key
// comes of it.
func TestNetworkLongKeyGeneration(t *testing.T) {
	if !inNamespace(t) {
		return
	}
	n := newNetwork(t, 2)
	n.must(n.Set(`command_timeout = "10s"`))
	slow := map[string]*hosttest.Slow{}
	for _, member := range n.Members {
		slow[member] = n.slow(member)
	}
	a := n.login()
	_, sign := a.rsa()
	// Signatures only: SoftHSM now and then answers CKR_GENERAL_ERROR to who
	// writes while others look for objects, and the key is then made elsewhere.
	load := a.calm(2, sign)
	before := slow["a"].Calls("C_GenerateKeyPair") + slow["b"].Calls("C_GenerateKeyPair")
	for _, s := range slow {
		s.Make("C_GenerateKeyPair", "30")
	}
	begin := time.Now()
	pair, err := a.RSA(a.s, token.Label("slow"))
	n.must(err)
	if took := time.Since(begin); took < 30*time.Second {
		t.Errorf("the generation took %v and was not slow", took)
	}
	unharmed(t, load)
	if a, b := slow["a"].Calls("C_GenerateKeyPair"), slow["b"].Calls("C_GenerateKeyPair"); a+b-before != 1 {
		t.Errorf("key pairs were generated %d times on a, %d times on b", a, b)
	}
	for _, class := range []uint{p11.CKO_PRIVATE_KEY, p11.CKO_PUBLIC_KEY} {
		if found := a.count(token.Class(class), token.Label("slow")); found != 1 {
			t.Errorf("%d objects of class %d, not one", found, class)
		}
	}
	for _, member := range n.Members {
		n.bare(member, func(own *app) { own.one(p11.CKO_PRIVATE_KEY, "slow") })
	}
	if strings.Contains(n.log(), "event=member-down") {
		t.Error("a member was dropped")
	}
	work := a.signRSA(pair)
	more := a.calm(2, work)
	for _, member := range n.Members {
		n.must(n.Works(member)) // each has the key
	}
	unharmed(t, more)
}

// F2: a token that hangs in its module only ever beats. It is given up after
// stuck_timeout, its work moves, and it is taken back when it answers again.
func TestNetworkHungToken(t *testing.T) {
	if !inNamespace(t) {
		return
	}
	n := newNetwork(t, 2)
	// command_timeout would ring later, if nothing beat.
	n.must(n.Set(`command_timeout = "10s"`, `stuck_timeout = "11s"`))
	slow := n.slow("b")
	a := n.login()
	_, work := a.rsa()
	a.use(work)
	answer := slow.Make("C_SignInit", "3600")
	load := a.calm(2, work)
	n.await("a call that hangs", func() bool { return slow.Calls("C_SignInit") > 0 })
	n.await("member b to be given up", func() bool { return strings.Contains(n.log(), "still at work after 11s") })
	answer()
	n.must(n.Ready())
	n.must(n.Works("b"))
	unharmed(t, load)
}

// F2, F3; field-G4: a token that hangs, on an appliance that answers. Nobody asks it
// for anything but the probes, which make it work: they give it up.
func TestNetworkGrayToken(t *testing.T) {
	if !inNamespace(t) {
		return
	}
	n := newNetwork(t, 2)
	n.must(n.Set(`command_timeout = "20s"`, `stuck_timeout = "21s"`))
	slow := n.slow("b")
	a := n.login()
	_, work := a.rsa()
	a.use(work)
	answer := slow.Make("C_GenerateRandom", "3600")
	n.await("a probe to give member b up", func() bool { return strings.Contains(n.log(), "probe: ") })
	if !strings.Contains(n.log(), "still at work after 21s") {
		t.Error("it was given up for something else than the time it took")
	}
	a.use(work, work)
	answer()
	n.must(n.Ready())
	load := a.load(2, work)
	n.must(n.Works("b"))
	unharmed(t, load)
}

// N4: what runs on an appliance that drains comes to its end there, the rest goes
// elsewhere at once, and status says that it drains. Timeouts are long: a call that
// waited for one would be seen.
func TestNetworkDrainWaitsForWhatRuns(t *testing.T) {
	if !inNamespace(t) {
		return
	}
	const timeout = 40 * time.Second
	n := newNetwork(t, 2)
	n.must(n.Set(`probe_timeout = "40s"`, `command_timeout = "50s"`))
	slow := n.slow("a")
	a := n.login()
	_, sign := a.rsa()
	load := a.Start(threads, sign)
	n.must(n.Works("a"))
	answer := slow.Make("C_GenerateKeyPair", "3600")
	made := make(chan error, 1)
	go func() {
		s, err := a.Session()
		if err == nil {
			_, err = a.RSA(s, token.Label("late"))
		}
		made <- err
	}()
	n.await("the generation to begin", func() bool { return slow.Calls("C_GenerateKeyPair") > 0 })
	drained := make(chan error, 1)
	go func() {
		drained <- exec.Command(filepath.Join(bin, "oneslot-member"), "drain", "--config", n.applianceConf("a")).Run()
	}()
	n.must(n.Wait("a", "is draining", func(m control.Member) bool { return m.State == "draining" }))
	if out, err := n.Command(n.Program, "status", "--config", n.Conf).CombinedOutput(); err != nil || !strings.Contains(string(out), "draining") {
		t.Errorf("%v\n%s", err, out)
	}
	n.must(n.Works("b"))
	select {
	case err := <-made:
		t.Errorf("the generation did not wait: %v", err)
	case err := <-drained:
		t.Errorf("the appliance ended before the generation: %v", err)
	default:
	}
	answer()
	n.must(<-made)
	n.must(<-drained)
	if calls := slow.Calls("C_GenerateKeyPair"); calls != 1 {
		t.Errorf("the appliance was asked for %d key pairs", calls)
	}
	n.must(n.Gone("a"))
	total, problems := load.Stop()
	if problems != nil || total.Failed+total.Wrong > 0 || total.Longest >= timeout {
		t.Errorf("%+v\n%v", total, problems)
	}
	a.one(p11.CKO_PRIVATE_KEY, "late")
	n.restart()
	n.must(n.Ready())
	n.bare("a", func(own *app) { own.one(p11.CKO_PRIVATE_KEY, "late") })
}
