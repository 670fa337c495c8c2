// SPDX-License-Identifier: Apache-2.0

package test_test

import (
	"bytes"
	"fmt"
	"sync"
	"testing"

	p11 "github.com/miekg/pkcs11"

	"oneslot.dev/oneslot/test/token"
)

// H3; field-E5: labels and IDs say nothing of which key is meant. Each handle
// signs with its own key, whichever member does it.
func TestTwinsAreKeptApart(t *testing.T) {
	if !inProcess(t) {
		return
	}
	w := newWorld(t, 3)
	a := w.login()
	label, other := token.Label("twin"), token.Label("other")
	id, otherID := token.ID(7), token.ID(8)
	var works []token.Work
	var pairs []token.Pair
	for _, attributes := range [][]*p11.Attribute{{label, id}, {label, id}, {label, otherID}, {other, id}} {
		pair, work := a.rsa(attributes...)
		pairs, works = append(pairs, pair), append(works, work)
	}
	_, ec := a.ec(label, id)
	works = append(works, ec)
	a.certificate("twin")
	a.data("twin")
	w.replaced("b", w.Kill) // also where objects were recognised anew
	w.must(w.Ready())
	// More rounds than members, so that each member gets each key.
	for range 2 * len(w.Members) {
		a.use(works...)
	}
	w.must(a.DestroyObject(a.s, pairs[1].Private))
	w.must(a.DestroyObject(a.s, pairs[1].Public))
	w.must(a.SetAttributeValue(a.s, pairs[2].Private, []*p11.Attribute{label, id}))
	works = append(works[:1], works[2:]...)
	for _, member := range w.Members {
		w.only(member)
		a.use(works...)
		if n := a.count(token.Class(p11.CKO_PRIVATE_KEY), label); n != 3 {
			t.Errorf("member %s: %d private keys with the label, want 3", member, n)
		}
		w.everybody(member)
	}
}

// H4, K1, K4; field-C8: the same key material under another name is an object of its
// own on every member, whether it is given again or copied.
func TestSameMaterialUnderAnotherName(t *testing.T) {
	if !inProcess(t) {
		return
	}
	w := newWorld(t, 3)
	a := w.login()
	given := func(label string) p11.ObjectHandle {
		o, err := a.CreateObject(a.s, []*p11.Attribute{
			token.Class(p11.CKO_SECRET_KEY), p11.NewAttribute(p11.CKA_KEY_TYPE, p11.CKK_AES), p11.NewAttribute(p11.CKA_TOKEN, true),
			p11.NewAttribute(p11.CKA_VALUE, []byte("0123456789abcdef")), p11.NewAttribute(p11.CKA_EXTRACTABLE, true), token.Label(label),
		})
		w.must(err)
		return o
	}
	first := given("first")
	second := given("second")
	copied, err := a.CopyObject(a.s, first, []*p11.Attribute{token.Label("copied")})
	w.must(err)
	names := map[string]p11.ObjectHandle{"first": first, "second": second, "copied": copied}
	look := func(want ...string) {
		t.Helper()
		for _, member := range w.Members {
			w.only(member)
			if n := a.count(token.Class(p11.CKO_SECRET_KEY)); n != len(want) {
				t.Errorf("member %s has %d keys, want %v", member, n, want)
			}
			for _, name := range want {
				read, err := a.GetAttributeValue(a.s, names[name], []*p11.Attribute{p11.NewAttribute(p11.CKA_LABEL, nil)})
				if err != nil || string(read[0].Value) != name {
					t.Errorf("member %s: the key made as %q is called %v, %v", member, name, read, err)
				}
			}
			w.everybody(member)
		}
	}
	look("first", "second", "copied")
	w.must(a.DestroyObject(a.s, copied))
	look("first", "second")
	w.must(a.DestroyObject(a.s, first))
	look("second")
}

// H4; field-C10: every search finds each object once, while keys are made,
// and members come and go.
func TestOneObjectIsFoundOnce(t *testing.T) {
	if !inProcess(t) {
		return
	}
	w := newWorld(t, 3)
	a := w.login()
	a.rsa(token.Label("one"), token.ID(1))
	stop := make(chan struct{})
	var searching sync.WaitGroup
	for range 4 {
		searching.Go(func() {
			if err := a.search(stop); err != nil {
				t.Error(err)
			}
		})
	}
	for _, member := range w.Members {
		w.replaced(member, w.Kill)
		a.ec(token.Label("another"))
		w.must(w.Ready())
	}
	close(stop)
	searching.Wait()
}

// search finds the key pair by label and by ID until it is told to stop.
func (a *app) search(stop chan struct{}) error {
	s, err := a.Session()
	if err != nil {
		return err
	}
	for n := 0; ; n++ {
		for _, by := range []*p11.Attribute{token.Label("one"), token.ID(1)} {
			found, err := a.Find(s, token.Class(p11.CKO_PRIVATE_KEY), by)
			if err != nil || len(found) != 1 {
				return fmt.Errorf("search %d: %d found, %v", n, len(found), err)
			}
		}
		select {
		case <-stop:
			return nil
		default:
		}
	}
}

// readable are attributes that every object of a class has.
var readable = map[uint][]uint{
	p11.CKO_DATA:        {p11.CKA_APPLICATION, p11.CKA_VALUE, p11.CKA_MODIFIABLE},
	p11.CKO_CERTIFICATE: {p11.CKA_CERTIFICATE_TYPE, p11.CKA_SUBJECT, p11.CKA_VALUE, p11.CKA_ID},
	p11.CKO_PUBLIC_KEY:  {p11.CKA_KEY_TYPE, p11.CKA_ID, p11.CKA_LOCAL, p11.CKA_KEY_GEN_MECHANISM, p11.CKA_VERIFY, p11.CKA_ENCRYPT, p11.CKA_WRAP},
	p11.CKO_PRIVATE_KEY: {p11.CKA_KEY_TYPE, p11.CKA_ID, p11.CKA_LOCAL, p11.CKA_KEY_GEN_MECHANISM, p11.CKA_SIGN, p11.CKA_DECRYPT,
		p11.CKA_SENSITIVE, p11.CKA_ALWAYS_SENSITIVE, p11.CKA_EXTRACTABLE, p11.CKA_NEVER_EXTRACTABLE, p11.CKA_WRAP_WITH_TRUSTED},
	p11.CKO_SECRET_KEY: {p11.CKA_KEY_TYPE, p11.CKA_ID, p11.CKA_LOCAL, p11.CKA_KEY_GEN_MECHANISM, p11.CKA_VALUE_LEN,
		p11.CKA_SENSITIVE, p11.CKA_ALWAYS_SENSITIVE, p11.CKA_EXTRACTABLE, p11.CKA_NEVER_EXTRACTABLE, p11.CKA_WRAP_WITH_TRUSTED},
}

// describe reads all that can be read of an object, as text.
func (a *app) describe(o p11.ObjectHandle) string {
	var b bytes.Buffer
	class := []byte(nil)
	for _, kind := range []uint{p11.CKA_CLASS, p11.CKA_TOKEN, p11.CKA_PRIVATE, p11.CKA_LABEL} {
		value, err := a.Attribute(a.s, o, kind)
		if kind == p11.CKA_CLASS {
			class = value
		}
		fmt.Fprintf(&b, "%#x = %x %v\n", kind, value, err)
	}
	if len(class) == 0 {
		return b.String()
	}
	for _, kind := range append(readable[uint(class[0])], p11.CKA_MODULUS, p11.CKA_PUBLIC_EXPONENT, p11.CKA_EC_PARAMS, p11.CKA_EC_POINT) {
		value, err := a.Attribute(a.s, o, kind)
		fmt.Fprintf(&b, "%#x = %x %v\n", kind, value, err)
	}
	return b.String()
}

// H5; field-C11, field-M6: attributes read the same whichever member answers, also those
// that change on a copy.
func TestAttributesReadTheSameEverywhere(t *testing.T) {
	if !inProcess(t) {
		return
	}
	w := newWorld(t, 3)
	a := w.login()
	rsa, _ := a.rsa(token.Label("rsa"), token.ID(1))
	ec, _ := a.ec(token.Label("ec"), token.ID(2))
	made, err := a.GenerateKey(a.s, []*p11.Mechanism{p11.NewMechanism(p11.CKM_AES_KEY_GEN, nil)}, []*p11.Attribute{
		p11.NewAttribute(p11.CKA_TOKEN, true), p11.NewAttribute(p11.CKA_VALUE_LEN, 32), token.Label("made"),
		p11.NewAttribute(p11.CKA_SENSITIVE, true), p11.NewAttribute(p11.CKA_EXTRACTABLE, false),
	})
	w.must(err)
	given, _ := a.aes(token.Label("given"))
	objects := map[string]p11.ObjectHandle{
		"RSA public key": rsa.Public, "RSA private key": rsa.Private, "EC public key": ec.Public, "EC private key": ec.Private,
		"AES key that was generated": made, "AES key that was given": given, "certificate": a.certificate("c"), "data": a.data("d"),
	}
	first := map[string]string{}
	for _, member := range w.Members {
		w.only(member)
		for name, o := range objects {
			switch now := a.describe(o); {
			case first[name] == "":
				first[name] = now
			case first[name] != now:
				t.Errorf("%s: member %s shows\n%swhile member %s shows\n%s", name, member, now, w.Members[0], first[name])
			}
		}
		w.everybody(member)
	}
}
