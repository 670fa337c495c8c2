// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"

	"oneslot.dev/oneslot/group"
	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/wire"
)

// An output is where the result of a call goes.
type output struct {
	room wire.Room
	into *wire.Bytes
}

// single runs a single-part call: Init and call in one message to the member,
// and to another one if that fails (F4).
func (a *application) single(handle uint64, k kind, call wire.Call, input []byte, out *output) pkcs11.RV {
	s, op, rv := a.claim(handle, k)
	if rv != pkcs11.CKR_OK {
		return rv
	}
	return s.single(op, call, input, out)
}

// single is the call for an operation that was claimed.
func (s *session) single(op *operation, call wire.Call, input []byte, out *output) (rv pkcs11.RV) {
	if op.parts {
		// "cannot be used to terminate a multi-part operation" (2.40, 5.8.2 ff.)
		s.finish(op, false)
		return pkcs11.CKR_OPERATION_NOT_INITIALIZED
	}
	if out != nil {
		if answer, rv, ok := op.lengthAnswer(len(input), out.room); ok {
			*out.into = answer
			s.finish(op, true)
			return rv
		}
	}
	asksLength := out != nil && out.room.Null
	if op.hold != nil || asksLength || op.bound() {
		rv = s.perform(op, call, false)
	} else {
		rv = s.runOnce(op, call)
	}
	goesOn := rv == pkcs11.CKR_BUFFER_TOO_SMALL || rv == pkcs11.CKR_OK && asksLength
	if !goesOn && op.hold != nil {
		op.hold.Release(rv == pkcs11.CKR_OK || rv == pkcs11.CKR_SIGNATURE_INVALID)
		op.hold = nil
	}
	s.finish(op, goesOn)
	return rv
}

// runOnce is the hot path: one member, one round trip, a session of the pool.
func (s *session) runOnce(op *operation, call wire.Call) pkcs11.RV {
	rv, err := s.slot.group.Do(wire.Use, group.Balance, func(p *group.Place) (pkcs11.RV, error) {
		return op.withKey(p, func(key uint64) (pkcs11.RV, error) {
			init := op.init(key)
			n, err := p.Do(init, call)
			if err == nil && n == 1 {
				return init.Result(), nil
			}
			if err == nil && !s.slot.asBefore(op, init) {
				return unlike, nil
			}
			if err == nil {
				err = op.unlike(p, call)
			}
			return call.Result(), err
		})
	})
	return answerOf(s.slot.gone(err, rv, op.fit.or(pkcs11.CKR_KEY_HANDLE_INVALID)))
}

// Encrypt is C_Encrypt.
func (a *application) Encrypt(_ context.Context, c *wire.Encrypt) pkcs11.RV {
	return a.single(c.Session, encrypting, c, c.Data.Data, &output{c.EncryptedRoom, &c.Encrypted})
}

// Decrypt is C_Decrypt.
func (a *application) Decrypt(_ context.Context, c *wire.Decrypt) pkcs11.RV {
	return a.single(c.Session, decrypting, c, c.Encrypted.Data, &output{c.DataRoom, &c.Data})
}

// Digest is C_Digest.
func (a *application) Digest(_ context.Context, c *wire.Digest) pkcs11.RV {
	return a.single(c.Session, digesting, c, c.Data.Data, &output{c.DigestRoom, &c.Digest})
}

// Sign is C_Sign.
func (a *application) Sign(_ context.Context, c *wire.Sign) pkcs11.RV {
	return a.single(c.Session, signing, c, c.Data.Data, &output{c.SignatureRoom, &c.Signature})
}

// Verify is C_Verify.
func (a *application) Verify(_ context.Context, c *wire.Verify) pkcs11.RV {
	return a.single(c.Session, verifying, c, c.Data.Data, nil)
}

// SignRecover is C_SignRecover.
func (a *application) SignRecover(_ context.Context, c *wire.SignRecover) pkcs11.RV {
	return a.single(c.Session, signRecovering, c, c.Data.Data, &output{c.SignatureRoom, &c.Signature})
}

// VerifyRecover is C_VerifyRecover.
func (a *application) VerifyRecover(_ context.Context, c *wire.VerifyRecover) pkcs11.RV {
	return a.single(c.Session, verifyRecovering, c, c.Signature.Data, &output{c.DataRoom, &c.Data})
}
