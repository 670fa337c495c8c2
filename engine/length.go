// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/wire"
)

// lengthAnswer answers a question for the length, or a room that is certainly
// too small, without a member. False: only a member can say.
func (op *operation) lengthAnswer(input int, room wire.Room) (wire.Bytes, pkcs11.RV, bool) {
	n, known := op.outputLength(input)
	switch {
	case !known:
	case room.Null:
		return wire.LengthOnly(n), pkcs11.CKR_OK, true
	case room.Capacity < n:
		return wire.LengthOnly(n), pkcs11.CKR_BUFFER_TOO_SMALL, true
	}
	return wire.Bytes{}, 0, false
}

// outputLength is the exact length of the operation's result, where it follows
// from the mechanism and the size of the key.
func (op *operation) outputLength(input int) (uint64, bool) {
	if op.kind == digesting {
		n, ok := digestLengths[op.mechanism.Type]
		return n, ok
	}
	if op.kind != signing || op.key == nil {
		return 0, false
	}
	if n, ok := macLengths[op.mechanism.Type]; ok {
		return n, true
	}
	id := op.key.identity()
	if id.Class != pkcs11.CKO_PRIVATE_KEY || id.Size == 0 {
		return 0, false
	}
	switch id.KeyType {
	case pkcs11.CKK_RSA:
		return (id.Size + 7) / 8, true
	case pkcs11.CKK_EC:
		return (id.Size + 7) / 8 * 2, true
	}
	return 0, false
}

var digestLengths = map[pkcs11.MechanismType]uint64{
	pkcs11.CKM_MD5: 16, pkcs11.CKM_SHA_1: 20, pkcs11.CKM_RIPEMD160: 20, pkcs11.CKM_SHA224: 28, pkcs11.CKM_SHA256: 32,
	pkcs11.CKM_SHA384: 48, pkcs11.CKM_SHA512: 64, pkcs11.CKM_SHA512_224: 28, pkcs11.CKM_SHA512_256: 32,
	pkcs11.CKM_SHA3_224: 28, pkcs11.CKM_SHA3_256: 32, pkcs11.CKM_SHA3_384: 48, pkcs11.CKM_SHA3_512: 64,
}

var macLengths = map[pkcs11.MechanismType]uint64{
	pkcs11.CKM_MD5_HMAC: 16, pkcs11.CKM_SHA_1_HMAC: 20, pkcs11.CKM_SHA224_HMAC: 28, pkcs11.CKM_SHA256_HMAC: 32,
	pkcs11.CKM_SHA384_HMAC: 48, pkcs11.CKM_SHA512_HMAC: 64, pkcs11.CKM_AES_CMAC: 16, pkcs11.CKM_DES3_CMAC: 8,
	pkcs11.CKM_SHA512_224_HMAC: 28, pkcs11.CKM_SHA512_256_HMAC: 32,
	pkcs11.CKM_SHA3_224_HMAC: 28, pkcs11.CKM_SHA3_256_HMAC: 32, pkcs11.CKM_SHA3_384_HMAC: 48, pkcs11.CKM_SHA3_512_HMAC: 64,
}
