// SPDX-License-Identifier: Apache-2.0

package host

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"

	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/wire"
)

// Wrapping with padding (RFC 5649) carries the length of the key within. SoftHSM
// 2.6.1 pads with zeros before it wraps and so loses the length: a key of 23
// bytes and that key with a zero after it have the same wrap, and what is
// unwrapped is the longer one. Such a wrap neither tells two keys apart nor
// makes a copy (rules H3, K6), unless the length is a multiple of 8.

// exact says whether the wrap of a secret key is the wrap of no other.
func (s *session) exact(k *known, wrapped []byte, mechanism pkcs11.MechanismType) bool {
	n, _ := k.attributes.Ulong(pkcs11.CKA_VALUE_LEN)
	switch {
	case k.Class != pkcs11.CKO_SECRET_KEY:
		return true // the encoding of a private key says where it ends
	case n > 0:
		return n%8 == 0 || s.keepsLength()
	}
	// SoftHSM 2.6.1 does not know how long unwrapped keys are.
	switch k.KeyType {
	case pkcs11.CKK_AES, pkcs11.CKK_DES, pkcs11.CKK_DES2, pkcs11.CKK_DES3:
		return true // no other length is one of theirs
	}
	return s.keepsLength() || s.comesBack(k, wrapped, mechanism)
}

// losesLength says whether a template is that of a key whose wrap will not be exact.
func (s *session) losesLength(t pkcs11.Template) bool {
	n, _ := t.Ulong(pkcs11.CKA_VALUE_LEN)
	if v := t.Find(pkcs11.CKA_VALUE); v != nil {
		n = uint64(len(v.Value))
	}
	return n%8 != 0 && !s.keepsLength()
}

// comesBack says whether a key is unwrapped as it was wrapped: its digest is the
// same, which does not leave this function.
func (s *session) comesBack(k *known, wrapped []byte, mechanism pkcs11.MechanismType) bool {
	own, rv := s.token.module.Open(s.token.slot, 0)
	if rv != pkcs11.CKR_OK {
		return false
	}
	defer own.Close() // the key that came back goes with it
	keys := s.domain()
	back := wire.UnwrapKey{Mechanism: pkcs11.Mechanism{Type: mechanism, Null: true}, Unwrapping: keys.strict,
		Wrapped: wire.Data(wrapped), Template: keys.strip(trialKey(k.KeyType).With(
			pkcs11.Bool(pkcs11.CKA_SENSITIVE, true), pkcs11.Bool(pkcs11.CKA_WRAP_WITH_TRUSTED, true)))}
	if own.UnwrapKey(bg, &back) != pkcs11.CKR_OK {
		return false
	}
	s.token.hide(back.Key)
	defer s.token.forget(back.Key)
	digest := func(key uint64) []byte {
		final := wire.DigestFinal{DigestRoom: wire.Room{Capacity: sha256.Size}}
		if own.DigestInit(bg, &wire.DigestInit{Mechanism: pkcs11.Mechanism{Type: pkcs11.CKM_SHA256, Null: true}}) != pkcs11.CKR_OK ||
			own.DigestKey(bg, &wire.DigestKey{Key: key}) != pkcs11.CKR_OK || own.DigestFinal(bg, &final) != pkcs11.CKR_OK {
			return nil
		}
		return final.Digest.Data
	}
	there := digest(k.Object)
	return len(there) == sha256.Size && hmac.Equal(there, digest(back.Key))
}

// trialKey is a session object that is hidden.
func trialKey(keyType uint64) pkcs11.Template {
	return pkcs11.Template{pkcs11.Ulong(pkcs11.CKA_CLASS, pkcs11.CKO_SECRET_KEY), pkcs11.Ulong(pkcs11.CKA_KEY_TYPE, keyType),
		pkcs11.Bool(pkcs11.CKA_TOKEN, false), pkcs11.Bool(pkcs11.CKA_EXTRACTABLE, true),
		pkcs11.Bytes(pkcs11.CKA_LABEL, []byte(trialLabel))}
}

// keepsLength says whether the token wraps two keys of this session differently
// that differ by a zero at the end. Where that cannot be tried, it does not. It
// is tried once, with the first key for which it matters.
func (s *session) keepsLength() bool {
	s.token.state.Lock()
	keeps, tried := s.token.keepsLength, s.token.triedLength
	s.token.state.Unlock()
	if tried {
		return keeps
	}
	short, tried := s.trialWrap([]byte("seven b"))
	if tried {
		var long []byte
		long, tried = s.trialWrap([]byte("seven b\x00"))
		keeps = tried && !bytes.Equal(short, long)
	}
	s.token.state.Lock()
	defer s.token.state.Unlock()
	s.token.keepsLength, s.token.triedLength = keeps, tried
	return keeps
}

// trialWrap wraps a key made for this. The key is hidden and gone at once.
func (s *session) trialWrap(value []byte) ([]byte, bool) {
	c := wire.CreateObject{Template: trialKey(pkcs11.CKK_GENERIC_SECRET).With(pkcs11.Bytes(pkcs11.CKA_VALUE, value))}
	if s.raw.CreateObject(bg, &c) != pkcs11.CKR_OK {
		return nil, false
	}
	s.token.hide(c.Object)
	defer s.destroy(c.Object)
	wrapped, _, rv := s.wrap(s.domain().strict, c.Object)
	return wrapped, rv == pkcs11.CKR_OK
}
