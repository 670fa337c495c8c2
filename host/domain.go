// SPDX-License-Identifier: Apache-2.0

package host

import (
	"sync/atomic"

	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/wire"
)

// Three keys make a token a member of a domain. Each has the domain's
// identifier as CKA_ID. All are made from the domain secret (join.go), can do
// nothing but their one task, and never leave the token.
const (
	// The strict key is CKA_TRUSTED, so it alone may wrap keys that are
	// CKA_WRAP_WITH_TRUSTED; its unwrap template keeps them so.
	strictLabel = "oneslot domain strict 1"
	// The open key is not trusted, so the token keeps it from wrapping
	// those. It carries the keys that applications may extract themselves.
	openLabel = "oneslot domain open 1"
	// The seal key authenticates what travels or is stored beside keys.
	sealLabel = "oneslot domain seal 1"
	// The export key takes the place of the strict one on a token that cannot
	// mark it as trusted (rule K7, export.go).
	exportLabel = "oneslot domain export 1"
	// Session objects that a token is tried with, for a moment.
	trialLabel = "oneslot trial"
)

// The data objects in which records lie, by their CKA_APPLICATION.
const (
	originApplication  = "oneslot origin 1"
	journalApplication = "oneslot journal 1"

	// The sign of a domain of a token without a strict key: the export key
	// is private, and a domain must be known before the login.
	domainApplication = "oneslot domain 1"
)

// domainKeys are the handles of a token's domain keys. open and seal are zero
// until somebody has logged in: they are private objects.
type domainKeys struct {
	id                 []byte
	strict, open, seal uint64

	// exported: strict is the export key. Nothing in the token guards the keys
	// it wraps; this process does. It is zero until somebody has logged in.
	exported bool
	sign     uint64 // of the domain, if exported

	seals seals
}

func (d *domainKeys) byExport() bool { return d != nil && d.exported }

// complete says whether keys can be copied.
func (d *domainKeys) complete() bool { return d != nil && d.strict != 0 && d.open != 0 && d.seal != 0 }

// domainCache holds what is known of the domain. Readers take no lock: it is
// looked at in each call that uses a key.
type domainCache struct {
	keys  atomic.Pointer[domainKeys]
	epoch atomic.Uint64 // of the login at which keys were looked for
}

// domain returns the token's domain keys, nil if it is in no domain. They are
// looked for once after each login.
func (s *session) domain() *domainKeys {
	epoch := s.token.loginEpoch()
	if s.token.domain.epoch.Load() == epoch {
		return s.token.domain.keys.Load()
	}
	keys, rv := s.findDomain()
	if rv != pkcs11.CKR_OK {
		if last := s.token.domain.keys.Load(); last.byExport() {
			return last // a token that fails is guarded all the same
		}
		return nil
	}
	s.token.setDomain(keys, epoch)
	return keys
}

// setDomain notes what was found at a login. No call may use the keys from now on.
func (t *Token) setDomain(keys *domainKeys, epoch uint64) {
	var forbidden [3]uint64
	if keys != nil {
		forbidden = [3]uint64{keys.strict, keys.open, keys.seal}
	}
	t.module.Forbid(forbidden)
	t.domain.keys.Store(keys)
	t.domain.epoch.Store(epoch)
}

// findDomain looks for the domain keys.
func (s *session) findDomain() (*domainKeys, pkcs11.RV) {
	// Only the security officer can make a trusted key: nobody with the
	// user's PIN can put a strict key of his own into its place.
	strict, rv := s.objects(pkcs11.Template{
		pkcs11.Ulong(pkcs11.CKA_CLASS, pkcs11.CKO_SECRET_KEY), pkcs11.Bytes(pkcs11.CKA_LABEL, []byte(strictLabel)),
		pkcs11.Bool(pkcs11.CKA_TRUSTED, true)})
	if rv != pkcs11.CKR_OK {
		return nil, rv
	}
	var keys *domainKeys
	if len(strict) > 0 {
		read, rv := s.read(strict[0], pkcs11.CKA_ID)
		if rv != pkcs11.CKR_OK {
			return nil, rv
		}
		keys = &domainKeys{id: read.Bytes(pkcs11.CKA_ID), strict: strict[0]}
	} else if keys, rv = s.findExport(); rv != pkcs11.CKR_OK || keys == nil {
		return nil, rv
	}
	if !s.seesPrivate() {
		return keys, pkcs11.CKR_OK // a search is dear, and the others are private
	}
	others, rv := s.objects(pkcs11.Template{pkcs11.Ulong(pkcs11.CKA_CLASS, pkcs11.CKO_SECRET_KEY), pkcs11.Bytes(pkcs11.CKA_ID, keys.id),
		pkcs11.Bool(pkcs11.CKA_EXTRACTABLE, false), pkcs11.Bool(pkcs11.CKA_SENSITIVE, true)})
	for _, other := range others {
		read, rv := s.read(other, pkcs11.CKA_LABEL)
		if rv != pkcs11.CKR_OK && rv != pkcs11.CKR_OBJECT_HANDLE_INVALID {
			return nil, rv
		}
		switch label := string(read.Bytes(pkcs11.CKA_LABEL)); {
		case label == openLabel && keys.open == 0:
			keys.open = other
		case label == sealLabel && keys.seal == 0:
			keys.seal = other
		}
	}
	return keys, rv
}

// seesPrivate says whether private objects can be seen, and in doubt that they can.
func (s *session) seesPrivate() bool {
	session, rv := s.raw.Info()
	if rv != pkcs11.CKR_OK || session.State != pkcs11.CKS_RO_PUBLIC_SESSION && session.State != pkcs11.CKS_RW_PUBLIC_SESSION {
		return true
	}
	token, rv := s.token.module.TokenInfo(s.token.slot)
	return rv != pkcs11.CKR_OK || token.Flags&pkcs11.CKF_LOGIN_REQUIRED == 0
}

// describeDomain says which domain the token is in.
func (s *session) describeDomain(d *wire.Description) pkcs11.RV {
	epoch := s.token.loginEpoch()
	keys, rv := s.findDomain() // anew: an administrator may just have joined it
	if rv != pkcs11.CKR_OK {
		return rv
	}
	s.token.setDomain(keys, epoch)
	if keys != nil {
		d.Domain, d.Cloning = keys.id, !keys.exported
	}
	return pkcs11.CKR_OK
}

// isDomainKey says whether a handle is one of a domain key, which no caller may
// use, also not by guessing.
func (t *Token) isDomainKey(object uint64) bool {
	keys := t.domain.keys.Load()
	return keys != nil && object != 0 && (object == keys.strict || object == keys.open || object == keys.seal)
}

// hides says whether an object is a helper of ours (rule H4).
func hides(k *known) bool {
	if string(k.Label) == trialLabel && k.Flags&wire.OnToken == 0 {
		return true
	}
	switch k.Class {
	case pkcs11.CKO_SECRET_KEY:
		return reservedLabel(k.Label) && k.Flags&wire.OnToken != 0
	case pkcs11.CKO_DATA:
		return reservedApplication(k.attributes.Bytes(pkcs11.CKA_APPLICATION))
	}
	return false
}

func reservedLabel(label []byte) bool {
	return string(label) == strictLabel || string(label) == openLabel || string(label) == sealLabel ||
		string(label) == exportLabel
}

func reservedApplication(application []byte) bool {
	return string(application) == originApplication || string(application) == journalApplication ||
		string(application) == domainApplication
}

// reserved says whether a template names an object as only ours are named.
func reserved(t pkcs11.Template) bool {
	return reservedLabel(t.Bytes(pkcs11.CKA_LABEL)) || reservedApplication(t.Bytes(pkcs11.CKA_APPLICATION))
}
