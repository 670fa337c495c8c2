// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"

	"oneslot.dev/oneslot/group"
	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/wire"
)

// unlike is what is wrong with a signature that a member made of another length than the
// key's: it signs in another format than the rest of the group (field-K8). What the exam
// of members (group/assure.go) does not see, as leading zeros that are left out, or could
// not look at, is seen here, before the application gets it. A room that was too small
// was not too small for the length of the key.
func (op *operation) unlike(p *group.Place, call wire.Call) error {
	if op.kind != signing || !group.IsECDSA(op.mechanism.Type) {
		return nil
	}
	var signature *wire.Bytes
	switch call := call.(type) {
	case *wire.Sign:
		signature = &call.Signature
	case *wire.SignFinal:
		signature = &call.Signature
	}
	want, known := op.outputLength(0)
	rv := call.Result()
	switch {
	case signature == nil || !known || signature.Len() == want:
		return nil
	case rv == pkcs11.CKR_OK, rv == pkcs11.CKR_BUFFER_TOO_SMALL:
	default:
		return nil
	}
	if p.Alone() {
		return nil // it is unlike nobody
	}
	return group.NewUnlike(fmt.Sprintf("the token made an ECDSA signature of %d bytes, not of %d as PKCS#11 says of the key and other members do", signature.Len(), want))
}
