// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"

	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/wire"
)

// The dual-function calls (PKCS#11 2.40, 5.12) are two operations fed with one
// input. Here each has a member session of its own, so it needs no member that
// can do both at once, and each moves by itself when its member fails.

// both checks that two operations are active before either is fed.
func (a *application) both(handle uint64, first, second kind) pkcs11.RV {
	s, rv := a.session(handle)
	if rv != pkcs11.CKR_OK {
		return rv
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.active[first] == nil || s.active[second] == nil {
		return pkcs11.CKR_OPERATION_NOT_INITIALIZED
	}
	return pkcs11.CKR_OK
}

// DigestEncryptUpdate is C_DigestEncryptUpdate.
func (a *application) DigestEncryptUpdate(ctx context.Context, c *wire.DigestEncryptUpdate) pkcs11.RV {
	if rv := a.both(c.Session, digesting, encrypting); rv != pkcs11.CKR_OK {
		return rv
	}
	encrypt := wire.EncryptUpdate{Session: c.Session, Part: c.Part, EncryptedRoom: c.EncryptedRoom}
	rv := a.EncryptUpdate(ctx, &encrypt)
	c.Encrypted = encrypt.Encrypted
	if rv != pkcs11.CKR_OK || c.EncryptedRoom.Null {
		return rv
	}
	return a.DigestUpdate(ctx, &wire.DigestUpdate{Session: c.Session, Part: c.Part})
}

// DecryptDigestUpdate is C_DecryptDigestUpdate.
func (a *application) DecryptDigestUpdate(ctx context.Context, c *wire.DecryptDigestUpdate) pkcs11.RV {
	if rv := a.both(c.Session, decrypting, digesting); rv != pkcs11.CKR_OK {
		return rv
	}
	decrypt := wire.DecryptUpdate{Session: c.Session, Encrypted: c.Encrypted, PartRoom: c.PartRoom}
	rv := a.DecryptUpdate(ctx, &decrypt)
	c.Part = decrypt.Part
	if rv != pkcs11.CKR_OK || c.PartRoom.Null {
		return rv
	}
	return a.DigestUpdate(ctx, &wire.DigestUpdate{Session: c.Session, Part: decrypt.Part})
}

// SignEncryptUpdate is C_SignEncryptUpdate.
func (a *application) SignEncryptUpdate(ctx context.Context, c *wire.SignEncryptUpdate) pkcs11.RV {
	if rv := a.both(c.Session, signing, encrypting); rv != pkcs11.CKR_OK {
		return rv
	}
	encrypt := wire.EncryptUpdate{Session: c.Session, Part: c.Part, EncryptedRoom: c.EncryptedRoom}
	rv := a.EncryptUpdate(ctx, &encrypt)
	c.Encrypted = encrypt.Encrypted
	if rv != pkcs11.CKR_OK || c.EncryptedRoom.Null {
		return rv
	}
	return a.SignUpdate(ctx, &wire.SignUpdate{Session: c.Session, Part: c.Part})
}

// DecryptVerifyUpdate is C_DecryptVerifyUpdate.
func (a *application) DecryptVerifyUpdate(ctx context.Context, c *wire.DecryptVerifyUpdate) pkcs11.RV {
	if rv := a.both(c.Session, decrypting, verifying); rv != pkcs11.CKR_OK {
		return rv
	}
	decrypt := wire.DecryptUpdate{Session: c.Session, Encrypted: c.Encrypted, PartRoom: c.PartRoom}
	rv := a.DecryptUpdate(ctx, &decrypt)
	c.Part = decrypt.Part
	if rv != pkcs11.CKR_OK || c.PartRoom.Null {
		return rv
	}
	return a.VerifyUpdate(ctx, &wire.VerifyUpdate{Session: c.Session, Part: decrypt.Part})
}

// GetOperationState is C_GetOperationState. What a member would save only that
// member could restore, so nothing is saved (field-J6).
func (a *application) GetOperationState(_ context.Context, c *wire.GetOperationState) pkcs11.RV {
	s, rv := a.session(c.Session)
	if rv != pkcs11.CKR_OK {
		return rv
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, op := range s.active {
		if op != nil {
			return pkcs11.CKR_STATE_UNSAVEABLE
		}
	}
	return pkcs11.CKR_OPERATION_NOT_INITIALIZED
}

// SetOperationState is C_SetOperationState. No state was ever saved.
func (a *application) SetOperationState(_ context.Context, c *wire.SetOperationState) pkcs11.RV {
	if _, rv := a.session(c.Session); rv != pkcs11.CKR_OK {
		return rv
	}
	return pkcs11.CKR_SAVED_STATE_INVALID
}
