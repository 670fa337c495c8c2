// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"testing"

	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/wire"
)

// K1, K6: a template that gives one attribute two values is refused. oneslot would take
// the first and the token the last, so that a token object would be on one member alone.
func TestTemplatesThatContradictThemselves(t *testing.T) {
	w := begin(t, 2)
	a := w.application()
	s := w.loggedIn(a)
	label := pkcs11.Bytes(pkcs11.CKA_LABEL, []byte("k"))
	for _, kind := range []pkcs11.AttributeType{pkcs11.CKA_TOKEN, pkcs11.CKA_EXTRACTABLE, pkcs11.CKA_SENSITIVE, pkcs11.CKA_LABEL} {
		for _, first := range []bool{true, false} {
			both := pkcs11.Template{pkcs11.Bool(kind, first), label, pkcs11.Bool(kind, !first)}
			w.call(a, &wire.GenerateKey{Session: s, Template: both}, pkcs11.CKR_TEMPLATE_INCONSISTENT)
			w.call(a, &wire.CreateObject{Session: s, Template: both}, pkcs11.CKR_TEMPLATE_INCONSISTENT)
		}
	}
	same := wire.GenerateKey{Session: s, Template: pkcs11.Template{pkcs11.Bool(pkcs11.CKA_TOKEN, true), label, label, pkcs11.Bool(pkcs11.CKA_TOKEN, true)}}
	w.call(a, &same, pkcs11.CKR_OK)
	for name, m := range w.members {
		if n := len(m.Token.Keys()); n != 1 {
			t.Errorf("member %s has %d keys", name, n)
		}
	}
	other := pkcs11.Bytes(pkcs11.CKA_LABEL, []byte("other"))
	w.call(a, &wire.SetAttributeValue{Session: s, Object: same.Key, Template: pkcs11.Template{label, other}}, pkcs11.CKR_TEMPLATE_INCONSISTENT)
	w.call(a, &wire.SetAttributeValue{Session: s, Object: same.Key, Template: pkcs11.Template{other, other}}, pkcs11.CKR_OK)
}
