// SPDX-License-Identifier: Apache-2.0

package test_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	p11 "github.com/miekg/pkcs11"

	"oneslot.dev/oneslot/host/hosttest"
	"oneslot.dev/oneslot/test/token"
)

// K6, K7, H5: a group in which one token cannot mark a key as trusted, and so copies by
// key export, while the others clone. Whichever member made a key, it works, reads
// the same and is wrapped or refused alike on each of them alone.
func TestMixedGroupWrapsAlike(t *testing.T) {
	if !inProcess(t) {
		return
	}
	w := newWorld(t, 3)
	w.must(w.Set(`key_export = true`))
	name := fmt.Sprintf("name = %q\nmodule = ", "b")
	w.edit(fmt.Sprintf("%s%q\n", name, w.SoftHSM), fmt.Sprintf("%s%q\n", name, hosttest.Untrusting(t)))
	for _, member := range w.Members {
		w.fresh(member) // into the domain with key export
	}
	a := w.login()
	wrapping, _, err := a.Secret(a.s, p11.CKK_AES, true, p11.NewAttribute(p11.CKA_WRAP, true))
	w.must(err)
	keys := map[string]p11.ObjectHandle{}
	var works []token.Work
	closed, open := p11.NewAttribute(p11.CKA_EXTRACTABLE, false), p11.NewAttribute(p11.CKA_EXTRACTABLE, true)
	add := func(by string) {
		for kind, extractable := range map[string]*p11.Attribute{"closed": closed, "open": open} {
			pair, sign := a.rsa(token.Label(kind + " RSA by " + by))
			key, encrypt := a.aes(extractable, token.Label(kind+" AES by "+by))
			keys["closed RSA by "+by], keys[kind+" AES by "+by] = pair.Private, key
			works = append(works, sign, encrypt)
		}
	}
	add("a")
	w.only("b")
	add("b")
	w.everybody("b")
	read, wrapped := map[string]string{}, map[string][]byte{}
	for _, member := range w.Members {
		w.only(member)
		a.use(works...)
		for name, key := range keys {
			if now := a.describe(key); read[name] == "" {
				read[name] = now
			} else if read[name] != now {
				t.Errorf("%s: member %s shows\n%swhile another shows\n%s", name, member, now, read[name])
			}
			out, err := a.WrapKey(a.s, simple(p11.CKM_AES_KEY_WRAP_PAD), wrapping, key)
			switch {
			case name[:4] != "open":
				if !errors.Is(err, p11.Error(p11.CKR_KEY_UNEXTRACTABLE)) {
					t.Errorf("%s: member %s wraps it: %v", name, member, err)
				}
			case err != nil:
				t.Errorf("%s: member %s does not wrap it: %v", name, member, err)
			case wrapped[name] == nil:
				wrapped[name] = out
			case !slices.Equal(wrapped[name], out):
				t.Errorf("%s: member %s has another key", name, member)
			}
		}
		w.everybody(member)
	}
}
