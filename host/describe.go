// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"

	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/wire"
)

// Describe says what the token is and can do.
func (s *session) Describe(_ context.Context, c *wire.Describe) pkcs11.RV {
	module, slot := s.token.module, s.token.slot
	var rv pkcs11.RV
	if c.Token.Slot, rv = module.SlotInfo(slot); rv != pkcs11.CKR_OK {
		return rv
	}
	if c.Token.Token, rv = module.TokenInfo(slot); rv != pkcs11.CKR_OK {
		return rv
	}
	mechanisms, rv := module.Mechanisms(slot)
	if rv != pkcs11.CKR_OK {
		return rv
	}
	infos, rvs := module.MechanismInfos(slot, mechanisms)
	c.Token.Mechanisms = make([]wire.OfferedMechanism, 0, len(mechanisms))
	for i, m := range mechanisms {
		// A mechanism that is listed but not described is not usable.
		if rvs[i] == pkcs11.CKR_OK {
			c.Token.Mechanisms = append(c.Token.Mechanisms, wire.OfferedMechanism{Type: m, Info: infos[i]})
		}
	}
	if info, rv := module.Info(); rv == pkcs11.CKR_OK {
		c.Token.Library = pkcs11.Unpad(info.Description[:])
	}
	return s.describeDomain(&c.Token)
}
