// SPDX-License-Identifier: Apache-2.0

package pkcs11

import (
	"encoding/binary"
	"slices"
)

// An Attribute is a type with a value (CK_ATTRIBUTE). Exactly one of these
// holds: Null is set, the type is an array and Array is the value, or Value is.
type Attribute struct {
	Type   AttributeType
	Value  []byte
	Array  Template // the value of CKA_WRAP_TEMPLATE and its like
	IsList bool     // the value is Array, which may be empty
	Null   bool     // pValue was NULL
	Length uint64   // with Null: the ulValueLen that stood beside it
}

// A Template is a list of attributes, as given to creating and searching calls.
type Template []Attribute

// Bytes makes an attribute of a byte string.
func Bytes(t AttributeType, value []byte) Attribute { return Attribute{Type: t, Value: value} }

// Ulong makes an attribute of a CK_ULONG, eight bytes little endian.
func Ulong(t AttributeType, value uint64) Attribute {
	return Attribute{Type: t, Value: binary.LittleEndian.AppendUint64(nil, value)}
}

// Bool makes an attribute of a CK_BBOOL.
func Bool(t AttributeType, value bool) Attribute {
	if value {
		return Attribute{Type: t, Value: []byte{1}}
	}
	return Attribute{Type: t, Value: []byte{0}}
}

// Find returns the first attribute of type t, or nil.
func (t Template) Find(kind AttributeType) *Attribute {
	for i := range t {
		if t[i].Type == kind {
			return &t[i]
		}
	}
	return nil
}

// Bool returns the truth of a CK_BBOOL attribute, or otherwise if it is absent
// or no CK_BBOOL.
func (t Template) Bool(kind AttributeType, otherwise bool) bool {
	if a := t.Find(kind); a != nil && len(a.Value) == 1 {
		return a.Value[0] != 0
	}
	return otherwise
}

// Ulong returns the value of a CK_ULONG attribute, and whether it is there.
func (t Template) Ulong(kind AttributeType) (uint64, bool) {
	if a := t.Find(kind); a != nil {
		return a.Ulong()
	}
	return 0, false
}

// Bytes returns the value of a byte string attribute, nil if absent.
func (t Template) Bytes(kind AttributeType) []byte {
	if a := t.Find(kind); a != nil {
		return a.Value
	}
	return nil
}

// With returns a copy of t in which each attribute replaces one of its type, or
// is added.
func (t Template) With(attributes ...Attribute) Template {
	out := slices.Clone(t)
	for _, a := range attributes {
		if old := out.Find(a.Type); old != nil {
			*old = a
		} else {
			out = append(out, a)
		}
	}
	return out
}

// Without returns a copy of t without attributes of these types.
func (t Template) Without(kinds ...AttributeType) Template {
	return slices.DeleteFunc(slices.Clone(t), func(a Attribute) bool {
		return slices.Contains(kinds, a.Type)
	})
}

// Ulong returns the value as a CK_ULONG, and whether it is one.
func (a *Attribute) Ulong() (uint64, bool) {
	if len(a.Value) != 8 {
		return 0, false
	}
	return binary.LittleEndian.Uint64(a.Value), true
}

// A Mechanism is a mechanism with its parameter in flat form (wire/PROTOCOL.md).
type Mechanism struct {
	Type      MechanismType
	Parameter []byte
	Null      bool   // the pointer to the parameter was NULL
	Length    uint64 // with Null: the ulParameterLen that stood beside it
	Absent    bool   // the pointer to the mechanism itself was NULL
}

// MechanismInfo says what a token can do with a mechanism (CK_MECHANISM_INFO).
type MechanismInfo struct {
	MinKeySize, MaxKeySize uint64
	Flags                  uint64
}
