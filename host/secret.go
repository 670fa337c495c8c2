// SPDX-License-Identifier: Apache-2.0

package host

import (
	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/wire"
)

// wrapMechanisms are those that can carry any key, best first. All of them are
// deterministic (RFC 5649), which fingerprints build on.
var wrapMechanisms = []pkcs11.MechanismType{pkcs11.CKM_AES_KEY_WRAP_PAD, 0x210b /* CKM_AES_KEY_WRAP_KWP */}

// wrap wraps a key under a domain key.
func (s *session) wrap(by, key uint64) (wrapped []byte, mechanism pkcs11.MechanismType, rv pkcs11.RV) {
	for _, mechanism = range wrapMechanisms {
		c := wire.WrapKey{Mechanism: pkcs11.Mechanism{Type: mechanism, Null: true}, Wrapping: by, Key: key,
			WrappedRoom: wire.Room{Capacity: wire.MaxFrame}}
		if rv = s.raw.WrapKey(bg, &c); rv != pkcs11.CKR_MECHANISM_INVALID {
			return c.Wrapped.Data, mechanism, rv
		}
	}
	return nil, 0, rv
}

// secretFingerprint makes the fingerprint of a key that shows no public part:
// its wrap under the strict domain key, hashed. Whoever sees the fingerprint
// learns nothing of the key: he would have to guess the wrap, not the key.
func (s *session) secretFingerprint(k *known) {
	keys := s.domain()
	if keys == nil || !k.attributes.Bool(pkcs11.CKA_EXTRACTABLE, false) || stateful(k.KeyType) {
		return
	}
	wrapped, _, rv := s.wrap(keys.strict, k.Object)
	if rv != pkcs11.CKR_OK {
		return
	}
	d := newDigest(k.Class, k.KeyType)
	d.part([]byte(byWrap))
	d.part(wrapped)
	k.Fingerprint = d.Sum(nil)
}

// stateful says whether a key must never exist twice: using one index of a
// hash-based key twice destroys it (rule K8).
func stateful(keyType uint64) bool {
	return keyType == pkcs11.CKK_HSS || keyType == pkcs11.CKK_XMSS || keyType == pkcs11.CKK_XMSSMT
}
