// SPDX-License-Identifier: Apache-2.0

package fake

import (
	"context"
	"crypto/sha256"

	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/wire"
)

// Multi-part operations of the fake token: SHA-256, and a cipher that is the
// same on every token that has the key.

func (s *session) DigestInit(context.Context, *wire.DigestInit) pkcs11.RV {
	if s.digest != nil {
		return pkcs11.CKR_OPERATION_ACTIVE
	}
	s.digest = sha256.New()
	return pkcs11.CKR_OK
}

func (s *session) DigestUpdate(_ context.Context, c *wire.DigestUpdate) pkcs11.RV {
	if s.digest == nil {
		return pkcs11.CKR_OPERATION_NOT_INITIALIZED
	}
	s.digest.Write(c.Part.Data)
	return pkcs11.CKR_OK
}

func (s *session) DigestKey(_ context.Context, c *wire.DigestKey) pkcs11.RV {
	o := s.life.handles[c.Key]
	switch {
	case s.digest == nil:
		return pkcs11.CKR_OPERATION_NOT_INITIALIZED
	case o == nil:
		return pkcs11.CKR_KEY_HANDLE_INVALID
	}
	s.digest.Write(o.id.Fingerprint)
	return pkcs11.CKR_OK
}

func (s *session) DigestFinal(_ context.Context, c *wire.DigestFinal) pkcs11.RV {
	if s.digest == nil {
		return pkcs11.CKR_OPERATION_NOT_INITIALIZED
	}
	var rv pkcs11.RV
	if c.Digest, rv = c.DigestRoom.Fit(s.digest.Sum(nil)); rv == pkcs11.CKR_OK && !c.Digest.Null {
		s.digest = nil
	}
	return rv
}

func (s *session) Digest(ctx context.Context, c *wire.Digest) pkcs11.RV {
	if rv := s.DigestUpdate(ctx, &wire.DigestUpdate{Part: c.Data}); rv != pkcs11.CKR_OK {
		return rv
	}
	final := wire.DigestFinal{DigestRoom: c.DigestRoom}
	rv := s.DigestFinal(ctx, &final)
	c.Digest = final.Digest
	return rv
}

// stream is a cipher that puts out all it is fed. Salt spoils it, as a token
// whose output cannot be repeated.
type stream struct {
	key  []byte
	at   int
	salt byte
}

func (e *stream) next(in []byte) []byte {
	out := make([]byte, len(in))
	for i, b := range in {
		out[i] = b ^ e.key[e.at%len(e.key)] ^ e.salt
		e.at++
	}
	return out
}

// Salt makes the token's cipher another one.
func (t *Token) Salt(salt byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.salt = salt
}

func (s *session) EncryptInit(_ context.Context, c *wire.EncryptInit) pkcs11.RV {
	o := s.life.handles[c.Key]
	switch {
	case s.stream != nil:
		return pkcs11.CKR_OPERATION_ACTIVE
	case o == nil:
		return pkcs11.CKR_KEY_HANDLE_INVALID
	}
	s.stream = &stream{key: o.id.Fingerprint, salt: s.life.token.salt}
	return pkcs11.CKR_OK
}

func (s *session) EncryptUpdate(_ context.Context, c *wire.EncryptUpdate) pkcs11.RV {
	switch {
	case s.stream == nil:
		return pkcs11.CKR_OPERATION_NOT_INITIALIZED
	case c.EncryptedRoom.Null:
		c.Encrypted = wire.LengthOnly(uint64(len(c.Part.Data)))
		return pkcs11.CKR_OK
	case c.EncryptedRoom.Capacity < uint64(len(c.Part.Data)):
		c.Encrypted = wire.LengthOnly(uint64(len(c.Part.Data)))
		return pkcs11.CKR_BUFFER_TOO_SMALL
	}
	c.Encrypted = wire.Data(s.stream.next(c.Part.Data))
	return pkcs11.CKR_OK
}

func (s *session) EncryptFinal(_ context.Context, c *wire.EncryptFinal) pkcs11.RV {
	if s.stream == nil {
		return pkcs11.CKR_OPERATION_NOT_INITIALIZED
	}
	s.stream = nil
	c.Encrypted = wire.Data(nil)
	return pkcs11.CKR_OK
}

func (s *session) Encrypt(ctx context.Context, c *wire.Encrypt) pkcs11.RV {
	update := wire.EncryptUpdate{Part: c.Data, EncryptedRoom: c.EncryptedRoom}
	rv := s.EncryptUpdate(ctx, &update)
	if c.Encrypted = update.Encrypted; rv == pkcs11.CKR_OK && !c.Encrypted.Null {
		s.stream = nil
	}
	return rv
}
