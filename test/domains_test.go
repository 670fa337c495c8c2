// SPDX-License-Identifier: Apache-2.0

package test_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	p11 "github.com/miekg/pkcs11"

	"oneslot.dev/oneslot/test/cluster"
	"oneslot.dev/oneslot/test/token"
)

// R6, K6: the appliances of a group are in different domains. The odd one is
// quarantined with a reason, in log, status and check; the others serve; no key
// goes either way.
func TestNetworkAnotherDomain(t *testing.T) {
	if !inNamespace(t) {
		return
	}
	n := newNetwork(t, 3)
	other, err := cluster.New(bin, filepath.Join(n.Dir, "other"), 1)
	n.must(err)
	n.must(os.RemoveAll(filepath.Join(n.Dir, "b", "tokens")))
	n.must(os.Rename(filepath.Join(other.Dir, "a", "tokens"), filepath.Join(n.Dir, "b", "tokens")))
	n.bare("b", func(own *app) { own.rsa(token.Label("theirs")) })

	a := &app{Token: n.open(), w: n.world}
	a.s, err = a.Login(n.PIN)
	n.must(err)
	n.must(n.Ready("a", "c"))
	const reason = "its token is in another domain than that of member "
	n.quarantined("b", reason)
	before := n.calls("b")
	_, ours := a.rsa(token.Label("ours"))
	load := a.calm(4, append(a.everything(), ours)...)
	n.must(n.Works("a"))
	n.must(n.Works("c"))
	unharmed(t, load)
	if now := n.calls("b"); now != before {
		t.Errorf("member b got %d calls while it was quarantined", now-before)
	}

	for what, said := range map[string]string{
		"the log": n.log(), "oneslot status": strings.Join(strings.Fields(n.oneslot("status")), " "),
	} {
		if !strings.Contains(said, "quarantined") || !strings.Contains(said, reason) {
			t.Errorf("%s does not say why member b is quarantined:\n%s", what, said)
		}
	}
	if said := n.check(); !strings.Contains(said, "members are in different domains (") {
		t.Errorf("oneslot check does not say it:\n%s", said)
	}
	if found := a.count(token.Label("theirs")); found != 0 {
		t.Errorf("the group shows %d objects of the other domain", found)
	}
	for member, want := range map[string]string{"a": "ours", "b": "theirs", "c": "ours"} {
		n.bare(member, func(own *app) {
			own.one(p11.CKO_PRIVATE_KEY, want)
			foreign := "ours"
			if want == foreign {
				foreign = "theirs"
			}
			if found := own.count(token.Label(foreign)); found != 0 {
				t.Errorf("member %s holds %d objects of the other domain", member, found)
			}
		})
	}
}
