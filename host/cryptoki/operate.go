// SPDX-License-Identifier: Apache-2.0

package cryptoki

// #include "shim.h"
import "C"

import (
	"context"

	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/wire"
)

// start runs a function that begins an operation.
func (s *Session) start(f C.fn_init, m pkcs11.Mechanism, key uint64) pkcs11.RV {
	pace()
	s.arena.reset()
	mechanism, rv := s.mechanism(m)
	if rv != pkcs11.CKR_OK {
		return rv
	}
	return pkcs11.RV(C.oneslot_init(f, s.handle, mechanism, C.CK_OBJECT_HANDLE(key)))
}

// feed runs a function that takes a byte string.
func (s *Session) feed(f C.fn_in, b wire.Bytes) pkcs11.RV {
	pace()
	in, n, ok := input(b)
	if !ok {
		return pkcs11.CKR_ARGUMENTS_BAD
	}
	return pkcs11.RV(C.oneslot_in(f, s.handle, in, n))
}

// through runs a function that turns a byte string into another.
func (s *Session) through(f C.fn_in_out, b wire.Bytes, room wire.Room) (wire.Bytes, pkcs11.RV) {
	pace()
	in, n, ok := input(b)
	if !ok {
		return wire.Bytes{}, pkcs11.CKR_ARGUMENTS_BAD
	}
	return s.output(room, int(n), func(out *C.CK_BYTE) C.CK_RV {
		return C.oneslot_in_out(f, s.handle, in, n, out, s.length)
	})
}

// finish runs a function that only gives out.
func (s *Session) finish(f C.fn_out, room wire.Room) (wire.Bytes, pkcs11.RV) {
	pace()
	return s.output(room, 0, func(out *C.CK_BYTE) C.CK_RV {
		return C.oneslot_out(f, s.handle, out, s.length)
	})
}

// EncryptInit answers the call.
func (s *Session) EncryptInit(_ context.Context, c *wire.EncryptInit) pkcs11.RV {
	rv := s.start(C.fn_init(s.module.list.C_EncryptInit), c.Mechanism, c.Key)
	c.Returned = s.returned(rv)
	return rv
}

// DecryptInit answers the call.
func (s *Session) DecryptInit(_ context.Context, c *wire.DecryptInit) pkcs11.RV {
	return s.start(C.fn_init(s.module.list.C_DecryptInit), c.Mechanism, c.Key)
}

// SignInit answers the call.
func (s *Session) SignInit(_ context.Context, c *wire.SignInit) pkcs11.RV {
	return s.start(C.fn_init(s.module.list.C_SignInit), c.Mechanism, c.Key)
}

// SignRecoverInit answers the call.
func (s *Session) SignRecoverInit(_ context.Context, c *wire.SignRecoverInit) pkcs11.RV {
	return s.start(C.fn_init(s.module.list.C_SignRecoverInit), c.Mechanism, c.Key)
}

// VerifyInit answers the call.
func (s *Session) VerifyInit(_ context.Context, c *wire.VerifyInit) pkcs11.RV {
	return s.start(C.fn_init(s.module.list.C_VerifyInit), c.Mechanism, c.Key)
}

// VerifyRecoverInit answers the call.
func (s *Session) VerifyRecoverInit(_ context.Context, c *wire.VerifyRecoverInit) pkcs11.RV {
	return s.start(C.fn_init(s.module.list.C_VerifyRecoverInit), c.Mechanism, c.Key)
}

// Encrypt answers the call.
func (s *Session) Encrypt(_ context.Context, c *wire.Encrypt) (rv pkcs11.RV) {
	c.Encrypted, rv = s.through(C.fn_in_out(s.module.list.C_Encrypt), c.Data, c.EncryptedRoom)
	return s.late(rv)
}

// EncryptUpdate answers the call.
func (s *Session) EncryptUpdate(_ context.Context, c *wire.EncryptUpdate) (rv pkcs11.RV) {
	c.Encrypted, rv = s.through(C.fn_in_out(s.module.list.C_EncryptUpdate), c.Part, c.EncryptedRoom)
	return s.late(rv)
}

// Decrypt answers the call.
func (s *Session) Decrypt(_ context.Context, c *wire.Decrypt) (rv pkcs11.RV) {
	c.Data, rv = s.through(C.fn_in_out(s.module.list.C_Decrypt), c.Encrypted, c.DataRoom)
	return rv
}

// DecryptUpdate answers the call.
func (s *Session) DecryptUpdate(_ context.Context, c *wire.DecryptUpdate) (rv pkcs11.RV) {
	c.Part, rv = s.through(C.fn_in_out(s.module.list.C_DecryptUpdate), c.Encrypted, c.PartRoom)
	return rv
}

// Digest answers the call.
func (s *Session) Digest(_ context.Context, c *wire.Digest) (rv pkcs11.RV) {
	c.Digest, rv = s.through(C.fn_in_out(s.module.list.C_Digest), c.Data, c.DigestRoom)
	return rv
}

// Sign answers the call.
func (s *Session) Sign(_ context.Context, c *wire.Sign) (rv pkcs11.RV) {
	c.Signature, rv = s.through(C.fn_in_out(s.module.list.C_Sign), c.Data, c.SignatureRoom)
	return rv
}

// SignRecover answers the call.
func (s *Session) SignRecover(_ context.Context, c *wire.SignRecover) (rv pkcs11.RV) {
	c.Signature, rv = s.through(C.fn_in_out(s.module.list.C_SignRecover), c.Data, c.SignatureRoom)
	return rv
}

// VerifyRecover answers the call.
func (s *Session) VerifyRecover(_ context.Context, c *wire.VerifyRecover) (rv pkcs11.RV) {
	c.Data, rv = s.through(C.fn_in_out(s.module.list.C_VerifyRecover), c.Signature, c.DataRoom)
	return rv
}

// DigestEncryptUpdate answers the call.
func (s *Session) DigestEncryptUpdate(_ context.Context, c *wire.DigestEncryptUpdate) (rv pkcs11.RV) {
	c.Encrypted, rv = s.through(C.fn_in_out(s.module.list.C_DigestEncryptUpdate), c.Part, c.EncryptedRoom)
	return rv
}

// DecryptDigestUpdate answers the call.
func (s *Session) DecryptDigestUpdate(_ context.Context, c *wire.DecryptDigestUpdate) (rv pkcs11.RV) {
	c.Part, rv = s.through(C.fn_in_out(s.module.list.C_DecryptDigestUpdate), c.Encrypted, c.PartRoom)
	return rv
}

// SignEncryptUpdate answers the call.
func (s *Session) SignEncryptUpdate(_ context.Context, c *wire.SignEncryptUpdate) (rv pkcs11.RV) {
	c.Encrypted, rv = s.through(C.fn_in_out(s.module.list.C_SignEncryptUpdate), c.Part, c.EncryptedRoom)
	return rv
}

// DecryptVerifyUpdate answers the call.
func (s *Session) DecryptVerifyUpdate(_ context.Context, c *wire.DecryptVerifyUpdate) (rv pkcs11.RV) {
	c.Part, rv = s.through(C.fn_in_out(s.module.list.C_DecryptVerifyUpdate), c.Encrypted, c.PartRoom)
	return rv
}

// EncryptFinal answers the call.
func (s *Session) EncryptFinal(_ context.Context, c *wire.EncryptFinal) (rv pkcs11.RV) {
	c.Encrypted, rv = s.finish(C.fn_out(s.module.list.C_EncryptFinal), c.EncryptedRoom)
	return s.late(rv)
}

// DecryptFinal answers the call.
func (s *Session) DecryptFinal(_ context.Context, c *wire.DecryptFinal) (rv pkcs11.RV) {
	c.Part, rv = s.finish(C.fn_out(s.module.list.C_DecryptFinal), c.PartRoom)
	return rv
}

// DigestFinal answers the call.
func (s *Session) DigestFinal(_ context.Context, c *wire.DigestFinal) (rv pkcs11.RV) {
	c.Digest, rv = s.finish(C.fn_out(s.module.list.C_DigestFinal), c.DigestRoom)
	return rv
}

// SignFinal answers the call.
func (s *Session) SignFinal(_ context.Context, c *wire.SignFinal) (rv pkcs11.RV) {
	c.Signature, rv = s.finish(C.fn_out(s.module.list.C_SignFinal), c.SignatureRoom)
	return rv
}

// GetOperationState answers the call.
func (s *Session) GetOperationState(_ context.Context, c *wire.GetOperationState) (rv pkcs11.RV) {
	c.State, rv = s.finish(C.fn_out(s.module.list.C_GetOperationState), c.StateRoom)
	return rv
}

// DigestUpdate answers the call.
func (s *Session) DigestUpdate(_ context.Context, c *wire.DigestUpdate) pkcs11.RV {
	return s.feed(C.fn_in(s.module.list.C_DigestUpdate), c.Part)
}

// SignUpdate answers the call.
func (s *Session) SignUpdate(_ context.Context, c *wire.SignUpdate) pkcs11.RV {
	return s.feed(C.fn_in(s.module.list.C_SignUpdate), c.Part)
}

// VerifyUpdate answers the call.
func (s *Session) VerifyUpdate(_ context.Context, c *wire.VerifyUpdate) pkcs11.RV {
	return s.feed(C.fn_in(s.module.list.C_VerifyUpdate), c.Part)
}

// VerifyFinal answers the call.
func (s *Session) VerifyFinal(_ context.Context, c *wire.VerifyFinal) pkcs11.RV {
	return s.feed(C.fn_in(s.module.list.C_VerifyFinal), c.Signature)
}

// SeedRandom answers the call.
func (s *Session) SeedRandom(_ context.Context, c *wire.SeedRandom) pkcs11.RV {
	return s.feed(C.fn_in(s.module.list.C_SeedRandom), c.Seed)
}

// DigestInit answers the call.
func (s *Session) DigestInit(_ context.Context, c *wire.DigestInit) pkcs11.RV {
	s.arena.reset()
	mechanism, rv := s.mechanism(c.Mechanism)
	if rv != pkcs11.CKR_OK {
		return rv
	}
	return pkcs11.RV(C.oneslot_digest_init(s.module.list, s.handle, mechanism))
}

// DigestKey answers the call.
func (s *Session) DigestKey(_ context.Context, c *wire.DigestKey) pkcs11.RV {
	return pkcs11.RV(C.oneslot_object(C.fn_object(s.module.list.C_DigestKey), s.handle, C.CK_OBJECT_HANDLE(c.Key)))
}

// Verify answers the call.
func (s *Session) Verify(_ context.Context, c *wire.Verify) pkcs11.RV {
	data, n, ok := input(c.Data)
	signature, m, fine := input(c.Signature)
	if !ok || !fine {
		return pkcs11.CKR_ARGUMENTS_BAD
	}
	return pkcs11.RV(C.oneslot_in_in(C.fn_in_in(s.module.list.C_Verify), s.handle, data, n, signature, m))
}

// SetOperationState answers the call.
func (s *Session) SetOperationState(_ context.Context, c *wire.SetOperationState) pkcs11.RV {
	state, n, ok := input(c.State)
	if !ok {
		return pkcs11.CKR_ARGUMENTS_BAD
	}
	return pkcs11.RV(C.oneslot_set_state(s.module.list, s.handle, state, n,
		C.CK_OBJECT_HANDLE(c.Encryption), C.CK_OBJECT_HANDLE(c.Authentication)))
}

// GenerateRandom answers the call.
func (s *Session) GenerateRandom(_ context.Context, c *wire.GenerateRandom) pkcs11.RV {
	if c.RandomRoom.Null || c.RandomRoom.Capacity > wire.MaxFrame {
		return pkcs11.CKR_ARGUMENTS_BAD
	}
	random := make([]byte, c.RandomRoom.Capacity)
	c.Random = wire.Data(random)
	return pkcs11.RV(C.oneslot_in(C.fn_in(s.module.list.C_GenerateRandom), s.handle, bytePointer(random), C.CK_ULONG(len(random))))
}
