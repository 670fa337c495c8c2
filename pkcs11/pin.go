// SPDX-License-Identifier: Apache-2.0

package pkcs11

import "fmt"

// A PIN is a secret that is never printed. A nil PIN is the NULL pointer that
// asks for a protected authentication path (PKCS#11 2.40, C_Login).
type PIN []byte

// String hides the PIN from every way of printing.
func (PIN) String() string { return "PIN" }

// GoString hides the PIN from %#v.
func (PIN) GoString() string { return "PIN" }

// Format hides the PIN from every verb, %x and %s alike.
func (PIN) Format(s fmt.State, _ rune) { fmt.Fprint(s, "PIN") }

// MarshalText hides the PIN from encoders (JSON, TOML, slog).
func (PIN) MarshalText() ([]byte, error) { return []byte("PIN"), nil }

// Clone returns a copy which does not share memory with p.
func (p PIN) Clone() PIN {
	if p == nil {
		return nil
	}
	return append(PIN{}, p...)
}

// Wipe overwrites the PIN in memory.
func (p PIN) Wipe() { clear(p) }
