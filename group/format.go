// SPDX-License-Identifier: Apache-2.0

package group

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"math/big"
	"slices"

	"oneslot.dev/oneslot/member"
	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/wire"
)

// Some tokens return ECDSA signatures in DER, or leave leading zeros out. What an
// application gets from a group would then differ from call to call (field-K8). So a
// token signs with a key of this session, and the signature is verified here, in software.

// IsECDSA says whether a mechanism makes signatures whose format tokens differ in.
func IsECDSA(m pkcs11.MechanismType) bool {
	return m >= pkcs11.CKM_ECDSA && m <= pkcs11.CKM_ECDSA_SHA3_512
}

// ErrNotExamined is why nothing can be said of a token: it does not make such keys, or not
// for this client, or not now. That is nothing against it.
var ErrNotExamined = errors.New("the format of its signatures cannot be looked at")

// examCurves are what a token is asked for, the first that it has.
var examCurves = []struct {
	curve  elliptic.Curve
	params string // DER, for CKA_EC_PARAMS
}{
	{elliptic.P256(), "\x06\x08\x2a\x86\x48\xce\x3d\x03\x01\x07"},
	{elliptic.P384(), "\x06\x05\x2b\x81\x04\x00\x22"},
	{elliptic.P521(), "\x06\x05\x2b\x81\x04\x00\x23"},
}

// Examine has a token sign with a key that it makes for that, as a session object. The
// error says in which format it signs if that is not the standard's; it wraps
// ErrNotExamined or is a member.Fault if that is not known. A user must be logged in. The
// session is to be closed, and with it the key is gone.
func Examine(ctx context.Context, s member.Session, limits member.Limits, about *wire.Description) error {
	curve, params, ok := examCurve(about)
	if !ok {
		return ErrNotExamined
	}
	pair := wire.GenerateKeyPair{
		Mechanism: pkcs11.Mechanism{Type: pkcs11.CKM_EC_KEY_PAIR_GEN, Null: true},
		Public: pkcs11.Template{pkcs11.Bytes(pkcs11.CKA_EC_PARAMS, []byte(params)), pkcs11.Bool(pkcs11.CKA_TOKEN, false),
			pkcs11.Bool(pkcs11.CKA_VERIFY, true)},
		Private: pkcs11.Template{pkcs11.Bool(pkcs11.CKA_TOKEN, false), pkcs11.Bool(pkcs11.CKA_PRIVATE, true),
			pkcs11.Bool(pkcs11.CKA_SENSITIVE, true), pkcs11.Bool(pkcs11.CKA_EXTRACTABLE, false), pkcs11.Bool(pkcs11.CKA_SIGN, true)},
	}
	if _, err := s.Do(ctx, limits, &pair); err != nil || pair.RV != pkcs11.CKR_OK {
		return notKnown(err, pair.RV)
	}
	digest := sha256.Sum256([]byte("oneslot: in which format does this token sign? " + rand.Text()))
	point := wire.GetAttributeValue{Object: pair.PublicKey, Query: wire.Query{{Type: pkcs11.CKA_EC_POINT, Form: wire.AskRoom, Capacity: 512}}}
	begin := wire.SignInit{Mechanism: pkcs11.Mechanism{Type: pkcs11.CKM_ECDSA, Null: true}, Key: pair.PrivateKey}
	sign := wire.Sign{Data: wire.Data(digest[:]), SignatureRoom: wire.Room{Capacity: 512}}
	if n, err := s.Do(ctx, limits, &point, &begin, &sign); err != nil || n < 3 || sign.RV != pkcs11.CKR_OK {
		return notKnown(err, errors.Join(orNil(point.RV), orNil(begin.RV), orNil(sign.RV)))
	}
	public := publicKey(curve, point.Values)
	if public == nil {
		return ErrNotExamined
	}
	return judgeFormat(public, digest[:], sign.Signature.Data)
}

func notKnown(err, answer error) error {
	if err != nil {
		return err
	}
	return fmt.Errorf("%w: %w", ErrNotExamined, answer)
}

// examCurve is a curve that the token says it has.
func examCurve(about *wire.Description) (curve elliptic.Curve, params string, ok bool) {
	offered := func(kind pkcs11.MechanismType, bits uint64) bool {
		return slices.ContainsFunc(about.Mechanisms, func(m wire.OfferedMechanism) bool {
			unsaid := m.Info.MaxKeySize == 0 || m.Info.MaxKeySize == pkcs11.Unavailable
			return m.Type == kind && (unsaid || bits >= m.Info.MinKeySize && bits <= m.Info.MaxKeySize)
		})
	}
	for _, c := range examCurves {
		if bits := uint64(c.curve.Params().BitSize); offered(pkcs11.CKM_EC_KEY_PAIR_GEN, bits) && offered(pkcs11.CKM_ECDSA, bits) {
			return c.curve, c.params, true
		}
	}
	return nil, "", false
}

// publicKey reads CKA_EC_POINT, which is written in many ways (field-K2). All but
// compressed points end in the coordinates. nil: that is none.
func publicKey(curve elliptic.Curve, values wire.Values) *ecdsa.PublicKey {
	size := 2 * byteLength(curve)
	if len(values) != 1 || values[0].Form != wire.GotData || len(values[0].Data) < size {
		return nil
	}
	value := values[0].Data
	public, err := ecdsa.ParseUncompressedPublicKey(curve, append([]byte{4}, value[len(value)-size:]...))
	if err != nil {
		return nil
	}
	return public
}

func byteLength(curve elliptic.Curve) int { return (curve.Params().BitSize + 7) / 8 }

// judgeFormat wants a signature to be r‖s, each of the length of the curve's order
// (PKCS#11 2.40, mechanisms, 2.3.1).
func judgeFormat(public *ecdsa.PublicKey, digest, signature []byte) error {
	n := byteLength(public.Curve)
	if len(signature) == 2*n {
		r, s := new(big.Int).SetBytes(signature[:n]), new(big.Int).SetBytes(signature[n:])
		if ecdsa.Verify(public, digest, r, s) {
			return nil
		}
	}
	what := fmt.Sprintf("in a form of %d bytes that does not verify", len(signature))
	if ecdsa.VerifyASN1(public, digest, signature) {
		what = "in DER"
	}
	return NewUnlike(fmt.Sprintf("the token makes ECDSA signatures %s, not as r and s of %d bytes each, as PKCS#11 says and other members do", what, n))
}

// NewUnlike is the error of an attempt on a member whose answers have another form than
// those of the others: it is left out until an operator has acted.
func NewUnlike(what string) error {
	return &mismatch{what + ": ask its vendor for a setting or version that follows the standard, or take the member out of the group"}
}
