// SPDX-License-Identifier: Apache-2.0

package group

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"

	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/wire"
)

// A proof shows by use that the copies of a key are the same key: what one
// member signs with its copy the public key on another verifies, what one
// encrypts another decrypts, and secret keys make the same code of the same
// text. What is signed says what it is, so that it is of no use to anybody.

// A SurveyProof is what came of the proof for one key.
type SurveyProof struct {
	Verdict string `json:"verdict"` // Proved, Refuted or Unproved
	How     string `json:"how"`     // what was done, or why it was not
}

// The verdicts.
const (
	Proved   = "proved"     // each copy was used and is the same key
	Refuted  = "refuted"    // a copy is another key than it says
	Unproved = "not proved" // its copies may not be used so
)

// different is what to make of a proof that fails.
const different = "they hold different keys under one identity; take one of the members out of the group until it is known which is right"

func proved(format string, args ...any) *SurveyProof {
	return &SurveyProof{Proved, fmt.Sprintf(format, args...)}
}

func unproved(format string, args ...any) *SurveyProof {
	return &SurveyProof{Unproved, fmt.Sprintf(format, args...)}
}

func refuted(format string, args ...any) *SurveyProof {
	return &SurveyProof{Refuted, fmt.Sprintf(format, args...)}
}

// challenge is a text that no application has a use for when it is signed.
func challenge() []byte {
	return append([]byte("oneslot: a proof that copies of a key are the same; "), rand.Text()...)
}

// A trial is a way to use a key for a proof.
type trial struct {
	mechanism pkcs11.MechanismType
	parameter []byte
	input     func(text []byte) []byte
	same      bool // the output depends on key and input alone
}

func plain(text []byte) []byte { return text }

func hashed(text []byte) []byte {
	sum := sha256.Sum256(text)
	return sum[:]
}

// digestInfo is the DER of a SHA-256 digest as PKCS#1 has it (RFC 8017, 9.2).
func digestInfo(text []byte) []byte {
	return append([]byte("\x30\x31\x30\x0d\x06\x09\x60\x86\x48\x01\x65\x03\x04\x02\x01\x05\x00\x04\x20"), hashed(text)...)
}

// pssParameter are SHA-256, MGF1 with SHA-256 and 32 bytes of salt
// (CK_RSA_PKCS_PSS_PARAMS).
var pssParameter = slices.Concat(ulongBytes(0x250), ulongBytes(2), ulongBytes(32))

func ulongBytes(n uint64) []byte { return pkcs11.Ulong(0, n).Value }

// signing are ways to sign, by the type of the key, the first that works is
// taken.
func signing(keyType uint64) []trial {
	switch keyType {
	case pkcs11.CKK_RSA:
		return []trial{
			{mechanism: pkcs11.CKM_SHA256_RSA_PKCS, input: plain, same: true},
			{mechanism: pkcs11.CKM_RSA_PKCS, input: digestInfo, same: true},
			{mechanism: pkcs11.CKM_SHA256_RSA_PKCS_PSS, parameter: pssParameter, input: plain},
		}
	case pkcs11.CKK_EC:
		return []trial{{mechanism: pkcs11.CKM_ECDSA, input: hashed}, {mechanism: pkcs11.CKM_ECDSA_SHA256, input: plain}}
	case pkcs11.CKK_EC_EDWARDS:
		return []trial{{mechanism: pkcs11.CKM_EDDSA, input: plain, same: true}}
	case pkcs11.CKK_AES:
		return []trial{{mechanism: pkcs11.CKM_AES_CMAC, input: plain, same: true}, {mechanism: pkcs11.CKM_SHA256_HMAC, input: plain, same: true}}
	}
	return []trial{{mechanism: pkcs11.CKM_SHA256_HMAC, input: plain, same: true}}
}

// prove uses the copies of a private or secret key. publics are all public keys
// of the members. The error is that of a member that failed.
func (g *Group) prove(copies, publics []holding) (*SurveyProof, error) {
	id := copies[0].id
	switch {
	case id.Class != pkcs11.CKO_PRIVATE_KEY && id.Class != pkcs11.CKO_SECRET_KEY:
		return nil, nil // what can be read was compared
	case len(copies) < 2:
		return nil, nil
	case id.Flags&wire.AlwaysAuthenticate != 0:
		return unproved("each use of the key needs a login of its own"), nil
	}
	if id.Class == pkcs11.CKO_SECRET_KEY {
		return g.proveSecret(copies)
	}
	return g.provePrivate(copies, publics)
}

// proveSecret has each copy make a code of the same text.
func (g *Group) proveSecret(copies []holding) (*SurveyProof, error) {
	text := challenge()
	var last pkcs11.RV
	for _, t := range signing(copies[0].id.KeyType) {
		codes, rv, broken, err := g.onEach(copies, func(c holding) ([]byte, pkcs11.RV, error) { return g.sign(c, t, text) })
		if err != nil || broken != nil {
			return broken, err
		}
		if last = rv; rv == pkcs11.CKR_OK {
			return equalOutputs(copies, codes, "make the same "+t.mechanism.String()), nil
		}
	}
	block := hashed(text)[:16]
	if copies[0].id.KeyType == pkcs11.CKK_AES {
		codes, rv, broken, err := g.onEach(copies, func(c holding) ([]byte, pkcs11.RV, error) { return g.encrypt(c, pkcs11.CKM_AES_ECB, block) })
		if err != nil || broken != nil {
			return broken, err
		}
		if last = rv; rv == pkcs11.CKR_OK {
			return equalOutputs(copies, codes, "encrypt a block to the same"), nil
		}
	}
	return unproved("the key may neither sign nor encrypt (%v); its wrapped forms are the same", last), nil
}

// onEach runs something on each copy, until one refuses. One that fails at what
// another can do is broken.
func (g *Group) onEach(copies []holding, run func(holding) ([]byte, pkcs11.RV, error)) (out [][]byte, rv pkcs11.RV, broken *SurveyProof, err error) {
	for _, c := range copies {
		code, rv, err := run(c)
		switch {
		case err != nil:
			return nil, rv, nil, err
		case rv != pkcs11.CKR_OK && len(out) > 0 && !forbidden(rv):
			return nil, rv, refuted("member %s cannot do with its copy what another does (%v): %s", c.name(), rv, different), nil
		case rv != pkcs11.CKR_OK:
			return nil, rv, nil, nil
		}
		out = append(out, code)
	}
	return out, pkcs11.CKR_OK, nil, nil
}

// forbidden says whether a token does not do such a thing with a key at all.
func forbidden(rv pkcs11.RV) bool {
	return slices.Contains([]pkcs11.RV{pkcs11.CKR_KEY_FUNCTION_NOT_PERMITTED, pkcs11.CKR_MECHANISM_INVALID, pkcs11.CKR_MECHANISM_PARAM_INVALID,
		pkcs11.CKR_KEY_TYPE_INCONSISTENT, pkcs11.CKR_KEY_SIZE_RANGE, pkcs11.CKR_FUNCTION_NOT_SUPPORTED, pkcs11.CKR_USER_NOT_LOGGED_IN}, rv)
}

// equalOutputs compares what the copies made of one input. The majority is not
// asked: which copy is right is for a person to find out.
func equalOutputs(copies []holding, outputs [][]byte, what string) *SurveyProof {
	for i := range outputs {
		if !bytes.Equal(outputs[i], outputs[0]) {
			return refuted("members %s and %s do not %s: %s", copies[0].name(), copies[i].name(), what, different)
		}
	}
	return proved("%s %s", names(copies), what)
}

// names lists the members that hold copies.
func names(copies []holding) string {
	var list []string
	for _, c := range copies {
		list = append(list, c.name())
	}
	return strings.Join(slices.Compact(list), ", ")
}

// provePrivate has one public key verify what each copy signs, or each copy
// decrypt what it encrypts.
func (g *Group) provePrivate(copies, publics []holding) (*SurveyProof, error) {
	text := challenge()
	var last pkcs11.RV
	for _, t := range signing(copies[0].id.KeyType) {
		signatures, rv, broken, err := g.onEach(copies, func(c holding) ([]byte, pkcs11.RV, error) { return g.sign(c, t, text) })
		if err != nil || broken != nil {
			return broken, err
		}
		if last = rv; rv != pkcs11.CKR_OK {
			continue
		}
		return g.judgeSignatures(copies, publics, t, text, signatures)
	}
	if copies[0].id.KeyType == pkcs11.CKK_RSA {
		return g.proveByDecryption(copies, publics, last)
	}
	return unproved("the key may not sign (%v)", last), nil
}

// judgeSignatures looks for a public key that verifies the signature of a copy
// beside it. All others must verify there as well.
func (g *Group) judgeSignatures(copies, publics []holding, t trial, text []byte, signatures [][]byte) (*SurveyProof, error) {
	for i, c := range copies {
		for _, public := range halves(c, publics) {
			rv, err := g.verify(public, t, text, signatures[i])
			if err != nil {
				return nil, err
			}
			if rv == pkcs11.CKR_OK {
				return g.verifyAll(copies, public, t, text, signatures)
			}
		}
	}
	if t.same {
		return equalOutputs(copies, signatures, "sign a text to the same"), nil
	}
	return unproved("there is no public key beside it that verifies its signatures"), nil
}

func (g *Group) verifyAll(copies []holding, public holding, t trial, text []byte, signatures [][]byte) (*SurveyProof, error) {
	for i, c := range copies {
		rv, err := g.verify(public, t, text, signatures[i])
		if err != nil {
			return nil, err
		}
		if rv != pkcs11.CKR_OK {
			return refuted("what member %s signs the public key on member %s does not verify (%v), which verifies another copy: %s",
				c.name(), public.name(), rv, different), nil
		}
	}
	return proved("signed on %s, verified on %s", names(copies), public.name()), nil
}

// proveByDecryption encrypts with a public key for the copy beside it, and has
// the others decrypt the same.
func (g *Group) proveByDecryption(copies, publics []holding, last pkcs11.RV) (*SurveyProof, error) {
	secret := hashed(challenge())
	for _, c := range copies {
		for _, public := range halves(c, publics) {
			sealed, rv, err := g.encrypt(public, pkcs11.CKM_RSA_PKCS, secret)
			if err != nil {
				return nil, err
			}
			if rv != pkcs11.CKR_OK {
				continue
			}
			opened, rv, err := g.decrypt(c, pkcs11.CKM_RSA_PKCS, sealed)
			if err != nil {
				return nil, err
			}
			if last = rv; rv == pkcs11.CKR_OK && bytes.Equal(opened, secret) {
				return g.decryptAll(copies, public, sealed, secret)
			} // else it is not its public half, or may not be used so
		}
	}
	return unproved("the key may not sign, and no public key beside it encrypts for it (%v)", last), nil
}

func (g *Group) decryptAll(copies []holding, public holding, sealed, secret []byte) (*SurveyProof, error) {
	for _, c := range copies {
		opened, rv, err := g.decrypt(c, pkcs11.CKM_RSA_PKCS, sealed)
		switch {
		case err != nil:
			return nil, err
		case forbidden(rv):
			return unproved("the copy on member %s may not decrypt (%v)", c.name(), rv), nil
		case rv != pkcs11.CKR_OK || !bytes.Equal(opened, secret): // of a wrong key some tokens make an error, others noise
			return refuted("member %s does not decrypt what was encrypted on member %s, as another copy does: %s", c.name(), public.name(), different), nil
		}
	}
	return proved("encrypted on %s, decrypted on %s", public.name(), names(copies)), nil
}

// halves are the public keys on the same member that may belong to a private
// key. Type, size and CKA_ID say where to look; use says whether it is one.
func halves(private holding, publics []holding) (out []holding) {
	for _, p := range publics {
		if p.link == private.link && p.id.KeyType == private.id.KeyType && bytes.Equal(p.id.ID, private.id.ID) {
			out = append(out, p)
		}
	}
	return out
}

func (g *Group) sign(c holding, t trial, text []byte) ([]byte, pkcs11.RV, error) {
	begin := wire.SignInit{Mechanism: t.how(), Key: c.id.Object}
	sign := wire.Sign{Data: wire.Data(t.input(text)), SignatureRoom: proofRoom}
	n, err := c.link.do(g.ctx, g.limits(nil), &begin, &sign)
	return sign.Signature.Data, lastOf(n, begin.RV, sign.RV), err
}

func (g *Group) verify(c holding, t trial, text, signature []byte) (pkcs11.RV, error) {
	begin := wire.VerifyInit{Mechanism: t.how(), Key: c.id.Object}
	verify := wire.Verify{Data: wire.Data(t.input(text)), Signature: wire.Data(signature)}
	n, err := c.link.do(g.ctx, g.limits(nil), &begin, &verify)
	return lastOf(n, begin.RV, verify.RV), err
}

func (g *Group) encrypt(c holding, m pkcs11.MechanismType, data []byte) ([]byte, pkcs11.RV, error) {
	begin := wire.EncryptInit{Mechanism: trial{mechanism: m}.how(), Key: c.id.Object}
	encrypt := wire.Encrypt{Data: wire.Data(data), EncryptedRoom: proofRoom}
	n, err := c.link.do(g.ctx, g.limits(nil), &begin, &encrypt)
	return encrypt.Encrypted.Data, lastOf(n, begin.RV, encrypt.RV), err
}

func (g *Group) decrypt(c holding, m pkcs11.MechanismType, data []byte) ([]byte, pkcs11.RV, error) {
	begin := wire.DecryptInit{Mechanism: trial{mechanism: m}.how(), Key: c.id.Object}
	decrypt := wire.Decrypt{Encrypted: wire.Data(data), DataRoom: proofRoom}
	n, err := c.link.do(g.ctx, g.limits(nil), &begin, &decrypt)
	return decrypt.Data.Data, lastOf(n, begin.RV, decrypt.RV), err
}

// proofRoom holds a signature of any key.
var proofRoom = wire.Room{Capacity: 16 << 10}

// how is the mechanism of a trial.
func (t trial) how() pkcs11.Mechanism {
	return pkcs11.Mechanism{Type: t.mechanism, Parameter: t.parameter, Null: t.parameter == nil}
}

// lastOf is the answer to the last of two calls that ran.
func lastOf(n int, first, second pkcs11.RV) pkcs11.RV {
	if n < 2 && first != pkcs11.CKR_OK {
		return first
	}
	return second
}
