// SPDX-License-Identifier: Apache-2.0

package test_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	p11 "github.com/miekg/pkcs11"

	"oneslot.dev/oneslot/control"
	"oneslot.dev/oneslot/test/token"
)

// odd has a member use odd.c in place of SoftHSM itself, with these variables. Engines
// that run already do not see it.
func (w *world) odd(member string, variables ...string) {
	w.t.Helper()
	name, bare := fmt.Sprintf("name = %q\nmodule = ", member), strings.Replace(w.Bare(member), "=", " = \"", 1)+"\"\n"
	w.edit(fmt.Sprintf("%s%q\n", name, w.SoftHSM), fmt.Sprintf("%s%q\n", name, w.module("odd")))
	for _, v := range variables {
		key, value, _ := strings.Cut(v, "=")
		w.edit(bare, bare+fmt.Sprintf("%s = %q\n", key, value))
	}
}

// R3; field-E2: a member's slots have other numbers each time its library starts, and
// there is another token of that label; it is found by its serial number.
func TestMembersRenumberTheirSlots(t *testing.T) {
	if !inProcess(t) {
		return
	}
	w := newWorld(t, 2)
	for _, member := range w.Members {
		w.odd(member, "ODD_SLOTS=1")
	}
	a := w.login()
	load := a.calm(4, a.everything()...)
	for _, member := range w.Members {
		w.must(w.Works(member))
		w.replaced(member, w.Kill)
		w.must(w.Ready())
		w.must(w.Works(member))
	}
	unharmed(t, load)
}

// G8, F6; field-K6: a mechanism that one member lacks is not offered, also while that
// member is down; who uses it nevertheless hears that it is invalid, and no member is
// to blame for it.
func TestMembersWithOtherMechanisms(t *testing.T) {
	if !inProcess(t) {
		return
	}
	w := newWorld(t, 2)
	w.odd("b", fmt.Sprintf("ODD_WITHOUT=%#x,%#x,%#x,%#x", p11.CKM_ECDSA, p11.CKM_AES_KEY_GEN, p11.CKM_ECDH1_DERIVE, p11.CKM_DSA_KEY_PAIR_GEN))
	a := w.login()
	_, rsa := a.rsa()
	pair, err := a.EC(a.s)
	w.must(err)
	offered := func() []*p11.Mechanism {
		t.Helper()
		list, err := a.GetMechanismList(a.Slot)
		w.must(err)
		if len(list) < 20 || slices.ContainsFunc(list, func(m *p11.Mechanism) bool { return m.Mechanism == p11.CKM_ECDSA }) {
			t.Errorf("%d mechanisms, with ECDSA", len(list))
		}
		return list
	}
	before := offered()
	if _, err := a.GetMechanismInfo(a.Slot, simple(p11.CKM_ECDSA)); !errors.Is(err, p11.Error(p11.CKR_MECHANISM_INVALID)) {
		t.Errorf("C_GetMechanismInfo: %v", err)
	}
	for range 2 * len(w.Members) {
		if err := a.SignInit(a.s, simple(p11.CKM_ECDSA), pair.Private); !errors.Is(err, p11.Error(p11.CKR_MECHANISM_INVALID)) {
			t.Errorf("C_SignInit: %v", err)
		}
	}
	invalid := func(what string, err error) {
		t.Helper()
		if !errors.Is(err, p11.Error(p11.CKR_MECHANISM_INVALID)) {
			t.Errorf("%s: %v", what, err)
		}
	}
	_, err = a.GenerateKey(a.s, simple(p11.CKM_AES_KEY_GEN), []*p11.Attribute{p11.NewAttribute(p11.CKA_VALUE_LEN, 32)})
	invalid("C_GenerateKey", err)
	_, _, err = a.GenerateKeyPair(a.s, simple(p11.CKM_DSA_KEY_PAIR_GEN), nil, nil)
	invalid("C_GenerateKeyPair", err)
	_, err = a.DeriveKey(a.s, []*p11.Mechanism{p11.NewMechanism(p11.CKM_ECDH1_DERIVE, p11.NewECDH1DeriveParams(p11.CKD_NULL, nil, make([]byte, 65)))}, pair.Private, nil)
	invalid("C_DeriveKey", err)
	a.use(rsa)
	if strings.Contains(w.log(), "event=member-down") {
		t.Error("a member was dropped")
	}
	w.must(w.Away("b"))
	w.must(w.Gone("b"))
	if after := offered(); len(after) != len(before) {
		t.Errorf("%d mechanisms without b, %d with it", len(after), len(before))
	}
}

// G8, K8; field-K6: a key that one member finds too small is not made, and one that was
// made before is used on the other.
func TestMembersWithOtherKeySizes(t *testing.T) {
	if !inProcess(t) {
		return
	}
	w := newWorld(t, 2)
	onToken := p11.NewAttribute(p11.CKA_TOKEN, true)
	small := []*p11.Attribute{p11.NewAttribute(p11.CKA_MODULUS_BITS, 1024), p11.NewAttribute(p11.CKA_PUBLIC_EXPONENT, []byte{1, 0, 1})}
	a := w.login()
	_, _, err := a.GenerateKeyPair(a.s, simple(p11.CKM_RSA_PKCS_KEY_PAIR_GEN), append(small, onToken, token.Label("small")),
		[]*p11.Attribute{onToken, token.Label("small"), p11.NewAttribute(p11.CKA_SIGN, true)})
	w.must(err)
	w.odd("b", "ODD_RSA=2048")
	a.restart()
	w.must(w.Ready())
	key := a.one(p11.CKO_PRIVATE_KEY, "small")
	for range 3 * len(w.Members) {
		w.must(a.SignInit(a.s, simple(p11.CKM_SHA256_RSA_PKCS), key))
		_, err := a.Sign(a.s, []byte("data"))
		w.must(err)
	}
	if _, _, err := a.GenerateKeyPair(a.s, simple(p11.CKM_RSA_PKCS_KEY_PAIR_GEN), small, nil); !errors.Is(err, p11.Error(p11.CKR_KEY_SIZE_RANGE)) {
		t.Errorf("C_GenerateKeyPair of 1024 bits: %v", err)
	}
	_, rsa := a.rsa() // of 2048 bits
	a.use(rsa)
	if strings.Contains(w.log(), "event=member-down") {
		t.Error("a member was dropped")
	}
}

// field-K8: a member that signs in DER is not used from the first call on that this matters
// for, every signature is r and s, and status, log and check say why.
func TestAMemberSignsInDER(t *testing.T) {
	if !inProcess(t) {
		return
	}
	w := newWorld(t, 3)
	w.odd("b", "ODD_DER=1")
	a := w.login()
	_, rsa := a.rsa()
	load := a.load(2, rsa)
	w.must(w.Works("b")) // no reason to look at it
	_, ec := a.ec()      // verified outside of the group
	for range 3 * len(w.Members) {
		a.use(ec)
	}
	const why = "the token makes ECDSA signatures in DER, not as r and s of 32 bytes each"
	w.must(w.Wait("b", "says why it is out", func(m control.Member) bool {
		return m.State == "quarantined" && strings.Contains(m.LastError, why)
	}))
	if !strings.Contains(w.log(), "event=member-quarantined") || !strings.Contains(w.log(), why) {
		t.Error("the log does not say so")
	}
	check := w.Command(w.Program, "check", "--pin-from", "env:PIN")
	check.Env = append(check.Env, "PIN="+w.PIN)
	out, _ := check.Output() // it fails
	if text := string(out); !strings.Contains(text, why) || strings.Count(text, "WRONG") != 1 {
		t.Errorf("check says %s", text)
	}
	unharmed(t, load)
}

// field-F6: where each token has a PIN pad one C_Login asks all of them. Nobody is there to
// log in a member that comes back: it stays out and says so, others serve, and no pad is
// asked but by the C_Login of an application.
func TestPINPads(t *testing.T) {
	if !inProcess(t) {
		return
	}
	w := newWorld(t, 2)
	asked := w.pads(w.Members...)
	app := w.obedient("pinpad")
	w.must(w.Ready())
	app.hears("login", "login 0x0")
	app.hears("random", "random 0x0")
	w.must(w.Ready())
	if got := asked(); got["a"] != 1 || got["b"] != 1 {
		t.Errorf("one login asked the pads %v times", got)
	}
	w.must(w.Kill("a"))
	const needs = "the token needs a login at its own PIN pad"
	w.await("it to need a login", func() bool { return strings.Contains(w.log(), needs) })
	app.hears("random", "random 0x0")
	if got := asked(); got["a"] != 1 || got["b"] != 1 {
		t.Errorf("pads were asked %v times, though nobody called C_Login again", got)
	}
	app.hears("logout", "logout 0x0")
	w.must(w.Ready())
	app.hears("login", "login 0x0")
	app.hears("random", "random 0x0")
	w.must(w.Ready())
	if got := asked(); got["a"] != 2 || got["b"] != 2 {
		t.Errorf("two logins asked the pads %v times", got)
	}
	app.end()
}

// field-F6: where some tokens have a PIN pad, the others get the PIN of the application
// and the pads are asked; without a PIN those others stay out.
func TestOnePINPad(t *testing.T) {
	if !inProcess(t) {
		return
	}
	w := newWorld(t, 2)
	asked := w.pads("a")
	app := w.obedient("pinpad")
	w.must(w.Ready())
	app.hears("pin", "pin 0x0")
	w.must(w.Ready())
	if got := asked(); got["a"] != 1 {
		t.Errorf("the pad was asked %v times", got)
	}
	app.hears("logout", "logout 0x0")
	w.must(w.Ready())
	app.hears("login", "login 0x0")
	app.hears("random", "random 0x0")
	w.must(w.Wait("b", "needs a PIN", func(m control.Member) bool {
		return m.State == "quarantined" && strings.Contains(m.LastError, "the token needs a PIN from the application")
	}))
	app.end()
}

// pads gives members a PIN pad, and returns how often each was asked.
func (w *world) pads(members ...string) (asked func() map[string]int) {
	w.t.Helper()
	for _, member := range members {
		w.odd(member, "ODD_PINPAD="+filepath.Join(w.Dir, member+".pad"), "PIN="+w.PIN)
	}
	return func() map[string]int {
		n := map[string]int{}
		for _, member := range members {
			text, _ := os.ReadFile(filepath.Join(w.Dir, member+".pad"))
			n[member] = len(text)
		}
		return n
	}
}

// An obedient application does what it is told, line by line.
type obedient struct {
	*exec.Cmd
	w   *world
	in  io.WriteCloser
	out *bufio.Reader
}

func (w *world) obedient(name string, args ...string) *obedient {
	w.t.Helper()
	o := &obedient{Cmd: w.Command(w.compile(name), append([]string{w.Module}, args...)...), w: w}
	o.Stderr = os.Stderr
	var err error
	o.in, err = o.StdinPipe()
	w.must(err)
	out, err := o.StdoutPipe()
	w.must(err)
	o.out = bufio.NewReader(out)
	w.must(o.Start())
	w.t.Cleanup(func() { _ = o.Process.Kill() })
	return o
}

// hears gives an order, and wants this answer.
func (o *obedient) hears(order, want string) {
	o.w.t.Helper()
	_, err := io.WriteString(o.in, order+"\n")
	o.w.must(err)
	if got, err := o.out.ReadString('\n'); err != nil || got != want+"\n" {
		o.w.t.Fatalf("it was told %s and said %q, %v; want %q", order, got, err, want)
	}
}

// end lets it come to a good end.
func (o *obedient) end() {
	o.w.t.Helper()
	o.w.must(o.in.Close())
	o.w.must(o.Wait())
}
