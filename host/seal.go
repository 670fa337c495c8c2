// SPDX-License-Identifier: Apache-2.0

package host

import (
	"crypto/hmac"

	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/wire"
)

// sealSize is the length of an HMAC with SHA-256.
const sealSize = 32

// seal authenticates data with the domain's seal key, inside the token. It has
// a session of its own: that of the stream may be in the middle of signing.
func (s *session) seal(keys *domainKeys, data []byte) ([]byte, pkcs11.RV) {
	own, rv := s.token.module.Open(s.token.slot, 0)
	if rv != pkcs11.CKR_OK {
		return nil, rv
	}
	defer own.Close()
	rv = own.SignInit(bg, &wire.SignInit{Mechanism: pkcs11.Mechanism{Type: pkcs11.CKM_SHA256_HMAC, Null: true}, Key: keys.seal})
	if rv != pkcs11.CKR_OK {
		return nil, rv
	}
	sign := wire.Sign{Data: wire.Data(data), SignatureRoom: wire.Room{Capacity: sealSize}}
	if rv = own.Sign(bg, &sign); rv != pkcs11.CKR_OK {
		return nil, rv
	}
	if len(sign.Signature.Data) != sealSize {
		return nil, pkcs11.CKR_GENERAL_ERROR
	}
	return sign.Signature.Data, pkcs11.CKR_OK
}

// sealed says whether seal is the seal of data.
func (s *session) sealed(keys *domainKeys, data, seal []byte) (bool, pkcs11.RV) {
	right, rv := s.seal(keys, data)
	return rv == pkcs11.CKR_OK && hmac.Equal(right, seal), rv
}
