// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"

	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/wire"
)

// Nobody gets a handle of a domain key. These calls see to it that nobody
// guesses one either; apart from that they pass through.

func (s *session) EncryptInit(ctx context.Context, c *wire.EncryptInit) pkcs11.RV {
	if s.token.isDomainKey(c.Key) {
		return pkcs11.CKR_KEY_HANDLE_INVALID
	}
	return s.raw.EncryptInit(ctx, c)
}

func (s *session) DecryptInit(ctx context.Context, c *wire.DecryptInit) pkcs11.RV {
	if s.token.isDomainKey(c.Key) {
		return pkcs11.CKR_KEY_HANDLE_INVALID
	}
	return s.raw.DecryptInit(ctx, c)
}

func (s *session) SignInit(ctx context.Context, c *wire.SignInit) pkcs11.RV {
	if s.token.isDomainKey(c.Key) {
		return pkcs11.CKR_KEY_HANDLE_INVALID
	}
	return s.raw.SignInit(ctx, c)
}

func (s *session) SignRecoverInit(ctx context.Context, c *wire.SignRecoverInit) pkcs11.RV {
	if s.token.isDomainKey(c.Key) {
		return pkcs11.CKR_KEY_HANDLE_INVALID
	}
	return s.raw.SignRecoverInit(ctx, c)
}

func (s *session) VerifyInit(ctx context.Context, c *wire.VerifyInit) pkcs11.RV {
	if s.token.isDomainKey(c.Key) {
		return pkcs11.CKR_KEY_HANDLE_INVALID
	}
	return s.raw.VerifyInit(ctx, c)
}

func (s *session) VerifyRecoverInit(ctx context.Context, c *wire.VerifyRecoverInit) pkcs11.RV {
	if s.token.isDomainKey(c.Key) {
		return pkcs11.CKR_KEY_HANDLE_INVALID
	}
	return s.raw.VerifyRecoverInit(ctx, c)
}

func (s *session) DigestKey(ctx context.Context, c *wire.DigestKey) pkcs11.RV {
	if s.token.isDomainKey(c.Key) {
		return pkcs11.CKR_KEY_HANDLE_INVALID
	}
	return s.raw.DigestKey(ctx, c)
}

func (s *session) SetOperationState(ctx context.Context, c *wire.SetOperationState) pkcs11.RV {
	if s.token.isDomainKey(c.Encryption) || s.token.isDomainKey(c.Authentication) {
		return pkcs11.CKR_KEY_HANDLE_INVALID
	}
	return s.raw.SetOperationState(ctx, c)
}

func (s *session) GetObjectSize(ctx context.Context, c *wire.GetObjectSize) pkcs11.RV {
	if s.token.isHidden(c.Object) {
		return pkcs11.CKR_OBJECT_HANDLE_INVALID
	}
	return s.raw.GetObjectSize(ctx, c)
}

// keyParameter says whether a mechanism's parameter names a domain key.
func (s *session) keyParameter(m pkcs11.Mechanism) bool {
	if m.Type.Form() != pkcs11.FormKey || len(m.Parameter) != 8 {
		return false
	}
	return s.token.isDomainKey(wire.NewDecoder(m.Parameter).Ulong())
}
