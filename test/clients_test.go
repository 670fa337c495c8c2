// SPDX-License-Identifier: Apache-2.0

package test_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	p11 "github.com/miekg/pkcs11"

	"oneslot.dev/oneslot/test/token"
)

// registered is the world of another client: with a certificate of its own,
// registered at all appliances.
func (n *network) registered(name string) *world {
	n.t.Helper()
	n.oneslot("cert", "new", name, "--dir="+n.Dir)
	file := filepath.Join(n.Dir, name)
	for _, member := range n.Members {
		n.register(member, "add", name, "--token=token", "--certificate="+file+".crt")
	}
	text, err := os.ReadFile(n.Conf)
	n.must(err)
	other := *n.Cluster
	other.Conf = file + ".toml"
	n.must(os.WriteFile(other.Conf, []byte(strings.ReplaceAll(string(text), `"sandbox.`, `"`+name+`.`)), 0o600))
	w := &world{&other, n.t}
	n.t.Cleanup(w.Close)
	return w
}

// register runs `oneslot-member client` on an appliance.
func (n *network) register(member, do, name string, args ...string) {
	n.t.Helper()
	args = append([]string{"client", do, name, "--config=" + n.applianceConf(member)}, args...)
	if out, err := exec.Command(filepath.Join(bin, "oneslot-member"), args...).CombinedOutput(); err != nil {
		n.t.Fatalf("oneslot-member %v: %v\n%s", args, err, out)
	}
}

// N2; field-L6: ten applications of two clients on one appliance, each with its
// own login. One logs out, tries a wrong PIN, and another is killed: the others
// do not notice.
func TestNetworkTenApplications(t *testing.T) {
	n := newNetwork(t, 1)
	other := n.registered("other")
	var all []*stress
	for i := range 9 {
		w := n.world
		if i%2 == 1 {
			w = other
		}
		s := w.stress("-for=0", "-threads=1", "-work=ecdsa", fmt.Sprint("-key=", i))
		t.Cleanup(func() { s.Process.Kill() })
		all = append(all, s)
	}
	k := n.open()
	s, err := k.Session()
	n.must(err)
	a := &app{Token: k, w: n.world, s: s}
	a.load(1, a.Random()) // needs no login, and shows that all engines work
	before := n.served("a", 10)
	n.must(n.Works("a"))
	private := token.Class(p11.CKO_PRIVATE_KEY)
	if found := a.count(private); found != 0 {
		t.Errorf("by the logins of others, %d private keys are seen", found)
	}
	n.must(a.Ctx.Login(s, p11.CKU_USER, n.PIN))
	if a.count(private) == 0 {
		t.Error("with a login of its own it sees no private key")
	}
	n.must(a.Logout(s))
	n.must(n.Works("a"))
	if err := a.Ctx.Login(s, p11.CKU_USER, "0000"); err != p11.Error(p11.CKR_PIN_INCORRECT) {
		t.Errorf("C_Login with a wrong PIN: %v", err)
	}
	n.must(n.Works("a"))
	if found := a.count(private); found != 0 {
		t.Errorf("after logout and a wrong PIN, %d private keys are seen", found)
	}

	n.must(all[0].Process.Kill())
	_ = all[0].Wait()
	after := n.served("a", 9)
	for _, pid := range after {
		if !slices.Contains(before, pid) {
			t.Errorf("process %d on the appliance is new: another application lost its own", pid)
		}
	}
	n.await("the appliance to log one client as gone", func() bool {
		return strings.Count(n.applianceLog("a"), "msg=client-disconnected") == 1
	})
	n.must(n.Works("a"))
	for _, s := range all[1:] {
		s.end()
	}
}

// N1; field-L9: register and configuration are read again and again under load.
// No call of a client that may stay is dropped; one that is removed is cut off,
// and not let in again.
func TestNetworkRegisterIsReadUnderLoad(t *testing.T) {
	n := newNetwork(t, 1)
	other := n.registered("other")
	a := n.login()
	load := a.load(4, a.everything()...)
	s := other.stress("-for=0", "-threads=1", "-work=random")
	t.Cleanup(func() {
		s.Process.Kill()
		_ = s.Wait()
	})
	before := n.served("a", 2)
	n.must(n.Works("a"))
	for i := range 10 {
		name := fmt.Sprint("late", i)
		n.register("a", "add", name, "--token=token", "--fingerprint="+strings.Repeat(fmt.Sprintf("%02x", i), 32))
		n.reload("a")
	}
	n.must(n.Works("a")) // of both clients
	if now := n.served("a", 2); !slices.Equal(before, now) {
		t.Errorf("processes %v before, %v after the register was read", before, now)
	}
	n.register("a", "remove", "other")
	n.reload("a")
	n.await("the removed client to be refused", func() bool {
		return strings.Contains(n.log(), "no client is registered here by the certificate")
	})
	if now := n.served("a", 1); !slices.Contains(before, now[0]) {
		t.Errorf("the client that stays has another process")
	}
	unharmed(t, load)
}
