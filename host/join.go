// SPDX-License-Identifier: Apache-2.0

package host

import (
	"bytes"
	"context"
	"crypto/hkdf"
	"crypto/sha256"

	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/wire"
)

// minSecret is the shortest domain secret: it must not be guessable.
const minSecret = 32

// Join puts the token into the domain of a secret. Joining the same domain
// again completes what is missing, so an interrupted Join is simply repeated.
//
//	CKR_KEY_SIZE_RANGE         the secret is shorter than 32 bytes
//	CKR_DOMAIN_PARAMS_INVALID  the token is in another domain
//	CKR_PIN_INVALID            the user's PIN is wrong
//	CKR_PIN_INCORRECT          the security officer's PIN is wrong
//	CKR_ATTRIBUTE_TYPE_INVALID the token cannot guard keys by a trusted one, and
//	                           key export is not permitted
//
// A PIN is tried once. The user's is tried first, so that nothing is left half
// done when it is wrong.
func (s *session) Join(_ context.Context, c *wire.Join) pkcs11.RV {
	if len(c.Secret) < minSecret {
		return pkcs11.CKR_KEY_SIZE_RANGE
	}
	material, err := derive(c.Secret, c.Export)
	if err != nil {
		return pkcs11.CKR_GENERAL_ERROR
	}
	defer material.wipe()
	keys, rv := s.findDomain()
	if rv != pkcs11.CKR_OK {
		return rv
	}
	if keys != nil && !bytes.Equal(keys.id, material.id) {
		return pkcs11.CKR_DOMAIN_PARAMS_INVALID
	}
	rv = s.as(pkcs11.CKU_USER, c.Pin, func() (rv pkcs11.RV) { keys, rv = s.findDomain(); return rv })
	if rv == pkcs11.CKR_PIN_INCORRECT {
		return pkcs11.CKR_PIN_INVALID
	}
	if rv == pkcs11.CKR_OK && keys != nil && !bytes.Equal(keys.id, material.id) {
		return pkcs11.CKR_DOMAIN_PARAMS_INVALID // one that shows only to the user
	}
	if rv == pkcs11.CKR_OK && keys == nil {
		keys = &domainKeys{}
		switch rv = s.tryTrust(c); {
		case rv == pkcs11.CKR_OK:
			rv = s.as(pkcs11.CKU_SO, c.Officer, func() pkcs11.RV { return s.make(material.strictKey()) })
		case rv == cannotTrust && c.Export:
			keys.exported, rv = true, pkcs11.CKR_OK
		}
	}
	if rv == pkcs11.CKR_OK && (!keys.complete() || keys.exported && keys.sign == 0) {
		rv = s.as(pkcs11.CKU_USER, c.Pin, func() pkcs11.RV { return s.makeMissing(keys, &material) })
	}
	c.Domain = material.id
	return rv
}

// makeMissing makes what the user can make. The sign of the domain comes last.
func (s *session) makeMissing(keys *domainKeys, m *material) pkcs11.RV {
	for _, part := range []struct {
		missing bool
		key     pkcs11.Template
	}{
		{keys.open == 0, m.openKey()}, {keys.seal == 0, m.sealKey()},
		{keys.exported && keys.strict == 0, m.exportKey()}, {keys.exported && keys.sign == 0, m.sign()},
	} {
		if part.missing {
			if rv := s.make(part.key); rv != pkcs11.CKR_OK {
				return rv
			}
		}
	}
	return pkcs11.CKR_OK
}

// as does something as a user, and logs out again.
func (s *session) as(user uint64, pin pkcs11.PIN, do func() pkcs11.RV) pkcs11.RV {
	if rv := s.raw.Login(bg, &wire.Login{User: user, Pin: pin}); rv != pkcs11.CKR_OK {
		return rv
	}
	rv := do()
	s.raw.Logout(bg, nil)
	s.token.loginChanged()
	return rv
}

func (s *session) make(t pkcs11.Template) pkcs11.RV {
	return s.raw.CreateObject(bg, &wire.CreateObject{Template: t})
}

// material is what is made of a domain secret.
type material struct{ id, strict, open, seal []byte }

// derive makes the keys of a domain. One with key export is another domain than
// one without: what was made where only trusted keys wrap never comes to a token
// that lacks them, whoever relays it.
func derive(secret []byte, export bool) (m material, err error) {
	prefix := "oneslot domain 1: "
	if export {
		prefix = "oneslot domain 1 with key export: "
	}
	for _, part := range []struct {
		info string
		into *[]byte
	}{
		{"identifier", &m.id},
		{"strict wrapping key", &m.strict},
		{"open wrapping key", &m.open},
		{"sealing key", &m.seal},
	} {
		if *part.into, err = hkdf.Key(sha256.New, secret, nil, prefix+part.info, 32); err != nil {
			return m, err
		}
	}
	return m, nil
}

func (m *material) wipe() {
	clear(m.strict)
	clear(m.open)
	clear(m.seal)
}

// key is what the templates of the three keys have in common: they stay where
// they are and as they are.
func (m *material) key(keyType uint64, label string, value []byte, may ...pkcs11.AttributeType) pkcs11.Template {
	t := pkcs11.Template{
		pkcs11.Ulong(pkcs11.CKA_CLASS, pkcs11.CKO_SECRET_KEY), pkcs11.Ulong(pkcs11.CKA_KEY_TYPE, keyType),
		pkcs11.Bytes(pkcs11.CKA_LABEL, []byte(label)), pkcs11.Bytes(pkcs11.CKA_ID, m.id),
		pkcs11.Bytes(pkcs11.CKA_VALUE, value), pkcs11.Bool(pkcs11.CKA_TOKEN, true), pkcs11.Bool(pkcs11.CKA_PRIVATE, true),
		pkcs11.Bool(pkcs11.CKA_SENSITIVE, true), pkcs11.Bool(pkcs11.CKA_EXTRACTABLE, false),
		pkcs11.Bool(pkcs11.CKA_MODIFIABLE, false), pkcs11.Bool(pkcs11.CKA_COPYABLE, false),
		// Whoever destroys a domain key stops all copying.
		pkcs11.Bool(pkcs11.CKA_DESTROYABLE, false),
	}
	for _, task := range []pkcs11.AttributeType{pkcs11.CKA_ENCRYPT, pkcs11.CKA_DECRYPT, pkcs11.CKA_SIGN, pkcs11.CKA_VERIFY,
		pkcs11.CKA_WRAP, pkcs11.CKA_UNWRAP, pkcs11.CKA_DERIVE} {
		t = append(t, pkcs11.Bool(task, task == may[0] || task == may[1]))
	}
	return t
}

// strictKey is a public object, since the security officer, who alone may mark
// it as trusted, cannot make private ones.
func (m *material) strictKey() pkcs11.Template {
	return append(m.key(pkcs11.CKK_AES, strictLabel, m.strict, pkcs11.CKA_WRAP, pkcs11.CKA_UNWRAP).
		With(pkcs11.Bool(pkcs11.CKA_PRIVATE, false), pkcs11.Bool(pkcs11.CKA_TRUSTED, true)),
		pkcs11.Attribute{Type: pkcs11.CKA_UNWRAP_TEMPLATE, IsList: true, Array: pkcs11.Template{
			pkcs11.Bool(pkcs11.CKA_SENSITIVE, true), pkcs11.Bool(pkcs11.CKA_WRAP_WITH_TRUSTED, true)}})
}

func (m *material) openKey() pkcs11.Template {
	return m.key(pkcs11.CKK_AES, openLabel, m.open, pkcs11.CKA_WRAP, pkcs11.CKA_UNWRAP)
}

func (m *material) sealKey() pkcs11.Template {
	return m.key(pkcs11.CKK_GENERIC_SECRET, sealLabel, m.seal, pkcs11.CKA_SIGN, pkcs11.CKA_VERIFY)
}
