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
	for _, member := range n.Members {
		n.register(member, "add", name, "--token=token", "--certificate="+filepath.Join(n.Dir, name+".crt"))
	}
	return n.client(name)
}

// client is the world of a client whose certificate is there.
func (n *network) client(name string) *world {
	n.t.Helper()
	text, err := os.ReadFile(n.Conf)
	n.must(err)
	other := *n.Cluster
	other.Conf = filepath.Join(n.Dir, name+".toml")
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
	if !inNamespace(t) {
		return
	}
	n := newNetwork(t, 1)
	other := n.registered("other")
	var all []*stress
	for i := range 9 {
		w := n.world
		if i%2 == 1 {
			w = other
		}
		s := w.stress("-for=0", "-threads=1", "-pause=50ms", "-work=ecdsa", fmt.Sprint("-key=", i))
		t.Cleanup(func() {
			s.Process.Kill()
			_ = s.Wait()
		})
		// One after the other: SoftHSM may answer CKR_GENERAL_ERROR to logins
		// at the same time, and a member that did is built up anew.
		n.work(s)
		all = append(all, s)
	}
	k := n.open()
	s, err := k.Session()
	n.must(err)
	a := &app{Token: k, w: n.world, s: s}
	a.calm(1, a.Random()) // needs no login, and shows that all engines work
	working := func(those []*stress) {
		t.Helper()
		n.must(n.Works("a"))
		n.work(those...)
	}
	working(all)
	before := n.served("a", 10)
	gone := n.disconnected("a")
	private := token.Class(p11.CKO_PRIVATE_KEY)
	if found := a.count(private); found != 0 {
		t.Errorf("by the logins of others, %d private keys are seen", found)
	}
	n.must(a.Ctx.Login(s, p11.CKU_USER, n.PIN))
	if a.count(private) == 0 {
		t.Error("with a login of its own it sees no private key")
	}
	n.must(a.Logout(s))
	working(all)
	if err := a.Ctx.Login(s, p11.CKU_USER, "0000"); err != p11.Error(p11.CKR_PIN_INCORRECT) {
		t.Errorf("C_Login with a wrong PIN: %v", err)
	}
	working(all)
	if found := a.count(private); found != 0 {
		t.Errorf("after logout and a wrong PIN, %d private keys are seen", found)
	}

	n.must(all[0].Process.Kill())
	_ = all[0].Wait()
	n.await("the appliance to log a client as gone", func() bool { return n.disconnected("a") > gone })
	for _, pid := range n.served("a", 9) {
		if !slices.Contains(before, pid) {
			t.Errorf("process %d on the appliance is new: another application lost its own", pid)
		}
	}
	working(all[1:])
	for _, s := range all[1:] {
		s.end()
	}
}

// left waits until so many of the processes of an appliance are left. There may be
// others, of a client that comes again and again.
func (n *network) left(member string, of []int, count int) {
	n.t.Helper()
	n.await(fmt.Sprintf("%d of the processes %v of appliance %s to be left", count, of, member), func() bool {
		now := children(n.listener(member))
		left := slices.DeleteFunc(slices.Clone(of), func(pid int) bool { return !slices.Contains(now, pid) })
		return len(left) == count
	})
}

// disconnected is how many clients an appliance has logged as gone.
func (n *network) disconnected(member string) int {
	return strings.Count(n.applianceLog(member), "msg=client-disconnected")
}

// N1; field-L9: register and configuration are read again and again under load.
// No call of a client that may stay is dropped; one that is removed is cut off,
// and not let in again.
func TestNetworkRegisterIsReadUnderLoad(t *testing.T) {
	if !inNamespace(t) {
		return
	}
	n := newNetwork(t, 1)
	other := n.registered("other")
	a := n.login()
	load := a.load(4, a.everything()...)
	s := other.stress("-for=0", "-threads=1", "-work=random")
	t.Cleanup(func() {
		s.Process.Kill()
		_ = s.Wait()
	})
	n.work(s)
	before := n.served("a", 2)
	for i := range 10 {
		name := fmt.Sprint("late", i)
		n.register("a", "add", name, "--token=token", "--fingerprint="+strings.Repeat(fmt.Sprintf("%02x", i), 32))
		n.reload("a")
	}
	n.must(n.Works("a")) // of both clients
	n.work(s)
	if now := n.served("a", 2); !slices.Equal(before, now) {
		t.Errorf("processes %v before, %v after the register was read", before, now)
	}
	n.register("a", "remove", "other")
	n.reload("a")
	n.cutOff("a", "other", "unknown-client")
	n.left("a", before, 1)
	unharmed(t, load)
}

// cutOff waits until an appliance has ended a client's connection for a reason,
// and until it was refused for that reason when it came again. What the client
// says of it is another matter: nobody knows how long it lives then.
func (n *network) cutOff(member, client, code string) {
	n.t.Helper()
	logged := func(parts ...string) func() bool {
		return func() bool {
			for line := range strings.Lines(n.applianceLog(member)) {
				if !slices.ContainsFunc(parts, func(part string) bool { return !strings.Contains(line, part) }) {
					return true
				}
			}
			return false
		}
	}
	n.await("client "+client+" to be cut off", logged("msg=client-disconnected", "client="+client, "reason=\""+code+":"))
	n.await("client "+client+" to be refused", logged("msg=connection-refused", "code="+code))
}
