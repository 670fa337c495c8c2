// SPDX-License-Identifier: Apache-2.0

// Package wire is the protocol of oneslot: the table of calls, their encoding,
// and the two carriers, frames on a Unix socket and messages in streams over a network.
// PROTOCOL.md is its specification. It decides nothing about calls.
package wire

//go:generate go run ./gen

import (
	"fmt"

	"oneslot.dev/oneslot/pkcs11"
)

// Version is the version of the protocol. Its history is in PROTOCOL.md.
const Version = 1

// Limits of the protocol (PROTOCOL.md, "Limits").
const (
	MaxFrame      = 16 << 20 // bytes of a frame or message
	MaxAttributes = 1024     // in one template or query, arrays included
	MaxDepth      = 4        // of arrays in templates
)

// Number is the number of a call in calls.def.
type Number uint32

func (n Number) String() string {
	if name, ok := names[n]; ok {
		return name
	}
	return fmt.Sprintf("call %d", uint32(n))
}

// Class is what may happen to a call when its answer is lost: the failover
// policy as data (calls.def).
func (n Number) Class() Class { return classes[n] }

// Class is the class of a call.
type Class uint8

// The classes, from harmless to grave.
const (
	Module Class = iota // answered inside the module
	Local               // the engine answers
	Ask                 // reads; any member may repeat it
	Use                 // works with a key, changes nothing; may be repeated
	Make                // creates, changes or destroys; never repeated blindly once sent
)

// Repeatable says whether another member may be asked after a lost answer.
func (c Class) Repeatable() bool { return c < Make }

// A Call is a call with its arguments, and once answered its RV and reply. The
// generated structs implement it. What a decoded call holds points into the
// memory it was decoded from.
type Call interface {
	Number() Number
	Result() pkcs11.RV
	setResult(pkcs11.RV)
	encodeArgs(*Encoder)
	decodeArgs(*Decoder)
	encodeReply(*Encoder)
	decodeReply(*Decoder)
}

// An Answer is the part of a reply that every call has.
type Answer struct{ RV pkcs11.RV }

// Result is the return value of the call, once it is answered.
func (a *Answer) Result() pkcs11.RV { return a.RV }

func (a *Answer) setResult(rv pkcs11.RV) { a.RV = rv }

// Bytes is a byte string or a NULL pointer with the length that stood beside
// it. In a reply, Null tells the length only. The zero value is empty.
type Bytes struct {
	Data   []byte
	Null   bool
	Length uint64 // with Null
}

// Data wraps a byte string.
func Data(b []byte) Bytes { return Bytes{Data: b} }

// LengthOnly is the reply to a query for the length, or to a room too small.
func LengthOnly(n uint64) Bytes { return Bytes{Null: true, Length: n} }

// Len is the length, known with or without the data.
func (b Bytes) Len() uint64 {
	if b.Null {
		return b.Length
	}
	return uint64(len(b.Data))
}

// Ulongs is a list of CK_ULONG, or only its length, as in replies.
type Ulongs struct {
	Values []uint64
	Null   bool
	Length uint64 // with Null, in elements
}

// A Room is an output buffer: what the caller has, not what it holds. A NULL
// pointer asks for the length.
type Room struct {
	Null     bool
	Capacity uint64
}

// Fit answers a room with data by the convention of PKCS#11 2.40, 5.2: the
// length for a NULL pointer, CKR_BUFFER_TOO_SMALL and the length for a short one.
func (r Room) Fit(data []byte) (Bytes, pkcs11.RV) {
	switch {
	case r.Null:
		return LengthOnly(uint64(len(data))), pkcs11.CKR_OK
	case uint64(len(data)) > r.Capacity:
		return LengthOnly(uint64(len(data))), pkcs11.CKR_BUFFER_TOO_SMALL
	}
	return Data(data), pkcs11.CKR_OK
}

// FitUlongs is Fit for a list of CK_ULONG; capacity counts elements.
func (r Room) FitUlongs(values []uint64) (Ulongs, pkcs11.RV) {
	switch {
	case r.Null:
		return Ulongs{Null: true, Length: uint64(len(values))}, pkcs11.CKR_OK
	case uint64(len(values)) > r.Capacity:
		return Ulongs{Null: true, Length: uint64(len(values))}, pkcs11.CKR_BUFFER_TOO_SMALL
	}
	return Ulongs{Values: values}, pkcs11.CKR_OK
}

// Query is what C_GetAttributeValue asks.
type Query []Question

// A Question asks for one attribute.
type Question struct {
	Type     pkcs11.AttributeType
	Form     QuestionForm
	Capacity uint64 // with AskRoom, in bytes
	Array    Query  // with AskArray
}

// QuestionForm is what stood in pValue.
type QuestionForm uint8

// The forms of a question.
const (
	AskLength QuestionForm = iota // NULL
	AskRoom                       // a buffer
	AskArray                      // a list of attributes to fill in
)

// Values are the answers to a Query, in its order.
type Values []Value

// A Value answers a Question.
type Value struct {
	Type   pkcs11.AttributeType
	Form   ValueForm
	Length uint64 // with GotLength in bytes, with GotCount in attributes
	Data   []byte // with GotData
	Array  Values // with GotArray
}

// ValueForm is what a Value holds.
type ValueForm uint8

// The forms of a value.
const (
	GotLength      ValueForm = iota // the length only
	GotData                         // a value
	GotArray                        // a list of values
	GotUnavailable                  // nothing: sensitive, unknown or too large for the room
	GotCount                        // the number of attributes of an array only
)

// A View is how much of oneslot a member session has.
type View string

// The views. Helper objects are hidden in all of them.
const (
	GroupView  View = "group"  // creation follows the rules for copying
	ExportView View = "export" // the same, and key export is permitted (rule K7)
	TokenView  View = "token"  // the token as it is
)
