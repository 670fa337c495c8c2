// SPDX-License-Identifier: Apache-2.0

package wire

import "oneslot.dev/oneslot/pkcs11"

// KeyMaterial is what the mechanisms that derive the keys of a TLS connection
// put into their parameter (CK_SSL3_KEY_MAT_OUT).
type KeyMaterial struct {
	Keys     [4]uint64 // client MAC, server MAC, client key, server key; 0: none
	ClientIV Bytes
	ServerIV Bytes
}

// Encode is the flat form (PROTOCOL.md, "Mechanism parameters").
func (m *KeyMaterial) Encode() Bytes {
	var e Encoder
	for _, key := range m.Keys {
		e.Ulong(key)
	}
	e.Bytes(m.ClientIV)
	e.Bytes(m.ServerIV)
	return Data(e.Buf)
}

// DecodeKeyMaterial reads the flat form. False: it is none.
func DecodeKeyMaterial(b Bytes) (m KeyMaterial, ok bool) {
	d := NewDecoder(b.Data)
	for i := range m.Keys {
		m.Keys[i] = d.Ulong()
	}
	m.ClientIV, m.ServerIV = d.Bytes(), d.Bytes()
	return m, d.End() == nil
}

// Handles are the handles of the keys that the call derived: one for most
// mechanisms, several or none for those that put their result into the parameter.
func (c *DeriveKey) Handles() []uint64 {
	if !c.Mechanism.Type.Form().Instead() {
		return []uint64{c.Key}
	}
	var keys []uint64
	if c.Mechanism.Type.Form() != pkcs11.FormPrf {
		m, _ := DecodeKeyMaterial(c.Returned)
		for _, key := range m.Keys {
			if key != 0 {
				keys = append(keys, key)
			}
		}
	}
	return keys
}
