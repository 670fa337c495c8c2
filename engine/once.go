// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"

	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/wire"
)

// The module puts off an Init that repeats the last one of its session, and sends
// it with the call that belongs to it (module/operation.h). Here they are two
// calls again; the second is made only if the first began an operation, and on that
// operation alone, so that it never works with another one, whatever other threads do on
// the session between the two.

// once is an Init and its call.
func (a *application) once(by wire.Call, session uint64, k kind, m pkcs11.Mechanism, key uint64, call wire.Call, input []byte, out *output) pkcs11.RV {
	op, rv := a.beginOperation(by, session, k, m, key)
	switch {
	case rv != pkcs11.CKR_OK:
		return rv
	case op == nil: // it ended one (3.0, 5.8.1)
		return pkcs11.CKR_OPERATION_NOT_INITIALIZED
	}
	s, op, rv := a.claimFor(session, k, op)
	if rv != pkcs11.CKR_OK {
		return rv
	}
	return s.single(op, call, input, out)
}

// SignOnce is C_SignInit and C_Sign.
func (a *application) SignOnce(_ context.Context, c *wire.SignOnce) pkcs11.RV {
	call := wire.Sign{Session: c.Session, Data: c.Data, SignatureRoom: c.SignatureRoom}
	rv := a.once(c, c.Session, signing, c.Mechanism, c.Key, &call, c.Data.Data, &output{c.SignatureRoom, &call.Signature})
	c.Signature = call.Signature
	return rv
}

// VerifyOnce is C_VerifyInit and C_Verify.
func (a *application) VerifyOnce(_ context.Context, c *wire.VerifyOnce) pkcs11.RV {
	call := wire.Verify{Session: c.Session, Data: c.Data, Signature: c.Signature}
	return a.once(c, c.Session, verifying, c.Mechanism, c.Key, &call, c.Data.Data, nil)
}

// EncryptOnce is C_EncryptInit and C_Encrypt, of a mechanism that returns nothing in its
// parameter.
func (a *application) EncryptOnce(_ context.Context, c *wire.EncryptOnce) pkcs11.RV {
	call := wire.Encrypt{Session: c.Session, Data: c.Data, EncryptedRoom: c.EncryptedRoom}
	rv := a.once(c, c.Session, encrypting, c.Mechanism, c.Key, &call, c.Data.Data, &output{c.EncryptedRoom, &call.Encrypted})
	c.Encrypted = call.Encrypted
	return rv
}

// DecryptOnce is C_DecryptInit and C_Decrypt.
func (a *application) DecryptOnce(_ context.Context, c *wire.DecryptOnce) pkcs11.RV {
	call := wire.Decrypt{Session: c.Session, Encrypted: c.Encrypted, DataRoom: c.DataRoom}
	rv := a.once(c, c.Session, decrypting, c.Mechanism, c.Key, &call, c.Encrypted.Data, &output{c.DataRoom, &call.Data})
	c.Data = call.Data
	return rv
}

// DigestOnce is C_DigestInit and C_Digest.
func (a *application) DigestOnce(_ context.Context, c *wire.DigestOnce) pkcs11.RV {
	call := wire.Digest{Session: c.Session, Data: c.Data, DigestRoom: c.DigestRoom}
	rv := a.once(c, c.Session, digesting, c.Mechanism, 0, &call, c.Data.Data, &output{c.DigestRoom, &call.Digest})
	c.Digest = call.Digest
	return rv
}
