// SPDX-License-Identifier: Apache-2.0

package host

import (
	"bytes"
	"context"
	"sync"

	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/wire"
)

// The journal of a group lies in its tokens: hidden private data objects, each
// with the bytes of the record and the domain's seal. What they say is the
// group's business. A token in no domain has records without a seal.

// Record stores a record. One that is there already is not stored twice.
func (s *session) Record(_ context.Context, c *wire.Record) pkcs11.RV {
	value, rv := s.sealRecord(c.Record)
	if rv != pkcs11.CKR_OK {
		return rv
	}
	there, rv := s.objects(append(dataTemplate(journalApplication), pkcs11.Bytes(pkcs11.CKA_VALUE, value)))
	if rv != pkcs11.CKR_OK || len(there) > 0 {
		return rv
	}
	object, rv := s.create(append(dataTemplate(journalApplication), pkcs11.Bytes(pkcs11.CKA_VALUE, value),
		pkcs11.Bool(pkcs11.CKA_TOKEN, true), pkcs11.Bool(pkcs11.CKA_PRIVATE, true)))
	if rv == pkcs11.CKR_OK {
		s.token.hide(object)
	}
	return rv
}

// sealRecord is a record as it is stored.
func (s *session) sealRecord(record []byte) ([]byte, pkcs11.RV) {
	var e wire.Encoder
	e.Blob(record)
	var seal []byte
	if keys := s.domain(); keys != nil {
		if !keys.complete() {
			return nil, pkcs11.CKR_USER_NOT_LOGGED_IN
		}
		var rv pkcs11.RV
		if seal, rv = s.journalSeal(keys, record); rv != pkcs11.CKR_OK {
			return nil, rv
		}
	}
	e.Blob(seal)
	return e.Buf, pkcs11.CKR_OK
}

// seals are those of records that were made with one seal key. A journal is read again
// and again while members become ready, and each would cost a session and three calls of
// the module.
type seals struct {
	mu sync.Mutex
	of map[string][]byte // by record
}

// maxSeals is how many are remembered. Journals are short, but for those of a member
// that is away for long.
const maxSeals = 256

// journalSeal is the seal of a record.
func (s *session) journalSeal(keys *domainKeys, record []byte) ([]byte, pkcs11.RV) {
	keys.seals.mu.Lock()
	seal := keys.seals.of[string(record)]
	keys.seals.mu.Unlock()
	if seal != nil {
		return seal, pkcs11.CKR_OK
	}
	seal, rv := s.seal(keys, append([]byte(journalApplication), record...))
	if rv != pkcs11.CKR_OK {
		return nil, rv
	}
	keys.seals.mu.Lock()
	defer keys.seals.mu.Unlock()
	if keys.seals.of == nil || len(keys.seals.of) >= maxSeals {
		keys.seals.of = make(map[string][]byte)
	}
	keys.seals.of[string(record)] = bytes.Clone(seal)
	return seal, pkcs11.CKR_OK
}

// Records lists the records. Those that are not sealed as they must be are left
// out: a destruction is done on nobody's bare word.
func (s *session) Records(_ context.Context, c *wire.Records) pkcs11.RV {
	found, rv := s.objects(dataTemplate(journalApplication))
	if rv != pkcs11.CKR_OK {
		return rv
	}
	refused := 0
	for _, object := range found {
		s.token.hide(object)
		read, rv := s.read(object, pkcs11.CKA_VALUE)
		if rv == pkcs11.CKR_OBJECT_HANDLE_INVALID {
			continue // removed meanwhile
		}
		if rv != pkcs11.CKR_OK {
			return rv
		}
		value := read.Bytes(pkcs11.CKA_VALUE)
		record := wire.NewDecoder(value).Blob()
		right, rv := s.sealRecord(record)
		if rv != pkcs11.CKR_OK {
			return rv
		}
		if !bytes.Equal(right, value) {
			refused++
			continue
		}
		c.Records = append(c.Records, record)
	}
	if refused > 0 {
		s.token.log.Warn("records of the journal without a right seal are not looked at", "records", refused)
	}
	return pkcs11.CKR_OK
}

// Unrecord removes a record. That it is not there is no error.
func (s *session) Unrecord(_ context.Context, c *wire.Unrecord) pkcs11.RV {
	value, rv := s.sealRecord(c.Record)
	if rv != pkcs11.CKR_OK {
		return rv
	}
	found, rv := s.objects(append(dataTemplate(journalApplication), pkcs11.Bytes(pkcs11.CKA_VALUE, value)))
	for _, object := range found {
		if rv := s.destroy(object); rv != pkcs11.CKR_OK && rv != pkcs11.CKR_OBJECT_HANDLE_INVALID {
			return rv
		}
		s.token.forget(object)
	}
	return rv
}
