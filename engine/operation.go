// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"crypto/sha256"
	"hash"

	"oneslot.dev/oneslot/config"
	"oneslot.dev/oneslot/group"
	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/wire"
)

// kind is a kind of operation. A session can have one of each active
// (PKCS#11 2.40, 5.1; searches are apart).
type kind int

const (
	encrypting kind = iota
	decrypting
	digesting
	signing
	verifying
	signRecovering
	verifyRecovering
	kinds
)

// function is what a mechanism must be for (a flag of CK_MECHANISM_INFO).
func (k kind) function() uint64 {
	return [...]uint64{
		encrypting: pkcs11.CKF_ENCRYPT, decrypting: pkcs11.CKF_DECRYPT, digesting: pkcs11.CKF_DIGEST,
		signing: pkcs11.CKF_SIGN, verifying: pkcs11.CKF_VERIFY,
		signRecovering: pkcs11.CKF_SIGN_RECOVER, verifyRecovering: pkcs11.CKF_VERIFY_RECOVER,
	}[k]
}

// An operation is one that an Init began. Its state is kept here, by the
// standard's rules; a member learns of it when it is needed.
type operation struct {
	by        wire.Call // the call that began it
	kind      kind
	mechanism pkcs11.Mechanism
	key       *object // nil for digests
	fit       *fit    // the members for this key; nil: all that have it

	// busy is set while a call of the operation is under way; a second one
	// then gets CKR_OPERATION_ACTIVE. Guarded by session.mu; what follows
	// belongs to the call that set it.
	busy bool

	// returned is the parameter as the application has it, if a token wrote
	// another one into it in the Init: an IV that it chose by itself.
	returned []byte

	hold  *group.Hold // the member session in which it is active; nil: in none
	parts bool        // an Update was made
	fed   []portion   // what was fed in, to do it again on another member (F4)
	kept  int         // bytes in fed
	full  bool        // more was fed in than is kept

	// What was put out already, to compare with what a repetition puts out.
	delivered     int
	deliveredHash hash.Hash
}

// A portion is input of a multi-part operation: data, or a key to digest.
type portion struct {
	data []byte
	key  *object
}

// A proof is something that worked once: a mechanism with a parameter for a kind
// of operation. Of the parameter of secret keys, which is mostly an
// initialisation vector, the length says whether it is acceptable.
type proof struct {
	mechanism pkcs11.MechanismType
	kind      kind
	parameter string
	length    int // -1: NULL
}

// maxProofs are kept of one key, for parameters that are new each time.
const maxProofs = 64

func (op *operation) proof(class uint64) proof {
	p := proof{mechanism: op.mechanism.Type, kind: op.kind, length: len(op.mechanism.Parameter)}
	if op.mechanism.Null {
		p.length = -1
	}
	if class != pkcs11.CKO_SECRET_KEY {
		p.parameter = string(op.mechanism.Parameter)
	}
	return p
}

// init is the call that begins the operation on a member.
func (op *operation) init(key uint64) wire.Call {
	switch op.kind {
	case encrypting:
		return &wire.EncryptInit{Mechanism: op.mechanism, Key: key}
	case decrypting:
		return &wire.DecryptInit{Mechanism: op.mechanism, Key: key}
	case digesting:
		return &wire.DigestInit{Mechanism: op.mechanism}
	case signing:
		return &wire.SignInit{Mechanism: op.mechanism, Key: key}
	case verifying:
		return &wire.VerifyInit{Mechanism: op.mechanism, Key: key}
	case signRecovering:
		return &wire.SignRecoverInit{Mechanism: op.mechanism, Key: key}
	default:
		return &wire.VerifyRecoverInit{Mechanism: op.mechanism, Key: key}
	}
}

// withKey runs use with the member's handle of the key, if there is a key.
func (op *operation) withKey(p *group.Place, use func(key uint64) (pkcs11.RV, error)) (pkcs11.RV, error) {
	if op.key == nil {
		return use(0)
	}
	if err := op.fit.on(p); err != nil {
		return 0, err
	}
	return op.key.onTried(p, use)
}

// bound says whether the operation must stay on the member it began on: one
// whose key wants a PIN for each use.
func (op *operation) bound() bool {
	return op.key != nil && op.key.identity().Flags&wire.AlwaysAuthenticate != 0
}

// abandon ends what a member has of the operation.
func (op *operation) abandon() {
	if op.hold != nil {
		op.hold.Release(false)
		op.hold = nil
	}
}

// begin is the Init of every kind of operation.
//
// The first use of a key with a mechanism goes to a member at once, so that
// what is wrong with it is said here, where PKCS#11 puts it. Later ones are
// sent together with the data.
func (a *application) begin(by wire.Call, handle uint64, k kind, m pkcs11.Mechanism, keyHandle uint64) pkcs11.RV {
	_, rv := a.beginOperation(by, handle, k, m, keyHandle)
	return rv
}

// beginOperation is begin for who wants to know of the operation; nil: there is none.
func (a *application) beginOperation(by wire.Call, handle uint64, k kind, m pkcs11.Mechanism, keyHandle uint64) (*operation, pkcs11.RV) {
	s, rv := a.session(handle)
	if rv != pkcs11.CKR_OK {
		return nil, rv
	}
	if m.Absent {
		return nil, s.cancelByInit(k)
	}
	op := &operation{by: by, kind: k, mechanism: m}
	op.mechanism.Parameter = append([]byte(nil), m.Parameter...)
	if k != digesting {
		if op.key = s.slot.object(keyHandle); op.key == nil {
			return nil, pkcs11.CKR_KEY_HANDLE_INVALID
		}
	}
	op.busy = true
	s.mu.Lock()
	switch {
	case s.closed:
		s.mu.Unlock()
		return nil, pkcs11.CKR_SESSION_HANDLE_INVALID
	case s.active[k] != nil:
		s.mu.Unlock()
		return nil, pkcs11.CKR_OPERATION_ACTIVE
	}
	s.active[k] = op
	s.mu.Unlock()
	if (k == signing || k == verifying) && group.IsECDSA(m.Type) {
		s.slot.group.Assure()
	}
	// Also of what worked before: a member that lacks it may have come since.
	if rv = s.slot.refuses(&m, k.function()); rv == pkcs11.CKR_OK {
		op.fit = s.slot.fit(&m, op.key)
		if !s.slot.isProven(op) {
			rv = s.prove(op)
		}
	}
	s.finish(op, rv == pkcs11.CKR_OK)
	return op, rv
}

// prove begins the operation on a member.
func (s *session) prove(op *operation) pkcs11.RV {
	rv, err := s.slot.group.Do(wire.Use, s.slot.choice(true), func(p *group.Place) (pkcs11.RV, error) {
		return op.withKey(p, func(key uint64) (pkcs11.RV, error) {
			h, err := p.Hold()
			if err != nil {
				return 0, err
			}
			init := op.init(key)
			if _, err := h.Do(init); err != nil {
				return 0, err
			}
			if init.Result() != pkcs11.CKR_OK {
				h.Release(false)
				return init.Result(), nil
			}
			op.hold, op.returned = h, returnedBy(init)
			return pkcs11.CKR_OK, nil
		})
	})
	if rv == pkcs11.CKR_OK && err == nil && op.returned == nil {
		s.slot.setProven(op)
	}
	return s.slot.gone(err, rv, op.fit.or(pkcs11.CKR_KEY_HANDLE_INVALID))
}

// returnedBy is a copy of what a token wrote into the parameter, nil if nothing.
func returnedBy(init wire.Call) []byte {
	if init, ok := init.(*wire.EncryptInit); ok && len(init.Returned.Data) > 0 {
		return append([]byte(nil), init.Returned.Data...)
	}
	return nil
}

// unlike is the answer of an attempt that began the operation anew and found
// that it cannot go on as it was: it put out something else, or has an IV that
// the application does not know. The member did nothing wrong.
const unlike = pkcs11.CKR_STATE_UNSAVEABLE

// asBefore says whether a token that began the operation anew wrote nothing
// else into the parameter than the application has.
func (sl *slot) asBefore(op *operation, init wire.Call) bool {
	if string(returnedBy(init)) == string(op.returned) {
		return true
	}
	sl.returning.Store(op.mechanism.Type, struct{}{}) // from now on its Init is not put off
	return false
}

// answerOf is the answer of the operation's attempts.
func answerOf(rv pkcs11.RV) pkcs11.RV {
	if rv == unlike {
		return pkcs11.CKR_DEVICE_ERROR
	}
	return rv
}

func (sl *slot) isProven(op *operation) bool {
	if _, ok := sl.returning.Load(op.mechanism.Type); ok && op.kind == encrypting {
		return false
	}
	if op.key == nil {
		_, ok := sl.proven.Load(op.proof(0))
		return ok
	}
	op.key.mu.Lock()
	defer op.key.mu.Unlock()
	_, ok := op.key.proven[op.proof(op.key.id.Class)]
	return ok && op.key.id.Flags&wire.AlwaysAuthenticate == 0
}

func (sl *slot) setProven(op *operation) {
	if op.key == nil {
		sl.proven.Store(op.proof(0), struct{}{})
		return
	}
	op.key.mu.Lock()
	defer op.key.mu.Unlock()
	if len(op.key.proven)%maxProofs == 0 {
		op.key.proven = make(map[proof]struct{})
	}
	op.key.proven[op.proof(op.key.id.Class)] = struct{}{}
}

// choice is how the slot's operations find their member (L1, L4).
func (sl *slot) choice(multipart bool) group.Choice {
	if multipart && sl.virtual != nil && sl.group.Options().Multipart == config.MultipartPrimary {
		return group.Primary
	}
	return group.Balance
}

// claim takes the session's operation of a kind for one call.
func (a *application) claim(handle uint64, k kind) (*session, *operation, pkcs11.RV) {
	return a.claimFor(handle, k, nil)
}

// claimFor is claim for the call that belongs to an Init. Another thread may have ended
// that operation and begun one with another key meanwhile: that is not taken.
func (a *application) claimFor(handle uint64, k kind, own *operation) (*session, *operation, pkcs11.RV) {
	s, rv := a.session(handle)
	if rv != pkcs11.CKR_OK {
		return nil, nil, rv
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	op := s.active[k]
	switch {
	case op == nil, own != nil && op != own:
		return nil, nil, pkcs11.CKR_OPERATION_NOT_INITIALIZED
	case op.busy:
		return nil, nil, pkcs11.CKR_OPERATION_ACTIVE
	}
	op.busy = true
	return s, op, pkcs11.CKR_OK
}

// finish ends a call of an operation, and the operation unless it goes on.
func (s *session) finish(op *operation, goesOn bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	op.busy = false
	if s.active[op.kind] != op { // the session was closed meanwhile
		op.abandon()
		return
	}
	if !goesOn {
		op.abandon()
		s.active[op.kind] = nil
	}
}

// feed keeps input for a repetition, as far as the limit allows (F4).
func (op *operation) feed(in portion, limit int) {
	op.parts = true
	if op.full {
		return
	}
	if op.kept+len(in.data) > limit {
		op.full, op.fed = true, nil
		return
	}
	op.kept += len(in.data)
	if n := len(op.fed); in.key == nil && n > 0 && op.fed[n-1].key == nil {
		op.fed[n-1].data = append(op.fed[n-1].data, in.data...)
		return
	}
	in.data = append([]byte(nil), in.data...)
	op.fed = append(op.fed, in)
}

// deliver notes output that the application gets.
func (op *operation) deliver(out []byte) {
	if op.deliveredHash == nil {
		op.deliveredHash = sha256.New()
	}
	op.deliveredHash.Write(out)
	op.delivered += len(out)
}

func (sl *slot) replayLimit() int {
	if sl.virtual != nil {
		return int(sl.group.Options().ReplayLimit)
	}
	return 0
}

// EncryptInit is C_EncryptInit.
func (a *application) EncryptInit(_ context.Context, c *wire.EncryptInit) pkcs11.RV {
	op, rv := a.beginOperation(c, c.Session, encrypting, c.Mechanism, c.Key)
	if op != nil && rv == pkcs11.CKR_OK {
		c.Returned = wire.Data(op.returned)
	}
	return rv
}

// DecryptInit is C_DecryptInit.
func (a *application) DecryptInit(_ context.Context, c *wire.DecryptInit) pkcs11.RV {
	return a.begin(c, c.Session, decrypting, c.Mechanism, c.Key)
}

// DigestInit is C_DigestInit.
func (a *application) DigestInit(_ context.Context, c *wire.DigestInit) pkcs11.RV {
	return a.begin(c, c.Session, digesting, c.Mechanism, 0)
}

// SignInit is C_SignInit.
func (a *application) SignInit(_ context.Context, c *wire.SignInit) pkcs11.RV {
	return a.begin(c, c.Session, signing, c.Mechanism, c.Key)
}

// VerifyInit is C_VerifyInit.
func (a *application) VerifyInit(_ context.Context, c *wire.VerifyInit) pkcs11.RV {
	return a.begin(c, c.Session, verifying, c.Mechanism, c.Key)
}

// SignRecoverInit is C_SignRecoverInit.
func (a *application) SignRecoverInit(_ context.Context, c *wire.SignRecoverInit) pkcs11.RV {
	return a.begin(c, c.Session, signRecovering, c.Mechanism, c.Key)
}

// VerifyRecoverInit is C_VerifyRecoverInit.
func (a *application) VerifyRecoverInit(_ context.Context, c *wire.VerifyRecoverInit) pkcs11.RV {
	return a.begin(c, c.Session, verifyRecovering, c.Mechanism, c.Key)
}
