// SPDX-License-Identifier: Apache-2.0

package host

import (
	"math"

	"oneslot.dev/oneslot/pkcs11"
)

// Records are named by fingerprint, which equal keys have in common. An application
// may bring one key twice, extractable and not: what it is shown of the two
// differs, and so does how the token guards them. Such keys have a record each.
type originRecord struct {
	object uint64
	guard  string // CKA_LABEL: whose record it is; empty: of all keys of the fingerprint
}

// How the token guards a key.
const (
	byTrust  = "trusted" // CKA_WRAP_WITH_TRUSTED
	byNobody = "open"
)

func otherGuard(guard string) string {
	if guard == byTrust {
		return byNobody
	}
	return byTrust
}

// guardOf says how a key is guarded, or is to be.
func guardOf(t pkcs11.Template) string {
	if t.Bool(pkcs11.CKA_WRAP_WITH_TRUSTED, false) {
		return byTrust
	}
	return byNobody
}

// guardNow says how the token guards an object.
func (s *session) guardNow(object uint64) string {
	own, _ := s.read(object, pkcs11.CKA_WRAP_WITH_TRUSTED)
	return guardOf(own)
}

// ownRecord is the handle of the record among those of one fingerprint that is
// about an object; 0 if none is.
func (s *session) ownRecord(k *known, list []originRecord) (own uint64) {
	switch {
	case len(list) == 0:
		return 0
	case len(list) == 1 && list[0].guard == "":
		return list[0].object
	}
	guard := k.guard
	if guard == "" {
		guard = s.guardNow(k.Object)
	}
	for _, r := range list {
		switch r.guard {
		case guard:
			return r.object
		case "":
			own = r.object
		}
	}
	return own
}

// divide gives the equal keys on the token that are guarded otherwise a record of
// their own before the one that they share is changed. It returns the label of the
// new one.
func (s *session) divide(k *known, guard string, value []byte) (label string, rv pkcs11.RV) {
	if !secret(k.Class) {
		return "", pkcs11.CKR_OK
	}
	equal, rv := s.copies(&k.Identity, math.MaxUint64, false)
	if rv != pkcs11.CKR_OK {
		return "", rv
	}
	for i := range equal {
		if equal[i].Object != k.Object && s.guardNow(equal[i].Object) != guard {
			_, rv = s.keepOrigin(k, otherGuard(guard), value)
			return guard, rv
		}
	}
	return "", pkcs11.CKR_OK
}

// ownSensitive leaves CKA_SENSITIVE to the token for a key that it guards as it was
// asked to: an equal one may be readable.
func (s *session) ownSensitive(k *known, shown pkcs11.Template) pkcs11.Template {
	if !secret(k.Class) || !shown.Bool(pkcs11.CKA_EXTRACTABLE, false) || shown.Bool(pkcs11.CKA_WRAP_WITH_TRUSTED, false) {
		return shown
	}
	own, _ := s.read(k.Object, pkcs11.CKA_SENSITIVE)
	return shown.With(own...)
}

// ownDates leaves the dates of a public key to the token, if it can tell them:
// equal keys may have others. SoftHSM 2.6.1 can tell those of public objects.
func (s *session) ownDates(k *known, shown pkcs11.Template) pkcs11.Template {
	dates := []pkcs11.AttributeType{pkcs11.CKA_START_DATE, pkcs11.CKA_END_DATE}
	if secret(k.Class) || shown.Find(dates[0]) == nil && shown.Find(dates[1]) == nil {
		return shown
	}
	own, _ := s.read(k.Object, dates...)
	for _, a := range own {
		shown = shown.Without(a.Type)
	}
	return shown
}
