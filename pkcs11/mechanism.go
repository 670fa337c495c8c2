// SPDX-License-Identifier: Apache-2.0

package pkcs11

import "fmt"

// MechanismType is a kind of mechanism (CK_MECHANISM_TYPE).
type MechanismType uint64

func (m MechanismType) String() string {
	if known, ok := mechanisms[m]; ok {
		return known.name
	}
	return fmt.Sprintf("CKM_%#x", uint64(m))
}

// Carried says whether oneslot knows the form of the mechanism's parameter, and
// so may offer the mechanism to applications (rule G8).
func (m MechanismType) Carried() bool {
	_, ok := mechanisms[m]
	return ok
}

// Form is how the mechanism's parameter travels.
func (m MechanismType) Form() ParameterForm { return mechanisms[m].form }

// MechanismsOf are the mechanisms whose parameter has the form.
func MechanismsOf(form ParameterForm) (types []MechanismType) {
	for t, m := range mechanisms {
		if m.form == form {
			types = append(types, t)
		}
	}
	return types
}

// ParameterForm is the flat form of a mechanism's parameter. wire/PROTOCOL.md
// draws each.
type ParameterForm uint8

// The forms of parameters.
const (
	FormNone ParameterForm = iota
	FormRaw
	FormOaep
	FormGcm
	FormCcm
	FormEcdh
	FormString
	FormCbcdata8
	FormCbcdata16
	FormEddsa
	FormRsawrap
	FormKey
	FormMaster
	FormMaster12
	FormMaterial
	FormMaterial12
	FormPrf
	FormKdf
	FormPbe
)

// Instead says whether C_DeriveKey puts its result into the parameter instead
// of returning a handle (PKCS#11 2.40, mechanisms, 2.26 and 2.27).
func (f ParameterForm) Instead() bool {
	return f == FormMaterial || f == FormMaterial12 || f == FormPrf
}
