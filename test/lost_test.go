// SPDX-License-Identifier: Apache-2.0

package test_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	p11 "github.com/miekg/pkcs11"

	"oneslot.dev/oneslot/test/token"
)

// creations are the calls that create, each with the functions of a member's module
// in which its answer can be lost.
var creations = []struct {
	name  string
	steps []string
	make  func(a *app, o *creator, label *p11.Attribute) error
}{
	{"C_GenerateKey", []string{"C_GenerateKey", "C_CopyObject", "C_UnwrapKey"}, func(a *app, _ *creator, label *p11.Attribute) error {
		_, err := a.GenerateKey(a.s, simple(p11.CKM_AES_KEY_GEN), []*p11.Attribute{p11.NewAttribute(p11.CKA_TOKEN, true), p11.NewAttribute(p11.CKA_VALUE_LEN, 32), label})
		return err
	}},
	{"C_GenerateKeyPair", []string{"C_GenerateKeyPair", "C_CopyObject", "C_UnwrapKey", "C_CreateObject"}, func(a *app, _ *creator, label *p11.Attribute) error {
		_, err := a.EC(a.s, label)
		return err
	}},
	{"C_CreateObject", []string{"C_CreateObject"}, func(a *app, _ *creator, label *p11.Attribute) error {
		_, _, err := a.Secret(a.s, p11.CKK_AES, true, label)
		return err
	}},
	{"C_CopyObject", []string{"C_CopyObject"}, func(a *app, o *creator, label *p11.Attribute) error {
		_, err := a.CopyObject(a.s, o.secret, []*p11.Attribute{label})
		return err
	}},
	{"C_UnwrapKey", []string{"C_UnwrapKey"}, func(a *app, o *creator, label *p11.Attribute) error {
		_, err := a.UnwrapKey(a.s, simple(p11.CKM_AES_KEY_WRAP_PAD), o.wrapping, o.wrapped, []*p11.Attribute{
			token.Class(p11.CKO_SECRET_KEY), p11.NewAttribute(p11.CKA_KEY_TYPE, p11.CKK_AES), p11.NewAttribute(p11.CKA_TOKEN, true), label})
		return err
	}},
	{"C_DeriveKey", []string{"C_DeriveKey"}, func(a *app, o *creator, label *p11.Attribute) error {
		_, err := a.DeriveKey(a.s, []*p11.Mechanism{p11.NewMechanism(p11.CKM_ECDH1_DERIVE, p11.NewECDH1DeriveParams(p11.CKD_NULL, nil, o.point))}, o.pair.Private, []*p11.Attribute{
			token.Class(p11.CKO_SECRET_KEY), p11.NewAttribute(p11.CKA_KEY_TYPE, p11.CKK_AES), p11.NewAttribute(p11.CKA_VALUE_LEN, 32), p11.NewAttribute(p11.CKA_TOKEN, true), label})
		return err
	}},
}

func simple(mechanism uint) []*p11.Mechanism {
	return []*p11.Mechanism{p11.NewMechanism(mechanism, nil)}
}

// A creator is what keys are created with.
type creator struct {
	secret, wrapping p11.ObjectHandle
	pair             token.Pair
	point, wrapped   []byte
}

func (a *app) creator() *creator {
	a.w.t.Helper()
	o := &creator{}
	var err error
	more := []*p11.Attribute{p11.NewAttribute(p11.CKA_EXTRACTABLE, true), p11.NewAttribute(p11.CKA_WRAP, true), p11.NewAttribute(p11.CKA_UNWRAP, true)}
	o.secret, _, err = a.Secret(a.s, p11.CKK_AES, true, more...)
	a.w.must(err)
	o.wrapping, _, err = a.Secret(a.s, p11.CKK_AES, true, more...)
	a.w.must(err)
	o.wrapped, err = a.WrapKey(a.s, simple(p11.CKM_AES_KEY_WRAP_PAD), o.wrapping, o.secret)
	a.w.must(err)
	o.pair, err = a.EC(a.s, p11.NewAttribute(p11.CKA_DERIVE, true))
	a.w.must(err)
	point, err := a.Attribute(a.s, o.pair.Public, p11.CKA_EC_POINT)
	a.w.must(err)
	o.point = point[2:] // out of its DER octet string
	return o
}

// newLosingWorld is a world whose members' processes end in a call that is armed: by a file
// of the function's name in the folder lost, which says "before" or "after" the token acts.
func newLosingWorld(t *testing.T, members int) (w *world, lost string) {
	t.Helper()
	w, lost = newWorld(t, members), t.TempDir()
	for _, member := range w.Members {
		w.odd(member, "ODD_LOST="+lost)
	}
	return w, lost
}

// K1, K4, F4; field-C9: a member's process ends in the middle of a creation, before or
// after its token acted. Whichever creating call and whichever step of it: the
// application gets its key, and in the end there is one on every member.
func TestAnswerToACreationIsLost(t *testing.T) {
	if !inProcess(t) {
		return
	}
	w, lost := newLosingWorld(t, 3)
	a := w.login()
	keys := a.creator()
	var labels []string
	for _, creation := range creations {
		for _, step := range creation.steps {
			for _, when := range []string{"before", "after"} {
				label := creation.name + " " + step + " " + when
				armed := filepath.Join(lost, step)
				w.must(os.WriteFile(armed, []byte(when), 0o600))
				if err := creation.make(a, keys, token.Label(label)); err != nil {
					t.Errorf("%s: %v", label, err)
				}
				if _, err := os.Stat(armed); err == nil {
					t.Errorf("%s: no process made this call: this is no test", label)
					w.must(os.Remove(armed))
				}
				labels = append(labels, label)
				w.must(w.Ready())
			}
		}
	}
	look := func(where string, a *app) {
		for _, label := range labels {
			want := 1
			if strings.HasPrefix(label, "C_GenerateKeyPair ") {
				want = 2
			}
			if n := a.count(token.Label(label)); n != want {
				t.Errorf("%s: %d objects of %s, want %d", where, n, label, want)
			}
		}
	}
	look("the group", a)
	for _, member := range w.Members {
		w.bare(member, func(own *app) { look("member "+member, own) })
	}
}

// sessionCreations make session objects.
var sessionCreations = map[string]func(a *app, o *creator, label *p11.Attribute) error{
	"C_GenerateKey": func(a *app, _ *creator, label *p11.Attribute) error {
		_, err := a.GenerateKey(a.s, simple(p11.CKM_AES_KEY_GEN), []*p11.Attribute{p11.NewAttribute(p11.CKA_VALUE_LEN, 32), label})
		return err
	},
	"C_GenerateKeyPair": func(a *app, _ *creator, label *p11.Attribute) error {
		_, _, err := a.GenerateKeyPair(a.s, simple(p11.CKM_RSA_PKCS_KEY_PAIR_GEN), []*p11.Attribute{p11.NewAttribute(p11.CKA_MODULUS_BITS, 2048)}, []*p11.Attribute{label})
		return err
	},
	"C_CreateObject": func(a *app, _ *creator, label *p11.Attribute) error {
		_, _, err := a.Secret(a.s, p11.CKK_AES, false, label)
		return err
	},
	"C_CopyObject": func(a *app, o *creator, label *p11.Attribute) error {
		_, err := a.CopyObject(a.s, o.secret, []*p11.Attribute{label, p11.NewAttribute(p11.CKA_TOKEN, false)})
		return err
	},
	"C_UnwrapKey": func(a *app, o *creator, label *p11.Attribute) error {
		_, err := a.UnwrapKey(a.s, simple(p11.CKM_AES_KEY_WRAP_PAD), o.wrapping, o.wrapped, []*p11.Attribute{
			token.Class(p11.CKO_SECRET_KEY), p11.NewAttribute(p11.CKA_KEY_TYPE, p11.CKK_AES), label})
		return err
	},
	"C_DeriveKey": func(a *app, o *creator, label *p11.Attribute) error {
		_, err := a.DeriveKey(a.s, []*p11.Mechanism{p11.NewMechanism(p11.CKM_ECDH1_DERIVE, p11.NewECDH1DeriveParams(p11.CKD_NULL, nil, o.point))}, o.pair.Private, []*p11.Attribute{
			token.Class(p11.CKO_SECRET_KEY), p11.NewAttribute(p11.CKA_KEY_TYPE, p11.CKK_AES), p11.NewAttribute(p11.CKA_VALUE_LEN, 32), label})
		return err
	},
}

// K9, K5, F4: likewise for session objects, of which there is one, too, and which can be
// changed and destroyed with lost answers; and for changes and destructions on the token.
func TestAnswerToAChangeIsLost(t *testing.T) {
	if !inProcess(t) {
		return
	}
	w, lost := newLosingWorld(t, 3)
	a := w.login()
	keys := a.creator()
	lose := func(function, when string, call func() error) {
		t.Helper()
		armed := filepath.Join(lost, function)
		w.must(os.WriteFile(armed, []byte(when), 0o600))
		if err := call(); err != nil {
			t.Errorf("%s, lost %s: %v", function, when, err)
		}
		if _, err := os.Stat(armed); err == nil {
			t.Errorf("%s, lost %s: no process made this call: this is no test", function, when)
			w.must(os.Remove(armed))
		}
		w.must(w.Ready())
	}
	found := func(label string, want int) (object p11.ObjectHandle) {
		t.Helper()
		all, err := a.Find(a.s, token.Label(label))
		w.must(err)
		if len(all) != want {
			t.Errorf("%d objects %q, want %d", len(all), label, want)
		}
		if len(all) > 0 {
			object = all[0]
		}
		return object
	}
	for _, when := range []string{"before", "after"} {
		for function, make := range sessionCreations {
			lose(function, when, func() error { return make(a, keys, token.Label(function+when)) })
			object := found(function+when, 1)
			lose("C_SetAttributeValue", when, func() error {
				return a.SetAttributeValue(a.s, object, []*p11.Attribute{token.Label("changed")})
			})
			found(function+when, 0)
			object = found("changed", 1)
			lose("C_DestroyObject", when, func() error { return a.DestroyObject(a.s, object) })
			found("changed", 0)
		}
		aes, work := a.aes(token.Label("old"))
		lose("C_SetAttributeValue", when, func() error {
			return a.SetAttributeValue(a.s, aes, []*p11.Attribute{token.Label("new")})
		})
		a.use(work)
		a.everywhere("old", 0)
		a.everywhere("new", 1)
		lose("C_DestroyObject", when, func() error { return a.DestroyObject(a.s, aes) })
		a.everywhere("new", 0)
	}
}

// field-B5: a handle that its member calls invalid, once, is looked for again, whatever the
// call: the key is still there.
func TestAnInvalidHandleThatIsNone(t *testing.T) {
	if !inProcess(t) {
		return
	}
	w, lost := newLosingWorld(t, 2)
	a := w.login()
	keys := a.creator()
	calls := map[string]func() error{
		"C_WrapKey": func() error {
			_, err := a.WrapKey(a.s, simple(p11.CKM_AES_KEY_WRAP_PAD), keys.wrapping, keys.secret)
			return err
		},
		"C_DigestKey": func() error {
			w.must(a.DigestInit(a.s, simple(p11.CKM_SHA256)))
			if err := a.DigestKey(a.s, keys.secret); err != nil {
				return err
			}
			_, err := a.DigestFinal(a.s)
			return err
		},
	}
	for _, function := range []string{"C_CopyObject", "C_UnwrapKey", "C_DeriveKey"} {
		calls[function] = func() error { return sessionCreations[function](a, keys, token.Label(function)) }
	}
	for function, call := range calls {
		armed := filepath.Join(lost, function)
		w.must(os.WriteFile(armed, []byte("invalid"), 0o600))
		if err := call(); err != nil {
			t.Errorf("%s: %v", function, err)
		}
		if _, err := os.Stat(armed); err == nil {
			t.Errorf("%s: no process made this call: this is no test", function)
		}
	}
	w.must(w.Ready()) // nobody is blamed
}

// everywhere wants so many objects of a label in the group and on each member.
func (a *app) everywhere(label string, want int) {
	a.w.t.Helper()
	if n := a.count(token.Label(label)); n != want {
		a.w.t.Errorf("%d objects %q in the group, want %d", n, label, want)
	}
	for _, member := range a.w.Members {
		a.w.bare(member, func(own *app) {
			if n := own.count(token.Label(label)); n != want {
				a.w.t.Errorf("%d objects %q on member %s, want %d", n, label, member, want)
			}
		})
	}
}

// G7; field-F4: a member's process ends while it changes the PIN, before or after its
// token acted. All members have the old PIN then, or all the new one.
func TestAnswerToSetPINIsLost(t *testing.T) {
	if !inProcess(t) {
		return
	}
	w := newWorld(t, 3)
	lost := map[string]string{}
	for _, member := range w.Members {
		lost[member] = t.TempDir()
		w.odd(member, "ODD_LOST="+lost[member])
	}
	a := w.login()
	for _, loser := range w.Members {
		for _, when := range []string{"before", "after"} {
			armed := filepath.Join(lost[loser], "C_SetPIN")
			w.must(os.WriteFile(armed, []byte(when), 0o600))
			err := a.SetPIN(a.s, w.PIN, "5678")
			if _, missed := os.Stat(armed); missed == nil {
				t.Errorf("member %s did not change its PIN: this is no test", loser)
			}
			w.must(w.Ready())
			want := w.PIN
			if err == nil {
				want = "5678"
			}
			for _, member := range w.Members {
				if pin := w.pinOf(member, w.PIN, "5678"); pin != want {
					t.Errorf("lost by %s %s it acted: C_SetPIN: %v, and member %s has the PIN %q", loser, when, err, member, pin)
				}
			}
			if err == nil {
				w.must(a.SetPIN(a.s, "5678", w.PIN))
			}
		}
	}
}

// pinOf is which of two PINs a member's token has.
func (w *world) pinOf(member string, pins ...string) string {
	w.t.Helper()
	name, value, _ := strings.Cut(w.Bare(member), "=")
	w.t.Setenv(name, value)
	k, err := token.Open(w.SoftHSM, w.Token)
	w.must(err)
	defer k.Close()
	s, err := k.Session()
	w.must(err)
	for _, pin := range pins {
		if k.Ctx.Login(s, p11.CKU_USER, pin) == nil {
			return pin
		}
	}
	return ""
}
