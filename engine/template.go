// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"reflect"
	"slices"

	"oneslot.dev/oneslot/pkcs11"
)

// readHere are attributes that oneslot reads in the template of a new object,
// and may set otherwise for the token, with their sizes. The token cannot say
// any more that something is wrong with them, and SoftHSM does not say it of all.
var readHere = []struct {
	kind pkcs11.AttributeType
	size int
}{
	{pkcs11.CKA_TOKEN, 1}, {pkcs11.CKA_PRIVATE, 1}, {pkcs11.CKA_SENSITIVE, 1}, {pkcs11.CKA_EXTRACTABLE, 1},
	{pkcs11.CKA_WRAP_WITH_TRUSTED, 1}, {pkcs11.CKA_MODIFIABLE, 1}, {pkcs11.CKA_COPYABLE, 1}, {pkcs11.CKA_DESTROYABLE, 1},
	{pkcs11.CKA_CLASS, 8}, {pkcs11.CKA_KEY_TYPE, 8}, {pkcs11.CKA_VALUE_LEN, 8}, {pkcs11.CKA_MODULUS_BITS, 8},
}

// wrongSize says whether one of them has another size than its type.
func wrongSize(t pkcs11.Template) bool {
	for _, known := range readHere {
		if a := t.Find(known.kind); a != nil && len(a.Value) != known.size {
			return true
		}
	}
	return false
}

// distinct is a template with each attribute once. It is false if one is given two values:
// then it contradicts itself (CKR_TEMPLATE_INCONSISTENT: PKCS#11 2.40, 4.1.1), and oneslot
// and the token might follow different ones.
func distinct(t pkcs11.Template) (pkcs11.Template, bool) {
	first := make(map[pkcs11.AttributeType]int, len(t))
	contradiction := false
	out := t[:0:0]
	for i := range t {
		j, again := first[t[i].Type]
		if !again {
			first[t[i].Type] = i
			out = append(out, t[i])
			continue
		}
		contradiction = contradiction || !reflect.DeepEqual(t[i], t[j])
	}
	return slices.Clip(out), !contradiction
}
