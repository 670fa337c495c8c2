// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"

	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/wire"
)

// The module puts off an Init that repeats the last one of its session, and sends
// it with the call that belongs to it (module/operation.h). Here they are two
// calls again; the second is made only if the first began an operation, so that
// it never works with another one.

// SignOnce is C_SignInit and C_Sign.
func (a *application) SignOnce(ctx context.Context, c *wire.SignOnce) pkcs11.RV {
	if rv := a.begin(c.Session, signing, c.Mechanism, c.Key); rv != pkcs11.CKR_OK {
		return rv
	}
	call := wire.Sign{Session: c.Session, Data: c.Data, SignatureRoom: c.SignatureRoom}
	rv := a.Sign(ctx, &call)
	c.Signature = call.Signature
	return rv
}

// VerifyOnce is C_VerifyInit and C_Verify.
func (a *application) VerifyOnce(ctx context.Context, c *wire.VerifyOnce) pkcs11.RV {
	if rv := a.begin(c.Session, verifying, c.Mechanism, c.Key); rv != pkcs11.CKR_OK {
		return rv
	}
	return a.Verify(ctx, &wire.Verify{Session: c.Session, Data: c.Data, Signature: c.Signature})
}

// DecryptOnce is C_DecryptInit and C_Decrypt.
func (a *application) DecryptOnce(ctx context.Context, c *wire.DecryptOnce) pkcs11.RV {
	if rv := a.begin(c.Session, decrypting, c.Mechanism, c.Key); rv != pkcs11.CKR_OK {
		return rv
	}
	call := wire.Decrypt{Session: c.Session, Encrypted: c.Encrypted, DataRoom: c.DataRoom}
	rv := a.Decrypt(ctx, &call)
	c.Data = call.Data
	return rv
}

// DigestOnce is C_DigestInit and C_Digest.
func (a *application) DigestOnce(ctx context.Context, c *wire.DigestOnce) pkcs11.RV {
	if rv := a.begin(c.Session, digesting, c.Mechanism, 0); rv != pkcs11.CKR_OK {
		return rv
	}
	call := wire.Digest{Session: c.Session, Data: c.Data, DigestRoom: c.DigestRoom}
	rv := a.Digest(ctx, &call)
	c.Digest = call.Digest
	return rv
}
