// SPDX-License-Identifier: Apache-2.0

package host

import (
	"bytes"

	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/wire"
)

// Some attributes change when a key is copied, or are not what the application
// asked for, so that it can be copied. Applications are shown the original's
// values on every member (rule H5). For an object on the token they stand in a
// record: a hidden data object named by the fingerprint, written before the
// object itself. For a session object they are remembered here.
var adjustedKinds = []pkcs11.AttributeType{
	pkcs11.CKA_EXTRACTABLE, pkcs11.CKA_NEVER_EXTRACTABLE, pkcs11.CKA_SENSITIVE, pkcs11.CKA_ALWAYS_SENSITIVE,
	pkcs11.CKA_LOCAL, pkcs11.CKA_KEY_GEN_MECHANISM, pkcs11.CKA_WRAP_WITH_TRUSTED,
	// SoftHSM 2.6.1 has none for unwrapped keys, and the wrong length.
	pkcs11.CKA_CHECK_VALUE, pkcs11.CKA_VALUE_LEN,
	// SoftHSM 2.6.1 cannot read those of private objects.
	pkcs11.CKA_START_DATE, pkcs11.CKA_END_DATE,
	// Held back on session objects.
	pkcs11.CKA_MODIFIABLE, pkcs11.CKA_COPYABLE, pkcs11.CKA_DESTROYABLE,
}

var isAdjusted = func() map[pkcs11.AttributeType]bool {
	set := map[pkcs11.AttributeType]bool{}
	for _, t := range adjustedKinds {
		set[t] = true
	}
	return set
}()

// originCache is what is known of the records since the login.
type originCache struct {
	loaded  bool
	records map[string][]originRecord // by fingerprint; several of equal keys that are guarded differently
	none    map[uint64]bool           // objects without a record: there will never be one, since it comes first
}

// shown returns the values that are shown of an object instead of the token's.
func (s *session) shown(k *known) pkcs11.Template {
	shown := s.remembered(k)
	if shown.Find(pkcs11.CKA_EXTRACTABLE) == nil && secret(k.Class) && s.domain().byExport() {
		return s.closed(k, shown)
	}
	return shown
}

// remembered is what stands in the record of an object, or in memory.
func (s *session) remembered(k *known) pkcs11.Template {
	if m := s.token.making(k.Object); m != nil {
		return m.shown.With(m.held...)
	}
	if !isKey(k.Class) || len(k.Fingerprint) == 0 {
		return nil
	}
	record := s.record(k)
	if record == 0 {
		return nil
	}
	read, rv := s.read(record, pkcs11.CKA_VALUE)
	if rv != pkcs11.CKR_OK {
		return nil
	}
	return s.ownSensitive(k, s.ownDates(k, decodeOrigin(read.Bytes(pkcs11.CKA_VALUE))))
}

func isKey(class uint64) bool {
	return class == pkcs11.CKO_PUBLIC_KEY || class == pkcs11.CKO_PRIVATE_KEY || class == pkcs11.CKO_SECRET_KEY
}

// record is the handle of an object's record, 0 if there is none.
func (s *session) record(k *known) uint64 {
	s.token.state.Lock()
	cache := &s.token.origins
	loaded, none, list := cache.loaded, cache.none[k.Object], cache.records[string(k.Fingerprint)]
	s.token.state.Unlock()
	handle := s.ownRecord(k, list)
	switch {
	case handle != 0:
		// Another process may have replaced it.
		if id, rv := s.read(handle, pkcs11.CKA_OBJECT_ID); rv == pkcs11.CKR_OK && bytes.Equal(id.Bytes(pkcs11.CKA_OBJECT_ID), k.Fingerprint) {
			return handle
		}
	case none:
		return 0
	case !loaded:
		s.loadOrigins()
		return s.record(k)
	case k.Object == 0:
		// The object is new here. If another process has written its
		// record since, there will be two of them, which say the same.
		return 0
	}
	found := s.recordsOf(k.Fingerprint)
	s.token.state.Lock()
	if len(found) == 0 {
		delete(cache.records, string(k.Fingerprint))
		if s.token.countsHandles && cache.none != nil {
			cache.none[k.Object] = true
		}
	} else if cache.records != nil {
		cache.records[string(k.Fingerprint)] = found
	}
	s.token.state.Unlock()
	return s.ownRecord(k, found)
}

// loadOrigins reads which records there are, all at once: one search for each
// key would be slow on a token with many.
func (s *session) loadOrigins() {
	found, _ := s.objects(dataTemplate(originApplication))
	records := map[string][]originRecord{}
	for _, object := range found {
		s.token.hide(object)
		if id, rv := s.read(object, pkcs11.CKA_OBJECT_ID, pkcs11.CKA_LABEL); rv == pkcs11.CKR_OK {
			fingerprint := string(id.Bytes(pkcs11.CKA_OBJECT_ID))
			records[fingerprint] = append(records[fingerprint], originRecord{object, string(id.Bytes(pkcs11.CKA_LABEL))})
		}
	}
	s.token.state.Lock()
	defer s.token.state.Unlock()
	s.token.origins = originCache{loaded: true, records: records, none: map[uint64]bool{}}
}

func dataTemplate(application string) pkcs11.Template {
	return pkcs11.Template{pkcs11.Ulong(pkcs11.CKA_CLASS, pkcs11.CKO_DATA),
		pkcs11.Bytes(pkcs11.CKA_APPLICATION, []byte(application))}
}

func (s *session) recordsOf(fingerprint []byte) (records []originRecord) {
	found, _ := s.objects(append(dataTemplate(originApplication), pkcs11.Bytes(pkcs11.CKA_OBJECT_ID, fingerprint)))
	for _, object := range found {
		s.token.hide(object)
		if label, rv := s.read(object, pkcs11.CKA_LABEL); rv == pkcs11.CKR_OK {
			records = append(records, originRecord{object, string(label.Bytes(pkcs11.CKA_LABEL))})
		}
	}
	return records
}

// writeOrigin writes or updates the record of an object that is guarded so. made
// tells whether it is a new one.
func (s *session) writeOrigin(k *known, guard string, shown pkcs11.Template) (made bool, rv pkcs11.RV) {
	value := encodeOrigin(shown)
	probe := *k
	probe.Object, probe.guard = 0, guard // the record may come before the object
	record := s.record(&probe)
	s.token.state.Lock()
	several := len(s.token.origins.records[string(k.Fingerprint)]) > 0
	s.token.state.Unlock()
	label := ""
	switch {
	case record != 0:
		old, rv := s.read(record, pkcs11.CKA_VALUE, pkcs11.CKA_LABEL)
		if rv != pkcs11.CKR_OK || bytes.Equal(old.Bytes(pkcs11.CKA_VALUE), value) {
			return false, rv
		}
		if label = string(old.Bytes(pkcs11.CKA_LABEL)); label == "" {
			if label, rv = s.divide(k, guard, old.Bytes(pkcs11.CKA_VALUE)); rv != pkcs11.CKR_OK {
				return false, rv
			}
		}
	case several:
		label = guard
	}
	object, rv := s.keepOrigin(k, label, value)
	if rv != pkcs11.CKR_OK {
		return false, rv
	}
	if record != 0 {
		// SoftHSM does not change the value of a data object.
		s.destroy(record)
	}
	now := []originRecord{{object, label}}
	if label != "" {
		now = s.recordsOf(k.Fingerprint)
	}
	s.token.state.Lock()
	defer s.token.state.Unlock()
	if s.token.origins.records != nil {
		s.token.origins.records[string(k.Fingerprint)] = now
	}
	return record == 0, pkcs11.CKR_OK
}

// keepOrigin puts a record on the token.
func (s *session) keepOrigin(k *known, label string, value []byte) (uint64, pkcs11.RV) {
	object, rv := s.create(append(dataTemplate(originApplication),
		pkcs11.Bytes(pkcs11.CKA_OBJECT_ID, k.Fingerprint), pkcs11.Bytes(pkcs11.CKA_LABEL, []byte(label)), pkcs11.Bytes(pkcs11.CKA_VALUE, value),
		pkcs11.Bool(pkcs11.CKA_TOKEN, true), pkcs11.Bool(pkcs11.CKA_PRIVATE, k.Flags&wire.Private != 0)))
	if rv == pkcs11.CKR_OK {
		s.token.hide(object)
	}
	return object, rv
}

// dropOrigin removes the records of an object that is gone, unless an equal one
// is left.
func (s *session) dropOrigin(k *known) {
	if len(k.Fingerprint) == 0 || !isKey(k.Class) {
		return
	}
	records := s.recordsOf(k.Fingerprint)
	if len(records) == 0 {
		return
	}
	if left, rv := s.copies(&k.Identity, 1, false); rv != pkcs11.CKR_OK || len(left) > 0 {
		return
	}
	for _, record := range records {
		s.destroy(record.object)
	}
	s.token.state.Lock()
	defer s.token.state.Unlock()
	delete(s.token.origins.records, string(k.Fingerprint))
}

// originVersion begins the value of a record.
const originVersion = 1

func encodeOrigin(t pkcs11.Template) []byte {
	var e wire.Encoder
	e.U8(originVersion)
	e.Template(append(pkcs11.Template{}, t...))
	return e.Buf
}

func decodeOrigin(b []byte) pkcs11.Template {
	d := wire.NewDecoder(b)
	if d.U8() != originVersion {
		return nil
	}
	t := d.Template()
	if d.End() != nil {
		return nil
	}
	return t
}
