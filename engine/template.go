// SPDX-License-Identifier: Apache-2.0

package engine

import "oneslot.dev/oneslot/pkcs11"

// readHere are the truth values that oneslot reads in a template, and may set
// otherwise for the token. The token cannot say any more that they are none.
var readHere = []pkcs11.AttributeType{
	pkcs11.CKA_TOKEN, pkcs11.CKA_PRIVATE, pkcs11.CKA_SENSITIVE, pkcs11.CKA_EXTRACTABLE, pkcs11.CKA_WRAP_WITH_TRUSTED,
	pkcs11.CKA_MODIFIABLE, pkcs11.CKA_COPYABLE, pkcs11.CKA_DESTROYABLE,
}

// wrongSize says whether one of them is not a CK_BBOOL.
func wrongSize(t pkcs11.Template) bool {
	for _, kind := range readHere {
		if a := t.Find(kind); a != nil && len(a.Value) != 1 {
			return true
		}
	}
	return false
}
