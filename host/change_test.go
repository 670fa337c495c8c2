// SPDX-License-Identifier: Apache-2.0

package host

import (
	"testing"

	"oneslot.dev/oneslot/pkcs11"
)

// What guards a key is split into what the token is told and what is shown. On
// other objects the token says what it has to say.
func TestChangeOfGuardedAttributes(t *testing.T) {
	key := pkcs11.Template{pkcs11.Bool(pkcs11.CKA_EXTRACTABLE, true), pkcs11.Bool(pkcs11.CKA_SENSITIVE, false)}
	certificate := pkcs11.Template{pkcs11.Bool(pkcs11.CKA_MODIFIABLE, true)}
	sensitive := pkcs11.Bool(pkcs11.CKA_SENSITIVE, true)
	two := pkcs11.Bytes(pkcs11.CKA_SENSITIVE, []byte{1, 1})
	for _, c := range []struct {
		name          string
		shown, change pkcs11.Template
		rv            pkcs11.RV
		told          bool
		seen          bool
	}{
		{"a key", key, pkcs11.Template{sensitive}, pkcs11.CKR_OK, true, true},
		{"a key, wrong size", key, pkcs11.Template{two}, pkcs11.CKR_ATTRIBUTE_VALUE_INVALID, false, false},
		{"a certificate", certificate, pkcs11.Template{sensitive}, pkcs11.CKR_OK, true, false},
		{"a certificate, wrong size", certificate, pkcs11.Template{two}, pkcs11.CKR_OK, true, false},
	} {
		native, shown, rv := change(c.change, c.shown)
		told, seen := native.Find(pkcs11.CKA_SENSITIVE) != nil, shown.Bool(pkcs11.CKA_SENSITIVE, false)
		if rv != c.rv || told != c.told || seen != c.seen {
			t.Errorf("%s: %v, told %v, seen %v", c.name, rv, told, seen)
		}
	}
}
