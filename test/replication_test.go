// SPDX-License-Identifier: Apache-2.0

package test_test

import (
	"testing"

	p11 "github.com/miekg/pkcs11"

	"oneslot.dev/oneslot/test/token"
)

// only leaves one member in service. The others are ready before they go: so none is
// stopped in its login (hosttest.Slow.Callers).
func (w *world) only(member string) {
	w.t.Helper()
	w.must(w.Ready())
	for _, other := range w.Members {
		if other != member {
			w.must(w.Away(other))
		}
	}
	for _, other := range w.Members {
		if other != member {
			w.must(w.Gone(other))
		}
	}
}

// everybody undoes only.
func (w *world) everybody(except string) {
	w.t.Helper()
	for _, member := range w.Members {
		if member != except {
			w.must(w.Back(member))
		}
	}
	w.must(w.Ready())
}

func (a *app) certificate(label string) p11.ObjectHandle {
	a.w.t.Helper()
	o, err := a.CreateObject(a.s, []*p11.Attribute{
		token.Class(p11.CKO_CERTIFICATE),
		p11.NewAttribute(p11.CKA_CERTIFICATE_TYPE, p11.CKC_X_509),
		p11.NewAttribute(p11.CKA_TOKEN, true),
		p11.NewAttribute(p11.CKA_PRIVATE, false),
		p11.NewAttribute(p11.CKA_SUBJECT, []byte("\x30\x0b\x31\x09\x30\x07\x06\x03\x55\x04\x03\x0c\x00")),
		p11.NewAttribute(p11.CKA_VALUE, []byte("this is not looked into: "+label)),
		token.Label(label),
	})
	a.w.must(err)
	return o
}

func (a *app) data(label string) p11.ObjectHandle {
	a.w.t.Helper()
	o, err := a.CreateObject(a.s, []*p11.Attribute{
		token.Class(p11.CKO_DATA),
		p11.NewAttribute(p11.CKA_TOKEN, true),
		p11.NewAttribute(p11.CKA_PRIVATE, true),
		p11.NewAttribute(p11.CKA_APPLICATION, "test"),
		p11.NewAttribute(p11.CKA_VALUE, []byte("data of "+label)),
		token.Label(label),
	})
	a.w.must(err)
	return o
}

// K2, K5, R3; field-C3: what was made and changed while a member was away is on
// it before it serves, and it can serve alone.
func TestReturningMemberGetsWhatItMissed(t *testing.T) {
	if !inProcess(t) {
		return
	}
	w := newWorld(t, 3)
	a := w.login()
	early, signEarly := a.rsa(token.Label("early"))
	w.must(w.Away("b"))
	w.must(w.Gone("b"))

	_, signRSA := a.rsa(token.Label("rsa"))
	_, signEC := a.ec(token.Label("ec"))
	_, encrypt := a.aes(token.Label("aes"))
	certificate := a.certificate("certificate")
	data := a.data("data")
	w.must(a.SetAttributeValue(a.s, early.Private, []*p11.Attribute{token.Label("late")}))

	w.must(w.Back("b"))
	w.must(w.Ready("b"))
	w.only("b")
	a.use(signEarly, signRSA, signEC, encrypt)
	for o, want := range map[p11.ObjectHandle]string{early.Private: "late", certificate: "certificate", data: "data"} {
		if label, err := a.Attribute(a.s, o, p11.CKA_LABEL); err != nil || string(label) != want {
			t.Errorf("label %q, %v; want %q", label, err, want)
		}
	}
	if n := a.count(token.Class(p11.CKO_PRIVATE_KEY)); n != 3 {
		t.Errorf("%d private keys, want 3", n)
	}
}

// K5; field-D1: what is destroyed while a member is away stays destroyed, also
// when the application that did it is gone before the member returns.
func TestDestroyedKeyNeverComesBack(t *testing.T) {
	for _, again := range []struct {
		name string
		do   func(*app)
	}{
		{"same application", func(*app) {}},
		{"another application", (*app).restart},
	} {
		t.Run(again.name, func(t *testing.T) {
			if !inProcess(t) {
				return
			}
			w := newWorld(t, 3)
			a := w.login()
			pair, _ := a.rsa(token.Label("gone"))
			_, stays := a.rsa(token.Label("stays"))
			aes, _ := a.aes(token.Label("gone"))
			certificate := a.certificate("gone")
			w.must(w.Away("b"))
			w.must(w.Gone("b"))
			for _, o := range []p11.ObjectHandle{pair.Public, pair.Private, aes, certificate} {
				w.must(a.DestroyObject(a.s, o))
			}
			again.do(a)
			w.must(w.Back("b"))
			w.must(w.Ready())
			if n := a.count(token.Label("gone")); n != 0 {
				t.Errorf("%d objects came back", n)
			}
			w.only("b")
			if n := a.count(token.Label("gone")); n != 0 {
				t.Errorf("%d objects came back on the member that was away", n)
			}
			if n := a.count(token.Label("stays")); n != 2 {
				t.Errorf("%d halves of the pair that was not destroyed, want 2", n)
			}
			if again.name == "same application" {
				a.use(stays)
			}
		})
	}
}
