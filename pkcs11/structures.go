// SPDX-License-Identifier: Apache-2.0

package pkcs11

import "strings"

// A Version is a CK_VERSION.
type Version struct{ Major, Minor byte }

// Info describes a module (CK_INFO).
type Info struct {
	Cryptoki     Version
	Manufacturer [32]byte
	Flags        uint64
	Description  [32]byte
	Library      Version
}

// SlotInfo describes a slot (CK_SLOT_INFO).
type SlotInfo struct {
	Description  [64]byte
	Manufacturer [32]byte
	Flags        uint64
	Hardware     Version
	Firmware     Version
}

// TokenInfo describes a token (CK_TOKEN_INFO).
type TokenInfo struct {
	Label        [32]byte
	Manufacturer [32]byte
	Model        [16]byte
	Serial       [16]byte
	Flags        uint64

	MaxSessions, Sessions           uint64
	MaxRWSessions, RWSessions       uint64
	MaxPIN, MinPIN                  uint64
	TotalPublicMemory, FreePublic   uint64
	TotalPrivateMemory, FreePrivate uint64

	Hardware Version
	Firmware Version
	UTCTime  [16]byte
}

// SessionInfo describes a session (CK_SESSION_INFO).
type SessionInfo struct {
	Slot        uint64
	State       uint64
	Flags       uint64
	DeviceError uint64
}

// Pad fills a fixed field with s and blanks, cutting what does not fit
// (PKCS#11 2.40, 3.1: blank padded, not NUL terminated).
func Pad(field []byte, s string) {
	n := copy(field, s)
	for i := n; i < len(field); i++ {
		field[i] = ' '
	}
}

// Unpad is the text of a blank padded field. Some tokens pad with NUL.
func Unpad(field []byte) string { return strings.TrimRight(string(field), " \x00") }
