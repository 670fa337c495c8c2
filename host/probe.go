// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"

	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/wire"
)

// Probe has the token do a little work: a process that lives, or a library that
// answers from its memory, proves nothing about the HSM.
func (s *session) Probe(ctx context.Context, _ *wire.Probe) pkcs11.RV {
	random := wire.GenerateRandom{RandomRoom: wire.Room{Capacity: 8}}
	switch rv := s.raw.GenerateRandom(ctx, &random); rv {
	case pkcs11.CKR_RANDOM_NO_RNG, pkcs11.CKR_FUNCTION_NOT_SUPPORTED, pkcs11.CKR_USER_NOT_LOGGED_IN:
		_, rv := s.raw.Info()
		return rv
	default:
		return rv
	}
}
