// SPDX-License-Identifier: Apache-2.0

package host

import (
	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/wire"
)

func (s *session) describeDomain(*wire.Description) pkcs11.RV { return pkcs11.CKR_OK }
func (s *session) secretFingerprint(*known)                   {}
func (s *session) hides(*known) bool                          { return false }
func (s *session) shows(*known, pkcs11.Template) bool         { return true }
func (s *shared) isHidden(uint64) bool                        { return false }
func splitAdjusted(t pkcs11.Template) (pkcs11.Template, pkcs11.Template) {
	return t, nil
}
