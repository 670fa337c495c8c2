// SPDX-License-Identifier: Apache-2.0

package test_test

import (
	"errors"
	"os/exec"
	"strings"
	"testing"

	p11 "github.com/miekg/pkcs11"

	"oneslot.dev/oneslot/test/token"
)

// tries is how many members count a wrong PIN, by what their own tokens say.
func (w *world) tries() (counted []string) {
	w.t.Helper()
	for _, member := range w.Members {
		c := w.Command("pkcs11-tool", "--module", w.SoftHSM, "--list-token-slots")
		c.Env = append(c.Env, w.Bare(member))
		out, err := c.CombinedOutput()
		if err != nil || !strings.Contains(string(out), "token flags") {
			w.t.Fatalf("%v\n%s", err, out)
		}
		if strings.Contains(string(out), "user PIN count low") {
			counted = append(counted, member)
		}
	}
	return counted
}

// F6, F7; field-F3: a wrong PIN costs one try on one member, and is not sent
// again to members that come back.
func TestWrongPINCostsOneTryOnOneMember(t *testing.T) {
	if !inProcess(t) {
		return
	}
	w := newWorld(t, 3)
	k := w.open()
	s, err := k.Session()
	w.must(err)
	w.must(w.Ready())
	if counted := w.tries(); len(counted) != 0 {
		t.Fatalf("before any try, %v counted one", counted)
	}
	if err := k.Ctx.Login(s, p11.CKU_USER, "0000"); !errors.Is(err, p11.Error(p11.CKR_PIN_INCORRECT)) {
		t.Errorf("C_Login: %v", err)
	}
	if counted := w.tries(); len(counted) != 1 {
		t.Errorf("after one try, %v counted one", counted)
	}
	for _, member := range w.Members {
		w.replaced(member, w.Kill)
	}
	w.must(w.Ready())
	if counted := w.tries(); len(counted) != 1 {
		t.Errorf("after all members came back, %v counted a try", counted)
	}
	w.must(k.Ctx.Login(s, p11.CKU_USER, w.PIN))
	w.await("the right PIN clears the count", func() bool { return len(w.tries()) == 0 })
}

// R6: a member whose PIN was changed behind the group's back is left alone
// until an operator acts; the others serve. Its PIN is tried once.
func TestMemberWithAnotherPIN(t *testing.T) {
	if !inProcess(t) {
		return
	}
	w := newWorld(t, 3)
	c := w.Command("pkcs11-tool", "--module", w.SoftHSM, "--token-label", w.Token, "--login", "--pin", w.PIN, "--change-pin", "--new-pin", "9876")
	c.Env = append(c.Env, w.Bare("b"))
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	k := w.open()
	s, err := k.Login(w.PIN)
	w.must(err)
	a := &app{Token: k, w: w, s: s}
	_, sign := a.rsa()
	w.quarantined("b", "PIN")
	w.must(w.Ready("a", "c"))
	load := a.calm(4, sign)
	w.must(w.Works("a"))
	w.must(w.Works("c"))
	unharmed(t, load)
	if counted := w.tries(); len(counted) != 1 || counted[0] != "b" {
		t.Errorf("%v counted a wrong PIN, want b", counted)
	}
}

// N2: applications that share an engine share no login. F7 does not let one
// notice the other's.
func TestApplicationsOfOneEngineAreApart(t *testing.T) {
	if !inProcess(t) {
		return
	}
	w := newWorld(t, 3)
	socket := w.serve()
	a := w.login()
	_, sign := a.rsa(token.Label("private"))
	out := w.tool("--list-objects")
	if strings.Contains(out, "Private Key Object") || !strings.Contains(out, "Public Key Object") {
		t.Errorf("without login another application sees:\n%s", out)
	}
	if out := w.tool("--list-objects", "--login", "--pin", w.PIN); !strings.Contains(out, "Private Key Object") {
		t.Errorf("with its own login another application sees:\n%s", out)
	}
	a.use(sign) // the other's end is not ours
	if n := a.count(token.Class(p11.CKO_PRIVATE_KEY)); n != 1 {
		t.Errorf("%d private keys", n)
	}
	other := exec.Command("pkcs11-tool", "--module", w.Module, "--list-slots")
	other.Env = append(w.Command("").Env, "ONESLOT_SOCKET="+socket+".none")
	if out, err := other.CombinedOutput(); err == nil {
		t.Errorf("a socket that is named and not there was passed over:\n%s", out)
	}
}

// tool runs pkcs11-tool on the group.
func (w *world) tool(args ...string) string {
	w.t.Helper()
	c := w.Command("pkcs11-tool", append([]string{"--module", w.Module, "--token-label", w.Token}, args...)...)
	c.Env = append(c.Env, "ONESLOT_SOCKET="+w.socket())
	out, err := c.CombinedOutput()
	if err != nil {
		w.t.Fatalf("%v: %v\n%s", c.Args, err, out)
	}
	return string(out)
}
