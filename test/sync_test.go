// SPDX-License-Identifier: Apache-2.0

package test_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"testing"

	p11 "github.com/miekg/pkcs11"

	"oneslot.dev/oneslot/group"
	"oneslot.dev/oneslot/test/token"
)

// survey runs `oneslot sync` and returns what it says, as JSON and as text, and
// whether it found everything right.
func (w *world) survey(args ...string) (s group.Survey, text string, right bool) {
	w.t.Helper()
	run := func(args ...string) ([]byte, error) {
		c := w.Command(w.Program, append([]string{"sync", "--pin-from=env:PIN"}, args...)...)
		return c.Output()
	}
	out, err := run(append(args, "--json")...)
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && exit.ExitCode() != 1 {
		w.t.Fatalf("oneslot sync: %v\n%s", err, exit.Stderr)
	}
	var all []group.Survey
	if failed := json.Unmarshal(out, &all); failed != nil || len(all) != 1 {
		w.t.Fatalf("oneslot sync --json: %v, %v\n%s", err, failed, out)
	}
	said, _ := run(append(args, "--dry-run")...)
	return all[0], string(said), err == nil
}

// object is the row about an object, by a part of its description.
func object(t *testing.T, s group.Survey, what string) group.SurveyObject {
	t.Helper()
	for _, o := range s.Objects {
		if strings.Contains(o.What, what) {
			return o
		}
	}
	t.Errorf("the survey does not show %q: %+v", what, s.Objects)
	return group.SurveyObject{}
}

// bare opens a member's own token with its own module, behind the group's back,
// runs something there, and leaves it.
func (w *world) bare(member string, run func(a *app)) {
	w.t.Helper()
	name, value, _ := strings.Cut(w.Bare(member), "=")
	w.t.Setenv(name, value)
	k, err := token.Open(w.SoftHSM, w.Token)
	w.must(err)
	defer k.Close()
	a := &app{Token: k, w: w}
	a.s, err = k.Login(w.PIN)
	w.must(err)
	run(a)
}

// one finds the object of a class and label that there is.
func (a *app) one(class uint, label string) p11.ObjectHandle {
	a.w.t.Helper()
	found, err := a.Find(a.s, token.Class(class), token.Label(label))
	a.w.must(err)
	if len(found) != 1 {
		a.w.t.Fatalf("%d objects of class %d with label %q", len(found), class, label)
	}
	return found[0]
}

// R3, K8; field-C12, field-D4, M2, M4: `oneslot sync` says for each key and member what is
// where, which attributes differ, what it would copy and destroy and what it
// cannot, and changes nothing with --dry-run; without it the members are equal
// then, and their copies prove to be the same keys.
func TestSync(t *testing.T) {
	if !inProcess(t) {
		return
	}
	w := newWorld(t, 3)
	a := w.login()
	a.rsa(token.Label("rsa"), token.ID(1))
	a.ec(token.Label("ec"), token.ID(2))
	a.aes(token.Label("aes"))
	gone, _, err := a.Secret(a.s, p11.CKK_GENERIC_SECRET, true, token.Label("gone"))
	w.must(err)
	w.must(w.Away("b"))
	w.must(w.Gone("b"))
	a.ec(token.Label("new"), token.ID(3))
	w.must(a.DestroyObject(a.s, gone))
	w.must(a.Close())
	w.await("the engine is gone", func() bool { return len(w.Processes()) == 0 })
	w.must(w.Back("b"))
	w.bare("c", func(b *app) {
		w.must(b.SetAttributeValue(b.s, b.one(p11.CKO_SECRET_KEY, "aes"), []*p11.Attribute{token.Label("drifted"), p11.NewAttribute(p11.CKA_ENCRYPT, false)}))
		b.ec(token.Label("local"), token.ID(4))
	})

	s, text, right := w.survey("--dry-run", "--prove")
	if right {
		t.Error("a dry run finds everything right")
	}
	for what, want := range map[string]string{
		`private key, label "new"`: "map[a:1 c:1] to [b]", `private key, label "rsa"`: "map[a:1 b:1 c:1] to []",
		`secret key, label "gone"`: "map[b:1] to []", `private key, label "local"`: "map[c:1] to []",
		`public key, label "local"`: "map[c:1] to [a b]",
	} {
		o := object(t, s, what)
		if got := fmt.Sprint(o.On, " to ", o.CopyTo); got != want {
			t.Errorf("%s: %s, want %s", what, got, want)
		}
	}
	if o := object(t, s, `"gone"`); fmt.Sprint(o.DestroyOn) != "[b]" {
		t.Errorf("to destroy: %+v", o)
	}
	if o := object(t, s, `private key, label "local"`); !strings.Contains(o.NotCopied, "cannot leave") {
		t.Errorf("a key that cannot be copied: %+v", o)
	}
	differ := fmt.Sprint(object(t, s, `secret key, label "aes"`).Differ)
	for _, want := range []string{"CKA_LABEL", `c:"drifted"`, "CKA_ENCRYPT", "c:false", "b:true"} {
		if !strings.Contains(differ, want) {
			t.Errorf("differences %s do not show %s", differ, want)
		}
	}
	for _, what := range []string{"private key, label \"rsa\"", "private key, label \"ec\"", "secret key, label \"aes\""} {
		if o := object(t, s, what); o.Proof == nil || o.Proof.Verdict != group.Proved {
			t.Errorf("%s: %+v", what, o.Proof)
		}
	}
	for _, want := range []string{"to copy to b", "to destroy on b", "stays there: it was made so", "differs: CKA_LABEL", "journal: destroy secret key"} {
		if !strings.Contains(text, want) {
			t.Errorf("the text does not say %q:\n%s", want, text)
		}
	}
	w.bare("b", func(b *app) {
		if n := b.count(token.Label("gone")) + b.count(token.Label("new")); n != 1 {
			t.Errorf("after a dry run member b has %d of the two", n)
		}
	})

	s, text, _ = w.survey("--prove")
	if o := object(t, s, `private key, label "new"`); fmt.Sprint(o.On) != "map[a:1 b:1 c:1]" || o.Proof == nil || o.Proof.Verdict != group.Proved {
		t.Errorf("after the sync: %+v %+v", o, o.Proof)
	}
	if strings.Contains(text, "gone") || strings.Contains(text, "to copy") || len(s.Records) > 0 {
		t.Errorf("after the sync:\n%s", text)
	}
	w.bare("b", func(b *app) {
		if n := b.count(token.Label("gone")); n != 0 {
			t.Errorf("the destroyed key is on member b %d times", n)
		}
	})

	// O1: what only member c holds keeps it in the group, unless that is asked for.
	out, err := w.Command(w.Program, "group", "remove-member", w.Token, "c", "--pin-from=env:PIN").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "holds 1 objects that no other member does") || !strings.Contains(string(out), `private key, label "local"`) {
		t.Errorf("member c with a key that is nowhere else: %v\n%s", err, out)
	}
	if out := w.oneslot("group", "remove-member", w.Token, "b", "--pin-from=env:PIN"); strings.Contains(out, "not looked") {
		t.Errorf("member b has nothing of its own: %s", out)
	}
	w.oneslot("group", "remove-member", w.Token, "c", "--force")
}

// H3, K8; field-E3: a key that says to be another one is found out by use.
func TestSyncRefutesAFalseCopy(t *testing.T) {
	if !inProcess(t) {
		return
	}
	w := newWorld(t, 2)
	a := w.login()
	a.rsa(token.Label("rsa"), token.ID(1))
	w.must(a.Close())
	w.await("the engine is gone", func() bool { return len(w.Processes()) == 0 })
	w.bare("b", func(b *app) {
		old := b.one(p11.CKO_PRIVATE_KEY, "rsa")
		modulus, err := b.Attribute(b.s, old, p11.CKA_MODULUS)
		w.must(err)
		otherPublic, other, err := b.GenerateKeyPair(b.s, []*p11.Mechanism{p11.NewMechanism(p11.CKM_RSA_PKCS_KEY_PAIR_GEN, nil)},
			[]*p11.Attribute{p11.NewAttribute(p11.CKA_MODULUS_BITS, 2048)},
			[]*p11.Attribute{p11.NewAttribute(p11.CKA_EXTRACTABLE, true), p11.NewAttribute(p11.CKA_SENSITIVE, false)})
		w.must(err)
		w.must(b.DestroyObject(b.s, old))
		template := []*p11.Attribute{
			token.Class(p11.CKO_PRIVATE_KEY), p11.NewAttribute(p11.CKA_KEY_TYPE, p11.CKK_RSA), p11.NewAttribute(p11.CKA_TOKEN, true),
			p11.NewAttribute(p11.CKA_PRIVATE, true), p11.NewAttribute(p11.CKA_SIGN, true), token.Label("rsa"), token.ID(1),
			p11.NewAttribute(p11.CKA_MODULUS, modulus),
		}
		for _, kind := range []uint{p11.CKA_PUBLIC_EXPONENT, p11.CKA_PRIVATE_EXPONENT, p11.CKA_PRIME_1, p11.CKA_PRIME_2, p11.CKA_EXPONENT_1, p11.CKA_EXPONENT_2, p11.CKA_COEFFICIENT} {
			value, err := b.Attribute(b.s, other, kind)
			w.must(err)
			template = append(template, p11.NewAttribute(kind, value))
		}
		_, err = b.CreateObject(b.s, template)
		w.must(err)
		w.must(b.DestroyObject(b.s, other))
		w.must(b.DestroyObject(b.s, otherPublic))
	})
	s, text, right := w.survey("--dry-run", "--prove")
	o := object(t, s, `private key, label "rsa"`)
	if right || o.Proof == nil || o.Proof.Verdict != group.Refuted || !strings.Contains(o.Proof.How, "different keys") {
		t.Errorf("the false copy: %v %+v\n%s", right, o.Proof, text)
	}
}
