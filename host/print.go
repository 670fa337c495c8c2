// SPDX-License-Identifier: Apache-2.0

package host

import (
	"bytes"

	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/wire"
)

// A print is a fingerprint that was established, remembered by handle: some
// cost a wrap, and searches come often.
//
// A handle that came to mean another key would give that key a wrong name, and
// rule H3 calls this the one unforgivable fault. So a print is remembered only
// where a handle cannot: the module counts its handles up, as SoftHSM does, or
// the object shows a CKA_UNIQUE_ID, which PKCS#11 3.0 forbids to use again.
type print struct {
	identity wire.Identity // label and ID may be old
	unique   []byte
}

// What may change while an object stays the same, and the proof that it did.
var (
	changing       = []pkcs11.AttributeType{pkcs11.CKA_LABEL, pkcs11.CKA_ID, pkcs11.CKA_EXTRACTABLE}
	changingUnique = append(changing[:len(changing):len(changing)], pkcs11.CKA_UNIQUE_ID)
)

// recall identifies an object that is remembered. Each attribute that is not
// read counts: SoftHSM 2.6.1 opens a file to see whether it has changed. The
// result is empty if the object is not remembered.
func (s *session) recall(object uint64) (known, pkcs11.RV) {
	s.token.state.Lock()
	p, ok := s.token.prints[object]
	s.token.state.Unlock()
	if !ok {
		return known{}, pkcs11.CKR_OK
	}
	kinds := changing
	if !s.token.countsHandles {
		kinds = changingUnique
	}
	now, rv := s.read(object, kinds...)
	if rv != pkcs11.CKR_OK {
		s.token.forget(object)
		return known{}, rv
	}
	if !s.token.countsHandles && !bytes.Equal(p.unique, now.Bytes(pkcs11.CKA_UNIQUE_ID)) {
		s.token.forget(object)
		return known{}, pkcs11.CKR_OK
	}
	k := known{Identity: p.identity, attributes: now}
	k.Label, k.ID = now.Bytes(pkcs11.CKA_LABEL), now.Bytes(pkcs11.CKA_ID)
	return k, pkcs11.CKR_OK
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
	s.token.prints[k.Object] = print{k.Identity, unique}
}

// printOf is the fingerprint of a live object, nil if it is not remembered.
func (s *session) printOf(object uint64) []byte {
	if !s.token.countsHandles {
		return nil
	}
	s.token.state.Lock()
	defer s.token.state.Unlock()
	return s.token.prints[object].identity.Fingerprint
}
