// SPDX-License-Identifier: Apache-2.0

// Package cryptoki calls a vendor's PKCS#11 module. It is the only package with
// cgo. It carries calls over faithfully, and is careful with what comes back;
// it keeps no state of PKCS#11 and decides nothing.
package cryptoki

// #cgo pkg-config: p11-kit-1
// #cgo LDFLAGS: -ldl
// #include <stdlib.h>
// #include "shim.h"
// #include "direct.h"
import "C"

import (
	"errors"
	"fmt"
	"unsafe"

	"oneslot.dev/oneslot/pkcs11"
)

// A Module is a loaded module. Its methods may be called by many goroutines
// at once: it is initialised with CKF_OS_LOCKING_OK.
type Module struct {
	list *C.CK_FUNCTION_LIST
	// foreign: somebody else in this process initialised it, and will
	// finalise it. We must not.
	foreign bool

	// What the direct path reads, in memory of C; never freed.
	raw       *C.uint64_t // mechanisms whose parameter is carried as it is
	raws      int
	forbidden *[C.ONESLOT_FORBIDDEN]uint64 // handles that nobody may use
}

// Load opens the module at path. It is never unloaded.
func Load(path string) (*Module, error) {
	name := C.CString(path)
	defer C.free(unsafe.Pointer(name))
	var reason *C.char
	list := C.oneslot_load(name, &reason)
	if list == nil {
		defer C.free(unsafe.Pointer(reason))
		return nil, errors.New(C.GoString(reason))
	}
	m := &Module{list: list}
	m.prepareDirect()
	return m, nil
}

// Initialize initialises the module. A non-empty text is passed where the
// standard has pReserved; NSS wants its parameters there.
func (m *Module) Initialize(reserved string) error {
	var text *C.char
	if reserved != "" {
		// Not freed: nobody promises that the module keeps no pointer to it.
		text = C.CString(reserved)
	}
	switch rv := pkcs11.RV(C.oneslot_initialize(m.list, text)); rv {
	case pkcs11.CKR_OK:
		m.foreign = false
	case pkcs11.CKR_CRYPTOKI_ALREADY_INITIALIZED:
		m.foreign = true
	default:
		return fmt.Errorf("C_Initialize failed: %w", rv)
	}
	return nil
}

// Finalize undoes Initialize. No session may be in use.
func (m *Module) Finalize() {
	if !m.foreign {
		C.oneslot_finalize(m.list)
	}
}

// Info is C_GetInfo.
func (m *Module) Info() (pkcs11.Info, pkcs11.RV) {
	var c C.CK_INFO
	rv := pkcs11.RV(C.oneslot_info(m.list, &c))
	info := pkcs11.Info{Cryptoki: version(c.cryptokiVersion), Flags: uint64(c.flags), Library: version(c.libraryVersion)}
	text(info.Manufacturer[:], &c.manufacturerID[0])
	text(info.Description[:], &c.libraryDescription[0])
	return info, rv
}

func version(v C.CK_VERSION) pkcs11.Version {
	return pkcs11.Version{Major: byte(v.major), Minor: byte(v.minor)}
}

// text copies a fixed field.
func text(field []byte, from *C.uchar) {
	copy(field, unsafe.Slice((*byte)(from), len(field)))
}

// Slots lists the slots that have a token.
func (m *Module) Slots() ([]uint64, pkcs11.RV) {
	// The list may grow between the two calls; a few rounds are enough.
	rv := pkcs11.CKR_BUFFER_TOO_SMALL
	for round := 0; round < 5 && rv == pkcs11.CKR_BUFFER_TOO_SMALL; round++ {
		var n C.CK_ULONG
		if rv = pkcs11.RV(C.oneslot_slots(m.list, nil, &n)); rv != pkcs11.CKR_OK || n == 0 {
			return nil, rv
		}
		if n > maxSlots {
			return nil, pkcs11.CKR_GENERAL_ERROR
		}
		list := make([]uint64, n)
		rv = pkcs11.RV(C.oneslot_slots(m.list, (*C.CK_SLOT_ID)(&list[0]), &n))
		if rv == pkcs11.CKR_OK && int(n) <= len(list) {
			return list[:n], rv
		}
	}
	return nil, rv
}

const (
	maxSlots      = 1 << 16
	maxMechanisms = 1 << 16
)

// SlotInfo is C_GetSlotInfo.
func (m *Module) SlotInfo(slot uint64) (pkcs11.SlotInfo, pkcs11.RV) {
	var c C.CK_SLOT_INFO
	rv := pkcs11.RV(C.oneslot_slot_info(m.list, C.CK_SLOT_ID(slot), &c))
	info := pkcs11.SlotInfo{Flags: uint64(c.flags), Hardware: version(c.hardwareVersion), Firmware: version(c.firmwareVersion)}
	text(info.Description[:], &c.slotDescription[0])
	text(info.Manufacturer[:], &c.manufacturerID[0])
	return info, rv
}

// TokenInfo is C_GetTokenInfo.
func (m *Module) TokenInfo(slot uint64) (pkcs11.TokenInfo, pkcs11.RV) {
	var c C.CK_TOKEN_INFO
	rv := pkcs11.RV(C.oneslot_token_info(m.list, C.CK_SLOT_ID(slot), &c))
	info := pkcs11.TokenInfo{
		Flags:       uint64(c.flags),
		MaxSessions: uint64(c.ulMaxSessionCount), Sessions: uint64(c.ulSessionCount),
		MaxRWSessions: uint64(c.ulMaxRwSessionCount), RWSessions: uint64(c.ulRwSessionCount),
		MaxPIN: uint64(c.ulMaxPinLen), MinPIN: uint64(c.ulMinPinLen),
		TotalPublicMemory: uint64(c.ulTotalPublicMemory), FreePublic: uint64(c.ulFreePublicMemory),
		TotalPrivateMemory: uint64(c.ulTotalPrivateMemory), FreePrivate: uint64(c.ulFreePrivateMemory),
		Hardware: version(c.hardwareVersion), Firmware: version(c.firmwareVersion),
	}
	text(info.Label[:], &c.label[0])
	text(info.Manufacturer[:], &c.manufacturerID[0])
	text(info.Model[:], &c.model[0])
	text(info.Serial[:], &c.serialNumber[0])
	text(info.UTCTime[:], &c.utcTime[0])
	return info, rv
}

// Mechanisms lists the token's mechanisms.
func (m *Module) Mechanisms(slot uint64) ([]pkcs11.MechanismType, pkcs11.RV) {
	var n C.CK_ULONG
	rv := pkcs11.RV(C.oneslot_mechanisms(m.list, C.CK_SLOT_ID(slot), nil, &n))
	if rv != pkcs11.CKR_OK || n == 0 {
		return nil, rv
	}
	if n > maxMechanisms {
		return nil, pkcs11.CKR_GENERAL_ERROR
	}
	list := make([]pkcs11.MechanismType, n)
	rv = pkcs11.RV(C.oneslot_mechanisms(m.list, C.CK_SLOT_ID(slot), (*C.CK_ULONG)(unsafe.Pointer(&list[0])), &n))
	if rv != pkcs11.CKR_OK || int(n) > len(list) {
		return nil, rv
	}
	return list[:n], rv
}

// MechanismInfo is C_GetMechanismInfo.
func (m *Module) MechanismInfo(slot uint64, t pkcs11.MechanismType) (pkcs11.MechanismInfo, pkcs11.RV) {
	var c C.CK_MECHANISM_INFO
	rv := pkcs11.RV(C.oneslot_mechanism_info(m.list, C.CK_SLOT_ID(slot), C.CK_ULONG(t), &c))
	return mechanismInfo(&c), rv
}

// MechanismInfos is C_GetMechanismInfo for each of the types.
func (m *Module) MechanismInfos(slot uint64, types []pkcs11.MechanismType) ([]pkcs11.MechanismInfo, []pkcs11.RV) {
	if len(types) == 0 {
		return nil, nil
	}
	list := make([]C.CK_MECHANISM_INFO, len(types))
	results := make([]C.CK_RV, len(types))
	C.oneslot_mechanism_infos(m.list, C.CK_SLOT_ID(slot), (*C.CK_ULONG)(unsafe.Pointer(&types[0])), C.CK_ULONG(len(types)), &list[0], &results[0])
	infos, rvs := make([]pkcs11.MechanismInfo, len(types)), make([]pkcs11.RV, len(types))
	for i, c := range list {
		infos[i] = mechanismInfo(&c)
		rvs[i] = pkcs11.RV(results[i])
	}
	return infos, rvs
}

func mechanismInfo(c *C.CK_MECHANISM_INFO) pkcs11.MechanismInfo {
	return pkcs11.MechanismInfo{MinKeySize: uint64(c.ulMinKeySize), MaxKeySize: uint64(c.ulMaxKeySize), Flags: uint64(c.flags)}
}
