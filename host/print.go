// SPDX-License-Identifier: Apache-2.0

package host

import (
	"bytes"

	"oneslot.dev/oneslot/pkcs11"
)

// A print is a fingerprint that was established, remembered by handle: some
// cost a wrap, and searches come often.
//
// A handle that came to mean another key would give that key a wrong name, and
// rule H3 calls this the one unforgivable fault. So a print is remembered only
// where a handle cannot: the module counts its handles up, as SoftHSM does, or
// the object shows a CKA_UNIQUE_ID, which PKCS#11 3.0 forbids to use again.
type print struct {
	class, keyType, size uint64
	unique               []byte
	fingerprint          []byte
}

// recall fills in what is remembered of the object.
func (s *session) recall(k *known) bool {
	s.token.state.Lock()
	p, ok := s.token.prints[k.Object]
	s.token.state.Unlock()
	if !ok || p.class != k.Class || p.keyType != k.KeyType || !bytes.Equal(p.unique, k.attributes.Bytes(pkcs11.CKA_UNIQUE_ID)) {
		return false
	}
	k.Size, k.Fingerprint = p.size, p.fingerprint
	k.mark()
	return true
}

// note remembers the object. Data objects can change under their handle, and
// what has no fingerprint today may get one with the next login.
func (s *session) note(k *known) {
	unique := k.attributes.Bytes(pkcs11.CKA_UNIQUE_ID)
	if len(k.Fingerprint) == 0 || k.Class == pkcs11.CKO_DATA || len(unique) == 0 && !s.token.countsHandles {
		return
	}
	s.token.state.Lock()
	defer s.token.state.Unlock()
	s.token.prints[k.Object] = print{k.Class, k.KeyType, k.Size, unique, k.Fingerprint}
}

// printOf is the fingerprint of a live object, nil if it is not remembered.
func (s *session) printOf(object uint64) []byte {
	if !s.token.countsHandles {
		return nil
	}
	s.token.state.Lock()
	defer s.token.state.Unlock()
	return s.token.prints[object].fingerprint
}
