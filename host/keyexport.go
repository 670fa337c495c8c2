// SPDX-License-Identifier: Apache-2.0

package host

import (
	"crypto/rand"

	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/wire"
)

// Key export is the copy method of a token that cannot mark a key as trusted
// (rule K7): keys are extractable there, and nothing in the token keeps the
// holder of its PIN from wrapping them under a key of his own. This process does
// as far as calls come through it, in every view. It is weaker, so it is used
// only where it was permitted twice: by the security officer when the token joined
// a domain with key export, and by the configuration of the group, which opens
// sessions with wire.ExportView. Without the second, keys are made as asked for
// and stay where they are.

// cannotTrust is what Join answers when the token cannot, and key export is not
// permitted.
const cannotTrust = pkcs11.CKR_ATTRIBUTE_TYPE_INVALID

// guards says whether the session shows and guards keys as they were asked for,
// rather than as the token has them.
func (s *session) guards() bool { return s.group || s.domain().byExport() }

// strip takes out of a template what a token without trusted keys does not know.
func (d *domainKeys) strip(t pkcs11.Template) pkcs11.Template {
	if d.byExport() {
		return t.Without(pkcs11.CKA_WRAP_WITH_TRUSTED)
	}
	return t
}

// closed is what is shown of a private or secret key that has no record on a
// token which copies by key export: as if it could not be extracted. Where its
// record could not be read, or went in the same moment, nobody shall wrap it.
func (s *session) closed(k *known, shown pkcs11.Template) pkcs11.Template {
	own, _ := s.readShown(k.Object)
	if own.Find(pkcs11.CKA_EXTRACTABLE) != nil && !own.Bool(pkcs11.CKA_EXTRACTABLE, true) {
		return shown // the token guards it
	}
	return own.With(shown...).With(pkcs11.Bool(pkcs11.CKA_EXTRACTABLE, false), pkcs11.Bool(pkcs11.CKA_NEVER_EXTRACTABLE, false),
		pkcs11.Bool(pkcs11.CKA_WRAP_WITH_TRUSTED, false))
}

// recordCopy writes the record of a key that was copied to the token within it.
// Until then it is closed.
func (s *session) recordCopy(object uint64, shown pkcs11.Template) pkcs11.RV {
	k, rv := s.identify(object)
	if rv == pkcs11.CKR_OK && (!secret(k.Class) || k.Flags&wire.OnToken == 0) {
		return pkcs11.CKR_OK
	}
	if rv == pkcs11.CKR_OK && len(k.Fingerprint) > 0 {
		_, rv = s.writeOrigin(&k, s.guardNow(object), shown)
	}
	if rv != pkcs11.CKR_OK {
		s.destroy(object)
	}
	return rv
}

// findExport looks for the keys of a domain with key export on a token without
// trusted key. Before the login only the sign of the domain can be seen.
func (s *session) findExport() (*domainKeys, pkcs11.RV) {
	keys := &domainKeys{exported: true}
	signs, rv := s.objects(dataTemplate(domainApplication))
	if rv != pkcs11.CKR_OK {
		return nil, rv
	}
	if len(signs) > 0 {
		read, rv := s.read(signs[0], pkcs11.CKA_VALUE)
		if rv != pkcs11.CKR_OK {
			return nil, rv
		}
		keys.sign, keys.id = signs[0], read.Bytes(pkcs11.CKA_VALUE)
		s.token.hide(keys.sign)
	}
	template := pkcs11.Template{
		pkcs11.Ulong(pkcs11.CKA_CLASS, pkcs11.CKO_SECRET_KEY), pkcs11.Bytes(pkcs11.CKA_LABEL, []byte(exportLabel)),
		pkcs11.Bool(pkcs11.CKA_EXTRACTABLE, false), pkcs11.Bool(pkcs11.CKA_SENSITIVE, true)}
	if keys.id != nil {
		template = append(template, pkcs11.Bytes(pkcs11.CKA_ID, keys.id))
	}
	found, rv := s.objects(template)
	if rv != pkcs11.CKR_OK {
		return nil, rv
	}
	if len(found) > 0 {
		read, rv := s.read(found[0], pkcs11.CKA_ID)
		if rv != pkcs11.CKR_OK {
			return nil, rv
		}
		keys.strict, keys.id = found[0], read.Bytes(pkcs11.CKA_ID)
	}
	if len(keys.id) == 0 {
		return nil, pkcs11.CKR_OK
	}
	return keys, pkcs11.CKR_OK
}

// exportKey is private: who has not logged in shall not unwrap with it.
func (m *material) exportKey() pkcs11.Template {
	return m.key(pkcs11.CKK_AES, exportLabel, m.strict, pkcs11.CKA_WRAP, pkcs11.CKA_UNWRAP)
}

func (m *material) sign() pkcs11.Template {
	return append(dataTemplate(domainApplication), pkcs11.Bytes(pkcs11.CKA_VALUE, m.id),
		pkcs11.Bool(pkcs11.CKA_TOKEN, true), pkcs11.Bool(pkcs11.CKA_PRIVATE, false))
}

// refusesTemplate says whether a token answers so to attributes it does not know
// or does not let the security officer set.
func refusesTemplate(rv pkcs11.RV) bool {
	switch rv {
	case pkcs11.CKR_ATTRIBUTE_TYPE_INVALID, pkcs11.CKR_ATTRIBUTE_VALUE_INVALID, pkcs11.CKR_ATTRIBUTE_READ_ONLY,
		pkcs11.CKR_TEMPLATE_INCONSISTENT, pkcs11.CKR_USER_NOT_LOGGED_IN, pkcs11.CKR_FUNCTION_NOT_SUPPORTED:
		return true
	}
	return false
}

// tryTrust finds out by a key that is thrown away whether the token guards keys
// that only a trusted one may wrap: some take the attributes and do not act by them.
// It is cannotTrust if not.
func (s *session) tryTrust(c *wire.Join) pkcs11.RV {
	trial := material{id: []byte("trial"), strict: make([]byte, 32)}
	rand.Read(trial.strict)
	defer trial.wipe()
	made := wire.CreateObject{Template: trial.strictKey().With(pkcs11.Bool(pkcs11.CKA_TOKEN, false),
		pkcs11.Bool(pkcs11.CKA_DESTROYABLE, true), pkcs11.Bytes(pkcs11.CKA_LABEL, []byte(trialLabel)))}
	refused := pkcs11.CKR_OK
	rv := s.as(pkcs11.CKU_SO, c.Officer, func() pkcs11.RV {
		refused = s.raw.CreateObject(bg, &made)
		return pkcs11.CKR_OK
	})
	switch {
	case rv != pkcs11.CKR_OK:
		return rv
	case refusesTemplate(refused):
		return cannotTrust
	case refused != pkcs11.CKR_OK:
		return refused
	}
	guarded := false
	rv = s.as(pkcs11.CKU_USER, c.Pin, func() (rv pkcs11.RV) {
		guarded, rv = s.guarded(made.Object)
		return rv
	})
	s.destroy(made.Object)
	if rv == pkcs11.CKR_OK && !guarded {
		return cannotTrust
	}
	return rv
}

// guarded says whether a key that only trusted ones may wrap is refused to
// another, and whether the trusted one unwraps it to nothing weaker.
func (s *session) guarded(trusted uint64) (bool, pkcs11.RV) {
	plain := pkcs11.Template{pkcs11.Ulong(pkcs11.CKA_CLASS, pkcs11.CKO_SECRET_KEY),
		pkcs11.Ulong(pkcs11.CKA_KEY_TYPE, pkcs11.CKK_AES), pkcs11.Bool(pkcs11.CKA_TOKEN, false),
		pkcs11.Bool(pkcs11.CKA_EXTRACTABLE, true), pkcs11.Bool(pkcs11.CKA_SENSITIVE, false)}
	generate := func(more ...pkcs11.Attribute) (uint64, pkcs11.RV) {
		c := wire.GenerateKey{Mechanism: pkcs11.Mechanism{Type: pkcs11.CKM_AES_KEY_GEN, Null: true},
			Template: plain.With(more...).With(pkcs11.Ulong(pkcs11.CKA_VALUE_LEN, 32))}
		rv := s.raw.GenerateKey(bg, &c)
		return c.Key, rv
	}
	key, rv := generate(pkcs11.Bool(pkcs11.CKA_SENSITIVE, true), pkcs11.Bool(pkcs11.CKA_WRAP_WITH_TRUSTED, true))
	if rv != pkcs11.CKR_OK {
		if refusesTemplate(rv) {
			rv = pkcs11.CKR_OK
		}
		return false, rv
	}
	defer s.destroy(key)
	other, rv := generate(pkcs11.Bool(pkcs11.CKA_WRAP, true))
	if rv != pkcs11.CKR_OK {
		return false, rv
	}
	defer s.destroy(other)
	wrapped, mechanism, rv := s.wrap(trusted, key)
	if rv != pkcs11.CKR_OK {
		return false, pkcs11.CKR_OK
	}
	if _, _, rv := s.wrap(other, key); rv == pkcs11.CKR_OK {
		return false, pkcs11.CKR_OK
	}
	back := wire.UnwrapKey{Mechanism: pkcs11.Mechanism{Type: mechanism, Null: true}, Unwrapping: trusted,
		Wrapped: wire.Data(wrapped), Template: plain}
	if s.raw.UnwrapKey(bg, &back) == pkcs11.CKR_OK {
		s.destroy(back.Key)
		return false, pkcs11.CKR_OK
	}
	return true, pkcs11.CKR_OK
}
