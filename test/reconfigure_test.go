// SPDX-License-Identifier: Apache-2.0

package test_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	p11 "github.com/miekg/pkcs11"

	"oneslot.dev/oneslot/control"
	"oneslot.dev/oneslot/test/token"
)

// oneslot runs a command of the tool, which must do what it is told.
func (w *world) oneslot(args ...string) string {
	w.t.Helper()
	out, err := w.Command(w.Program, args...).CombinedOutput()
	if err != nil {
		w.t.Fatalf("oneslot %v: %v\n%s", args, err, out)
	}
	return string(out)
}

// shrink leaves the group its first members.
func (w *world) shrink(members int) {
	w.t.Helper()
	for _, name := range w.Members[members:] {
		w.oneslot("group", "remove-member", w.Token, name)
	}
}

// has waits until the engines see exactly these members, in this order.
func (w *world) has(members ...string) {
	w.t.Helper()
	w.await(fmt.Sprint("the members are ", members), func() bool {
		groups, err := w.Groups()
		good := err == nil && len(groups) > 0
		for _, g := range groups {
			var names []string
			for _, m := range g.Members {
				names = append(names, m.Name)
			}
			good = good && slices.Equal(names, members)
		}
		return good
	})
}

// identity is what an application knows its slot by (rule G3).
func (a *app) identity() string {
	a.w.t.Helper()
	about, err := a.GetTokenInfo(a.Slot)
	a.w.must(err)
	slot, err := a.GetSlotInfo(a.Slot)
	a.w.must(err)
	return fmt.Sprint(a.Slot, about.Label, about.SerialNumber, about.ManufacturerID, about.Model, slot.SlotDescription)
}

// fresh puts an empty token in the place of a member's, joined to the domain.
func (w *world) fresh(member string) {
	w.t.Helper()
	w.noTokens(member)
	w.newToken(member)
	w.t.Setenv("SO_PIN", w.SOPIN)
	w.oneslot("domain", "join", member, "--secret-file="+filepath.Join(w.Dir, "domain.secret"), "--so-pin-from=env:SO_PIN", "--pin-from=env:PIN")
}

// R3, R5, G3; field-M3, M4: while an application works at full load a member is
// added, and has every key before it serves; one is removed, and finishes what it
// has; one becomes standby, and gets no work, and active again. No call fails, and
// the slot stays what it is.
func TestMembersComeAndGoUnderLoad(t *testing.T) {
	if !inProcess(t) {
		return
	}
	w := newWorld(t, 3)
	w.shrink(2)
	a := &app{Token: w.open(), w: w}
	var err error
	a.s, err = a.Login(w.PIN)
	w.must(err)
	w.must(w.Ready("a", "b"))
	before := a.identity()
	load := a.load(8, a.everything()...)
	keys := len(w.pairsOn("a"))
	if keys < 4 {
		t.Fatalf("member a has %d halves of pairs", keys)
	}

	w.oneslot("group", "add-member", w.Token, "c")
	w.has("a", "b", "c")
	w.must(w.Ready("c"))
	if n := len(w.pairsOn("c")); n != keys {
		t.Errorf("member c serves with %d of %d objects", n, keys)
	}
	w.must(w.Works("c"))

	w.oneslot("group", "remove-member", w.Token, "a") // the primary
	w.has("b", "c")
	w.await("member a has no process", func() bool { return len(w.PIDs("a")) == 0 })
	w.must(w.Works("b"))

	w.oneslot("group", "add-standby", w.Token, "c")
	w.must(w.Wait("c", "is standby", func(m control.Member) bool { return m.Role == control.Standby && m.Outstanding == 0 }))
	idle := w.calls("c")
	w.must(w.Works("b"))
	if n := w.calls("c"); n != idle {
		t.Errorf("the standby member answered %d calls", n-idle)
	}
	w.oneslot("group", "remove-standby", w.Token, "c")
	w.must(w.Works("c"))

	w.oneslot("group", "add-member", w.Token, "a")
	w.has("b", "c", "a")
	w.must(w.Ready("a", "b", "c"))
	w.must(w.Works("a"))
	unharmed(t, load)
	if after := a.identity(); after != before {
		t.Errorf("the slot was %s and is %s", before, after)
	}
}

// calls is how many calls a member answered, in all engines.
func (w *world) calls(member string) (n uint64) {
	w.t.Helper()
	groups, err := w.Groups()
	w.must(err)
	for _, g := range groups {
		for _, m := range g.Members {
			if m.Name == member {
				n += m.Calls
			}
		}
	}
	return n
}

// pairsOn lists the halves of key pairs on a member's own token.
func (w *world) pairsOn(member string) []string {
	w.t.Helper()
	c := w.Command("pkcs11-tool", "--module", w.SoftHSM, "--token-label", w.Token, "--login", "--pin", w.PIN, "--list-objects")
	c.Env = append(c.Env, w.Bare(member))
	out, err := c.Output()
	w.must(err)
	var list []string
	for line := range strings.Lines(string(out)) {
		if strings.Contains(line, "Key Object; RSA") || strings.Contains(line, "Key Object; EC") {
			list = append(list, strings.TrimSpace(line))
		}
	}
	return list
}

// R5: permanent failure: the broken member is removed, a fresh token is put in its
// place, and everything is there; the application works through all of it.
func TestReplacedByAFreshToken(t *testing.T) {
	if !inProcess(t) {
		return
	}
	w := newWorld(t, 3)
	a := w.login()
	_, sign := a.rsa(token.Label("old"))
	before := a.identity()
	load := a.load(8, sign, a.Hash())
	w.must(w.Away("b"))
	w.must(w.Gone("b"))
	w.oneslot("group", "remove-member", w.Token, "b")
	w.has("a", "c")
	a.ec(token.Label("new"))
	w.must(w.Back("b"))
	w.fresh("b")
	w.oneslot("group", "add-member", w.Token, "b")
	w.has("a", "c", "b")
	w.must(w.Ready("a", "b", "c"))
	w.must(w.Works("b"))
	w.only("b")
	a.use(sign)
	for _, label := range []string{"old", "new"} {
		if n := a.count(token.Label(label)); n != 2 {
			t.Errorf("%d halves of the pair %q on the fresh token", n, label)
		}
	}
	unharmed(t, load)
	if after := a.identity(); after != before {
		t.Errorf("the slot was %s and is %s", before, after)
	}
}

// R5: a broken configuration is refused as a whole: the one before stays in
// force, which log and status say, and `oneslot group` does not write one.
func TestBrokenConfigurationStaysOut(t *testing.T) {
	if !inProcess(t) {
		return
	}
	w := newWorld(t, 2)
	a := w.login()
	load := a.load(4, a.everything()...)
	good, err := os.ReadFile(w.Conf)
	w.must(err)
	// The one half of the change is right: it must not come into force.
	broken := strings.Replace(string(good), `members = ["a", "b"]`, `members = ["a"]`, 1) + "\nnonsense = 1\n"
	w.must(os.WriteFile(w.Conf, []byte(broken), 0o600))
	w.await("status says that the configuration is refused", func() bool {
		engines, err := w.Status()
		return err == nil && len(engines) == 1 && strings.Contains(engines[0].ConfigurationError, "nonsense")
	})
	out, _ := w.Command(w.Program, "status").CombinedOutput()
	if !strings.Contains(string(out), "refused") || !strings.Contains(string(out), "nonsense") {
		t.Errorf("oneslot status does not say it:\n%s", out)
	}
	if !strings.Contains(w.log(), "configuration-refused") {
		t.Errorf("the log does not say it")
	}
	if out, err := w.Command(w.Program, "group", "remove-member", w.Token, "b").CombinedOutput(); err == nil {
		t.Errorf("a broken file was edited:\n%s", out)
	}
	w.has("a", "b")
	w.must(w.Works("b"))
	w.must(os.WriteFile(w.Conf, good, 0o600))
	w.await("the configuration is right again", func() bool { return strings.Contains(w.log(), "configuration-right") })
	w.must(w.Works("b"))
	unharmed(t, load)
}

// R2, F7: with manual recovery a member stays away until `oneslot group recover`,
// and running applications take it back without a restart. A member whose PIN was
// changed meanwhile is tried with the PIN once.
func TestManualRecovery(t *testing.T) {
	if !inProcess(t) {
		return
	}
	w := newWorld(t, 3)
	w.oneslot("group", "recovery-mode", w.Token, "manual")
	a := w.login()
	load := a.calm(4, a.everything()...)
	w.must(w.Kill("b"))
	w.must(w.Gone("b"))
	w.must(w.Works("a"))
	if pids := w.PIDs("b"); len(pids) > 0 {
		t.Errorf("member b was tried without an order: %v", pids)
	}
	if out := w.oneslot("group", "recover"); !strings.Contains(out, "tries its failed members") {
		t.Errorf("oneslot group recover: %s", out)
	}
	w.must(w.Ready())
	w.must(w.Works("b"))

	w.must(w.Kill("b"))
	w.must(w.Gone("b"))
	c := w.Command("pkcs11-tool", "--module", w.SoftHSM, "--token-label", w.Token, "--login", "--pin", w.PIN, "--change-pin", "--new-pin", "9876")
	c.Env = append(c.Env, w.Bare("b"))
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	w.oneslot("group", "recover")
	w.quarantined("b", "PIN")
	if counted := w.tries(); !slices.Equal(counted, []string{"b"}) {
		t.Errorf("%v counted a wrong PIN, want b", counted)
	}
	tried := strings.Count(w.log(), "PIN that another member accepted was refused")
	for range 2 { // the token is not asked again: it has seen a wrong PIN
		w.oneslot("group", "recover")
		w.quarantined("b", "seen a wrong PIN")
	}
	if n := strings.Count(w.log(), "PIN that another member accepted was refused"); n != tried || n != 1 {
		t.Errorf("the PIN was refused %d times", n)
	}
	unharmed(t, load)
}

// R1: after recovery_attempts in vain a member is left alone until an order.
func TestRecoveryAttempts(t *testing.T) {
	if !inProcess(t) {
		return
	}
	w := newWorld(t, 2)
	w.oneslot("group", "retry", w.Token, "2")
	a := w.login()
	w.must(w.Away("b"))
	w.must(w.Gone("b"))
	w.must(w.Wait("b", "failed three times", func(m control.Member) bool { return m.Failures == 3 && m.State == "down" }))
	w.must(w.Back("b"))
	load := a.calm(2, a.Hash())
	for range 3 {
		w.must(w.Works("a"))
	}
	w.must(w.Wait("b", "is left alone", func(m control.Member) bool { return m.Failures == 3 && m.State == "down" }))
	w.oneslot("group", "recover")
	w.must(w.Ready())
	unharmed(t, load)
}

// serial is the serial number of a member's token.
func (w *world) serial(member string) (serial string) {
	w.t.Helper()
	w.must(w.Wait(member, "shows its serial number", func(m control.Member) bool {
		serial = m.TokenSerial
		return serial != ""
	}))
	return serial
}

// K5: a key that was destroyed while its member was out of the configuration does
// not come back with it. A token that was given up for good is waited for no
// longer, and quarantined if it returns as it was.
func TestRemovedMemberReturns(t *testing.T) {
	if !inProcess(t) {
		return
	}
	w := newWorld(t, 3)
	a := w.login()
	a.ec(token.Label("first"))
	a.ec(token.Label("second"))
	a.ec(token.Label("stays"))
	serial := w.serial("b")

	w.oneslot("group", "remove-member", w.Token, "b")
	w.has("a", "c")
	a.restart() // who destroys never knew the member
	for _, o := range a.find("first") {
		w.must(a.DestroyObject(a.s, o))
	}
	w.oneslot("group", "add-member", w.Token, "b")
	w.has("a", "c", "b")
	w.must(w.Ready("b"))
	if n := a.count(token.Label("first")) + len(w.pairsLabelled("b", "first")); n != 0 {
		t.Errorf("%d objects that were destroyed came back", n)
	}

	w.oneslot("group", "remove-member", w.Token, "b")
	w.has("a", "c")
	for _, o := range a.find("second") {
		w.must(a.DestroyObject(a.s, o))
	}
	if out := w.oneslot("group", "forget", w.Token, serial, "--pin-from=env:PIN"); !strings.Contains(out, "2 records wait for it") {
		t.Errorf("oneslot group forget says: %s", out)
	}
	if out := w.oneslot("group", "forget", w.Token, serial, "--pin-from=env:PIN", "--yes"); !strings.Contains(out, "forgotten") || !strings.Contains(out, "a, c") {
		t.Errorf("oneslot group forget --yes says: %s", out)
	}
	w.oneslot("group", "add-member", w.Token, "b")
	w.has("a", "c", "b")
	w.quarantined("b", "given up")
	if n := a.count(token.Label("second")); n != 0 {
		t.Errorf("%d objects that were destroyed came back", n)
	}
	w.fresh("b")
	w.oneslot("group", "remove-member", w.Token, "b")
	w.has("a", "c")
	w.oneslot("group", "add-member", w.Token, "b")
	w.has("a", "c", "b")
	w.must(w.Ready("a", "c", "b"))
	if n := len(w.pairsLabelled("b", "stays")); n != 2 {
		t.Errorf("the fresh token has %d halves of the pair", n)
	}
}

func (a *app) find(label string) []p11.ObjectHandle {
	a.w.t.Helper()
	found, err := a.Find(a.s, token.Label(label))
	a.w.must(err)
	if len(found) == 0 {
		a.w.t.Errorf("nothing is called %q", label)
	}
	return found
}

// pairsLabelled lists what is called so on a member's own token.
func (w *world) pairsLabelled(member, label string) []string {
	w.t.Helper()
	c := w.Command("pkcs11-tool", "--module", w.SoftHSM, "--token-label", w.Token, "--login", "--pin", w.PIN, "--list-objects")
	c.Env = append(c.Env, w.Bare(member))
	out, err := c.Output()
	w.must(err)
	var list []string
	for line := range strings.Lines(string(out)) {
		if strings.Contains(line, "label:") && strings.Contains(line, label) {
			list = append(list, line)
		}
	}
	return list
}
