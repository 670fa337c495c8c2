// SPDX-License-Identifier: Apache-2.0

package host

import (
	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/wire"
)

// wrapMechanisms are those that can carry any key, best first. All of them are
// deterministic (RFC 5649), which fingerprints build on; see exact.go.
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
	if keys == nil || keys.strict == 0 || !k.attributes.Bool(pkcs11.CKA_EXTRACTABLE, false) || stateful(k.KeyType) {
		return
	}
	wrapped, mechanism, rv := s.wrap(keys.strict, k.Object)
	if rv != pkcs11.CKR_OK || !s.exact(k, wrapped, mechanism) {
		return
	}
	d := newDigest(k.Class, k.KeyType)
	d.part([]byte(byWrap))
	d.part(wrapped)
	k.Fingerprint = d.Sum(nil)
}

// A keyKind is a class and type of key.
type keyKind struct{ class, keyType uint64 }

// wraps says whether the token can wrap keys of this kind: SoftHSM 2.6.1 cannot
// wrap Ed25519 keys, for instance. It is found out with the first such key.
func (s *session) wraps(k *known, keys *domainKeys) bool {
	kind := keyKind{k.Class, k.KeyType}
	s.token.state.Lock()
	can, tried := s.token.wrapped[kind]
	s.token.state.Unlock()
	if tried {
		return can
	}
	_, _, rv := s.wrap(keys.strict, k.Object)
	switch rv {
	case pkcs11.CKR_OK, pkcs11.CKR_KEY_NOT_WRAPPABLE, pkcs11.CKR_KEY_TYPE_INCONSISTENT, pkcs11.CKR_KEY_UNEXTRACTABLE:
		s.token.state.Lock()
		s.token.wrapped[kind] = rv == pkcs11.CKR_OK
		s.token.state.Unlock()
	}
	return rv == pkcs11.CKR_OK
}

// stateful says whether a key must never exist twice: using one index of a
// hash-based key twice destroys it (rule K8).
func stateful(keyType uint64) bool {
	return keyType == pkcs11.CKK_HSS || keyType == pkcs11.CKK_XMSS || keyType == pkcs11.CKK_XMSSMT
}
