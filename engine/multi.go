// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"

	"oneslot.dev/oneslot/group"
	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/wire"
)

// perform runs a call in the member session that the operation is active in. If
// there is none, or it is lost, the operation is begun on another member and
// fed again what it was fed before (L4, F4).
func (s *session) perform(op *operation, call wire.Call, multipart bool) pkcs11.RV {
	return s.performOn(op, call, multipart, aim(nil).at)
}

// performOn is perform for a call that works with objects of its own, whose handles at
// sets to those of the member that is to run it. If that is another one than the operation
// is on, it moves.
func (s *session) performOn(op *operation, call wire.Call, multipart bool, at func(*group.Place) (pkcs11.RV, error)) pkcs11.RV {
	var lost error
	if op.hold != nil {
		rv, err := at(op.hold.Place())
		switch {
		case err == nil && rv != pkcs11.CKR_OK:
			return rv
		case err == nil:
			_, lost = op.hold.Do(call)
		case errors.Is(err, group.ErrElsewhere) && op.full:
			return s.slot.gone(err, rv, pkcs11.CKR_KEY_HANDLE_INVALID)
		case errors.Is(err, group.ErrElsewhere):
		default:
			lost = err
		}
		if err == nil && lost == nil {
			if lost = op.unlike(op.hold.Place(), call); lost == nil {
				return call.Result()
			}
			op.hold.Place().Expel(lost)
		}
		op.abandon()
		if op.full || op.bound() {
			return pkcs11.CKR_DEVICE_ERROR
		}
	}
	rv, err := s.slot.group.DoAfter(lost, wire.Use, s.slot.choice(multipart), func(p *group.Place) (pkcs11.RV, error) {
		return op.withKey(p, func(key uint64) (pkcs11.RV, error) {
			if rv, err := at(p); err != nil || rv != pkcs11.CKR_OK {
				return rv, err
			}
			h, err := p.Hold()
			if err != nil {
				return 0, err
			}
			rv, err := s.slot.repeat(op, p, h, key, call)
			if err == nil && op.hold != h {
				h.Release(false)
			}
			return rv, err
		})
	})
	return answerOf(s.slot.gone(err, rv, op.fit.or(pkcs11.CKR_KEY_HANDLE_INVALID)))
}

// repeat begins the operation in a fresh member session, feeds it what was fed
// before and runs the call. The session is the operation's if all went well,
// or if the call is one that the operation outlives.
func (s *slot) repeat(op *operation, p *group.Place, h *group.Hold, key uint64, call wire.Call) (pkcs11.RV, error) {
	calls := []wire.Call{op.init(key)}
	for _, in := range op.fed {
		update, rv, err := op.update(p, in)
		if err != nil || rv != pkcs11.CKR_OK {
			return rv, err
		}
		calls = append(calls, update)
	}
	calls = append(calls, call)
	n, err := h.Do(calls...)
	if err != nil {
		return 0, err
	}
	if n < len(calls) {
		return calls[n-1].Result(), nil
	}
	if !s.asBefore(op, calls[0]) || !op.sameOutput(calls[1:n-1]) {
		return unlike, nil
	}
	if err := op.unlike(p, call); err != nil {
		return 0, err
	}
	op.hold = h
	return call.Result(), nil
}

// update is the call that feeds a portion.
func (op *operation) update(p *group.Place, in portion) (wire.Call, pkcs11.RV, error) {
	room := wire.Room{Capacity: uint64(len(in.data)) + 1024}
	switch {
	case in.key != nil:
		key, rv, err := in.key.on(p)
		return &wire.DigestKey{Key: key}, rv, err
	case op.kind == encrypting:
		return &wire.EncryptUpdate{Part: wire.Data(in.data), EncryptedRoom: room}, 0, nil
	case op.kind == decrypting:
		return &wire.DecryptUpdate{Encrypted: wire.Data(in.data), PartRoom: room}, 0, nil
	case op.kind == digesting:
		return &wire.DigestUpdate{Part: wire.Data(in.data)}, 0, nil
	case op.kind == signing:
		return &wire.SignUpdate{Part: wire.Data(in.data)}, 0, nil
	}
	return &wire.VerifyUpdate{Part: wire.Data(in.data)}, 0, nil
}

// sameOutput compares what a repetition put out with what the application got.
// Anything else would join the halves of two different results.
func (op *operation) sameOutput(updates []wire.Call) bool {
	h, n := sha256.New(), 0
	for _, u := range updates {
		var out []byte
		switch u := u.(type) {
		case *wire.EncryptUpdate:
			out = u.Encrypted.Data
		case *wire.DecryptUpdate:
			out = u.Part.Data
		}
		h.Write(out)
		n += len(out)
	}
	if op.deliveredHash == nil {
		return n == 0
	}
	return n == op.delivered && bytes.Equal(h.Sum(nil), op.deliveredHash.Sum(nil))
}

// part runs an Update.
func (a *application) part(handle uint64, k kind, call wire.Call, in portion, out *output) pkcs11.RV {
	s, op, rv := a.claim(handle, k)
	if rv != pkcs11.CKR_OK {
		return rv
	}
	rv = s.perform(op, call, true)
	consumed := rv == pkcs11.CKR_OK && (out == nil || !out.room.Null)
	if consumed {
		op.feed(in, s.slot.replayLimit())
		if out != nil {
			op.deliver(out.into.Data)
		}
	}
	s.finish(op, rv == pkcs11.CKR_OK || rv == pkcs11.CKR_BUFFER_TOO_SMALL)
	return rv
}

// last runs a Final.
func (a *application) last(handle uint64, k kind, call wire.Call, out *output) pkcs11.RV {
	s, op, rv := a.claim(handle, k)
	if rv != pkcs11.CKR_OK {
		return rv
	}
	if out != nil && (k == signing || k == digesting) {
		if answer, rv, ok := op.lengthAnswer(0, out.room); ok {
			*out.into = answer
			s.finish(op, true)
			return rv
		}
	}
	rv = s.perform(op, call, true)
	goesOn := rv == pkcs11.CKR_BUFFER_TOO_SMALL || rv == pkcs11.CKR_OK && out != nil && out.room.Null
	if !goesOn && op.hold != nil {
		op.hold.Release(rv == pkcs11.CKR_OK || rv == pkcs11.CKR_SIGNATURE_INVALID)
		op.hold = nil
	}
	s.finish(op, goesOn)
	return rv
}

// EncryptUpdate is C_EncryptUpdate.
func (a *application) EncryptUpdate(_ context.Context, c *wire.EncryptUpdate) pkcs11.RV {
	return a.part(c.Session, encrypting, c, portion{data: c.Part.Data}, &output{c.EncryptedRoom, &c.Encrypted})
}

// EncryptFinal is C_EncryptFinal.
func (a *application) EncryptFinal(_ context.Context, c *wire.EncryptFinal) pkcs11.RV {
	return a.last(c.Session, encrypting, c, &output{c.EncryptedRoom, &c.Encrypted})
}

// DecryptUpdate is C_DecryptUpdate.
func (a *application) DecryptUpdate(_ context.Context, c *wire.DecryptUpdate) pkcs11.RV {
	return a.part(c.Session, decrypting, c, portion{data: c.Encrypted.Data}, &output{c.PartRoom, &c.Part})
}

// DecryptFinal is C_DecryptFinal.
func (a *application) DecryptFinal(_ context.Context, c *wire.DecryptFinal) pkcs11.RV {
	return a.last(c.Session, decrypting, c, &output{c.PartRoom, &c.Part})
}

// DigestUpdate is C_DigestUpdate.
func (a *application) DigestUpdate(_ context.Context, c *wire.DigestUpdate) pkcs11.RV {
	return a.part(c.Session, digesting, c, portion{data: c.Part.Data}, nil)
}

// DigestKey is C_DigestKey.
func (a *application) DigestKey(_ context.Context, c *wire.DigestKey) pkcs11.RV {
	s, op, rv := a.claim(c.Session, digesting)
	if rv != pkcs11.CKR_OK {
		return rv
	}
	o := s.slot.object(c.Key)
	if o == nil {
		s.finish(op, true)
		return pkcs11.CKR_KEY_HANDLE_INVALID
	}
	rv = s.digestKey(op, o)
	s.finish(op, rv == pkcs11.CKR_OK)
	return rv
}

// digestKey feeds a key. The operation moves to a member that has it, where need be.
func (s *session) digestKey(op *operation, o *object) pkcs11.RV {
	call := wire.DigestKey{}
	uses := aim{{o, &call.Key}}
	for again := false; ; again = true {
		var at *group.Place
		rv := s.performOn(op, &call, true, func(p *group.Place) (pkcs11.RV, error) {
			at = p
			return uses.at(p)
		})
		if rv == pkcs11.CKR_OK {
			op.feed(portion{key: o}, s.slot.replayLimit())
		}
		if again || op.full || at == nil || !uses.stale(at, rv) {
			return rv
		}
		op.abandon() // after an error it is over there
	}
}

// DigestFinal is C_DigestFinal.
func (a *application) DigestFinal(_ context.Context, c *wire.DigestFinal) pkcs11.RV {
	return a.last(c.Session, digesting, c, &output{c.DigestRoom, &c.Digest})
}

// SignUpdate is C_SignUpdate.
func (a *application) SignUpdate(_ context.Context, c *wire.SignUpdate) pkcs11.RV {
	return a.part(c.Session, signing, c, portion{data: c.Part.Data}, nil)
}

// SignFinal is C_SignFinal.
func (a *application) SignFinal(_ context.Context, c *wire.SignFinal) pkcs11.RV {
	return a.last(c.Session, signing, c, &output{c.SignatureRoom, &c.Signature})
}

// VerifyUpdate is C_VerifyUpdate.
func (a *application) VerifyUpdate(_ context.Context, c *wire.VerifyUpdate) pkcs11.RV {
	return a.part(c.Session, verifying, c, portion{data: c.Part.Data}, nil)
}

// VerifyFinal is C_VerifyFinal.
func (a *application) VerifyFinal(_ context.Context, c *wire.VerifyFinal) pkcs11.RV {
	return a.last(c.Session, verifying, c, nil)
}
