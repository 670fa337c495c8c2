// SPDX-License-Identifier: Apache-2.0

package wire

import "oneslot.dev/oneslot/pkcs11"

// An Identity tells which object an object is, on any member (rule H3).
type Identity struct {
	Object      uint64 // the member's handle; means nothing to others
	Class       uint64
	KeyType     uint64 // or certificate type
	Size        uint64 // of the key in bits, 0 if that is not known
	Flags       IdentityFlags
	Fingerprint []byte // SHA-256 over class, type and key material; empty: not established
	Label, ID   []byte // hints where to look, never proof
}

// IdentityFlags are properties of an object that decide how it is handled.
type IdentityFlags uint8

// The flags.
const (
	OnToken            IdentityFlags = 1 << iota // CKA_TOKEN
	Private                                      // CKA_PRIVATE
	Copyable                                     // can be exported to other members
	AlwaysAuthenticate                           // CKA_ALWAYS_AUTHENTICATE
)

// A Description is what a token says of itself when a connection is made.
type Description struct {
	Slot       pkcs11.SlotInfo
	Token      pkcs11.TokenInfo
	Mechanisms []OfferedMechanism
	Domain     []byte // identifier of the domain; empty if the token is in none
	Cloning    bool   // keys are copied by cloning (rule K7)
	UseOnly    bool   // an appliance lets this client use keys, and not manage them
	Library    string // what the vendor module calls itself
}

// The flags of a description.
const (
	describesCloning uint8 = 1 << iota
	describesUseOnly
)

// An OfferedMechanism is a mechanism that a token offers.
type OfferedMechanism struct {
	Type pkcs11.MechanismType
	Info pkcs11.MechanismInfo
}

// Same says whether two identities are one object for the purposes of use.
func (i *Identity) Same(other *Identity) bool {
	return i.Class == other.Class && i.KeyType == other.KeyType &&
		len(i.Fingerprint) > 0 && string(i.Fingerprint) == string(other.Fingerprint)
}
