// SPDX-License-Identifier: Apache-2.0

package token

import (
	"bytes"
	"crypto"
	"crypto/aes"
	"crypto/cipher"
	"crypto/ecdsa"
	"crypto/hmac"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"errors"
	"fmt"
	"math/big"

	p11 "github.com/miekg/pkcs11"
)

// A Work is one kind of call on the token. Do makes the call and returns a
// check of its answer, which needs no token.
type Work struct {
	Name string
	Do   func(s p11.SessionHandle) (check func() error, err error)
}

// ErrWrong is the fault of an answer that is not right. It is never excusable:
// it can mean that another key was used (rule H3).
var ErrWrong = errors.New("wrong answer")

func wrong(what string) error { return fmt.Errorf("%w: %s", ErrWrong, what) }

func random(n int) []byte {
	b := make([]byte, n)
	rand.Read(b)
	return b
}

func mechanism(kind uint, parameter any) []*p11.Mechanism {
	return []*p11.Mechanism{p11.NewMechanism(kind, parameter)}
}

// SignRSA signs with PKCS#1 and SHA-256.
func (t *Token) SignRSA(key p11.ObjectHandle, public *rsa.PublicKey) Work {
	return Work{"rsa", func(s p11.SessionHandle) (func() error, error) {
		data := random(100)
		if err := t.SignInit(s, mechanism(p11.CKM_SHA256_RSA_PKCS, nil), key); err != nil {
			return nil, fmt.Errorf("C_SignInit: %w", err)
		}
		signature, err := t.Sign(s, data)
		if err != nil {
			return nil, fmt.Errorf("C_Sign: %w", err)
		}
		return func() error {
			sum := sha256.Sum256(data)
			if rsa.VerifyPKCS1v15(public, crypto.SHA256, sum[:], signature) != nil {
				return wrong("RSA signature")
			}
			return nil
		}, nil
	}}
}

// SignEC signs with ECDSA on P-256.
func (t *Token) SignEC(key p11.ObjectHandle, public *ecdsa.PublicKey) Work {
	return Work{"ecdsa", func(s p11.SessionHandle) (func() error, error) {
		sum := random(32)
		if err := t.SignInit(s, mechanism(p11.CKM_ECDSA, nil), key); err != nil {
			return nil, fmt.Errorf("C_SignInit: %w", err)
		}
		signature, err := t.Sign(s, sum)
		if err != nil {
			return nil, fmt.Errorf("C_Sign: %w", err)
		}
		return func() error {
			r, v := new(big.Int).SetBytes(signature[:32]), new(big.Int).SetBytes(signature[32:])
			if !ecdsa.Verify(public, sum, r, v) {
				return wrong("ECDSA signature")
			}
			return nil
		}, nil
	}}
}

// MAC makes an HMAC with SHA-256.
func (t *Token) MAC(key p11.ObjectHandle, value []byte) Work {
	return Work{"hmac", func(s p11.SessionHandle) (func() error, error) {
		data := random(200)
		if err := t.SignInit(s, mechanism(p11.CKM_SHA256_HMAC, nil), key); err != nil {
			return nil, fmt.Errorf("C_SignInit: %w", err)
		}
		got, err := t.Sign(s, data)
		if err != nil {
			return nil, fmt.Errorf("C_Sign: %w", err)
		}
		return func() error {
			mac := hmac.New(sha256.New, value)
			mac.Write(data)
			if !bytes.Equal(mac.Sum(nil), got) {
				return wrong("HMAC")
			}
			return nil
		}, nil
	}}
}

// EncryptCBC encrypts with AES-CBC-PAD.
func (t *Token) EncryptCBC(key p11.ObjectHandle, value []byte) Work {
	return Work{"cbc", func(s p11.SessionHandle) (func() error, error) {
		data, iv := random(1000), random(16)
		if err := t.EncryptInit(s, mechanism(p11.CKM_AES_CBC_PAD, iv), key); err != nil {
			return nil, fmt.Errorf("C_EncryptInit: %w", err)
		}
		got, err := t.Encrypt(s, data)
		if err != nil {
			return nil, fmt.Errorf("C_Encrypt: %w", err)
		}
		return func() error {
			block, err := aes.NewCipher(value)
			if err != nil {
				return err
			}
			pad := 16 - len(data)%16
			padded := append(bytes.Clone(data), bytes.Repeat([]byte{byte(pad)}, pad)...)
			cipher.NewCBCEncrypter(block, iv).CryptBlocks(padded, padded)
			if !bytes.Equal(padded, got) {
				return wrong("AES-CBC-PAD")
			}
			return nil
		}, nil
	}}
}

// EncryptGCM encrypts with AES-GCM and additional data.
func (t *Token) EncryptGCM(key p11.ObjectHandle, value []byte) Work {
	return Work{"gcm", func(s p11.SessionHandle) (func() error, error) {
		data, iv, aad := random(300), random(12), random(20)
		parameters := p11.NewGCMParams(iv, aad, 128)
		defer parameters.Free()
		if err := t.EncryptInit(s, mechanism(p11.CKM_AES_GCM, parameters), key); err != nil {
			return nil, fmt.Errorf("C_EncryptInit: %w", err)
		}
		got, err := t.Encrypt(s, data)
		if err != nil {
			return nil, fmt.Errorf("C_Encrypt: %w", err)
		}
		return func() error {
			block, err := aes.NewCipher(value)
			if err != nil {
				return err
			}
			gcm, err := cipher.NewGCM(block)
			if err != nil {
				return err
			}
			if !bytes.Equal(gcm.Seal(nil, iv, data, aad), got) {
				return wrong("AES-GCM")
			}
			return nil
		}, nil
	}}
}

// Hash makes a SHA-256 digest.
func (t *Token) Hash() Work {
	return Work{"digest", func(s p11.SessionHandle) (func() error, error) {
		data := random(500)
		if err := t.DigestInit(s, mechanism(p11.CKM_SHA256, nil)); err != nil {
			return nil, fmt.Errorf("C_DigestInit: %w", err)
		}
		got, err := t.Digest(s, data)
		if err != nil {
			return nil, fmt.Errorf("C_Digest: %w", err)
		}
		return func() error {
			if sum := sha256.Sum256(data); !bytes.Equal(sum[:], got) {
				return wrong("SHA-256")
			}
			return nil
		}, nil
	}}
}

// Random asks for random bytes, which can only be checked for not being there.
func (t *Token) Random() Work {
	return Work{"random", func(s p11.SessionHandle) (func() error, error) {
		got, err := t.GenerateRandom(s, 32)
		if err != nil {
			return nil, fmt.Errorf("C_GenerateRandom: %w", err)
		}
		return func() error {
			if len(got) != 32 || bytes.Count(got, got[:1]) == 32 {
				return wrong("random bytes")
			}
			return nil
		}, nil
	}}
}
