// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"encoding/binary"

	"oneslot.dev/oneslot/pkcs11"
)

// An Encoder appends values to a buffer in the encoding of PROTOCOL.md.
type Encoder struct{ Buf []byte }

// U8 appends a byte.
func (e *Encoder) U8(v uint8) { e.Buf = append(e.Buf, v) }

// U32 appends four bytes.
func (e *Encoder) U32(v uint32) { e.Buf = binary.LittleEndian.AppendUint32(e.Buf, v) }

// Ulong appends eight bytes.
func (e *Encoder) Ulong(v uint64) { e.Buf = binary.LittleEndian.AppendUint64(e.Buf, v) }

// Bool appends 0 or 1.
func (e *Encoder) Bool(v bool) {
	if v {
		e.U8(1)
	} else {
		e.U8(0)
	}
}

// head appends presence and length.
func (e *Encoder) head(present bool, length uint64) {
	e.Bool(present)
	e.Ulong(length)
}

// Bytes appends a byte string, or the length beside a NULL pointer.
func (e *Encoder) Bytes(b Bytes) {
	e.head(!b.Null, b.Len())
	if !b.Null {
		e.Buf = append(e.Buf, b.Data...)
	}
}

// Blob appends a byte string that is never NULL.
func (e *Encoder) Blob(b []byte) { e.Bytes(Data(b)) }

// Blobs appends a list of byte strings.
func (e *Encoder) Blobs(list [][]byte) {
	e.Ulong(uint64(len(list)))
	for _, b := range list {
		e.Blob(b)
	}
}

// PIN appends a PIN; nil is the NULL pointer.
func (e *Encoder) PIN(p pkcs11.PIN) { e.Bytes(Bytes{Data: p, Null: p == nil}) }

// Room appends an output buffer's size.
func (e *Encoder) Room(r Room) { e.head(!r.Null, r.Capacity) }

// Ulongs appends a list of CK_ULONG.
func (e *Encoder) Ulongs(u Ulongs) {
	if u.Null {
		e.head(false, u.Length)
		return
	}
	e.head(true, uint64(len(u.Values)))
	for _, v := range u.Values {
		e.Ulong(v)
	}
}

// Mechanism appends a mechanism with its flat parameter.
func (e *Encoder) Mechanism(m pkcs11.Mechanism) {
	e.Bool(!m.Absent)
	e.Ulong(uint64(m.Type))
	e.Bytes(Bytes{Data: m.Parameter, Null: m.Null, Length: m.Length})
}

// Template appends a template. A nil template is a NULL pointer.
func (e *Encoder) Template(t pkcs11.Template) {
	e.head(t != nil, uint64(len(t)))
	e.attributes(t)
}

func (e *Encoder) attributes(t pkcs11.Template) {
	for i := range t {
		a := &t[i]
		e.Ulong(uint64(a.Type))
		switch {
		case a.Null:
			e.U8(0)
			e.Ulong(a.Length)
		case a.IsList:
			e.U8(2)
			e.Ulong(uint64(len(a.Array)))
			e.attributes(a.Array)
		default:
			e.U8(1)
			e.Ulong(uint64(len(a.Value)))
			e.Buf = append(e.Buf, a.Value...)
		}
	}
}

// Query appends what C_GetAttributeValue asks.
func (e *Encoder) Query(q Query) {
	e.head(q != nil, uint64(len(q)))
	e.questions(q)
}

func (e *Encoder) questions(q Query) {
	for i := range q {
		e.Ulong(uint64(q[i].Type))
		e.U8(uint8(q[i].Form))
		if q[i].Form == AskArray {
			e.Ulong(uint64(len(q[i].Array)))
			e.questions(q[i].Array)
		} else {
			e.Ulong(q[i].Capacity)
		}
	}
}

// Values appends the answers to a query.
func (e *Encoder) Values(list Values) {
	e.Ulong(uint64(len(list)))
	e.values(list)
}

func (e *Encoder) values(list Values) {
	for i := range list {
		v := &list[i]
		e.Ulong(uint64(v.Type))
		e.U8(uint8(v.Form))
		switch v.Form {
		case GotData:
			e.Ulong(uint64(len(v.Data)))
			e.Buf = append(e.Buf, v.Data...)
		case GotArray:
			e.Ulong(uint64(len(v.Array)))
			e.values(v.Array)
		case GotUnavailable:
			e.Ulong(pkcs11.Unavailable)
		default:
			e.Ulong(v.Length)
		}
	}
}

func (e *Encoder) version(v pkcs11.Version) { e.Buf = append(e.Buf, v.Major, v.Minor) }

// Info appends CK_INFO.
func (e *Encoder) Info(i pkcs11.Info) {
	e.version(i.Cryptoki)
	e.Buf = append(e.Buf, i.Manufacturer[:]...)
	e.Ulong(i.Flags)
	e.Buf = append(e.Buf, i.Description[:]...)
	e.version(i.Library)
}

// SlotInfo appends CK_SLOT_INFO.
func (e *Encoder) SlotInfo(i pkcs11.SlotInfo) {
	e.Buf = append(e.Buf, i.Description[:]...)
	e.Buf = append(e.Buf, i.Manufacturer[:]...)
	e.Ulong(i.Flags)
	e.version(i.Hardware)
	e.version(i.Firmware)
}

// TokenInfo appends CK_TOKEN_INFO.
func (e *Encoder) TokenInfo(i pkcs11.TokenInfo) {
	e.Buf = append(e.Buf, i.Label[:]...)
	e.Buf = append(e.Buf, i.Manufacturer[:]...)
	e.Buf = append(e.Buf, i.Model[:]...)
	e.Buf = append(e.Buf, i.Serial[:]...)
	for _, v := range []uint64{i.Flags, i.MaxSessions, i.Sessions, i.MaxRWSessions, i.RWSessions, i.MaxPIN, i.MinPIN,
		i.TotalPublicMemory, i.FreePublic, i.TotalPrivateMemory, i.FreePrivate} {
		e.Ulong(v)
	}
	e.version(i.Hardware)
	e.version(i.Firmware)
	e.Buf = append(e.Buf, i.UTCTime[:]...)
}

// SessionInfo appends CK_SESSION_INFO.
func (e *Encoder) SessionInfo(i pkcs11.SessionInfo) {
	e.Ulong(i.Slot)
	e.Ulong(i.State)
	e.Ulong(i.Flags)
	e.Ulong(i.DeviceError)
}

// MechanismInfo appends CK_MECHANISM_INFO.
func (e *Encoder) MechanismInfo(i pkcs11.MechanismInfo) {
	e.Ulong(i.MinKeySize)
	e.Ulong(i.MaxKeySize)
	e.Ulong(i.Flags)
}

// Identity appends an identity.
func (e *Encoder) Identity(i Identity) {
	e.Ulong(i.Object)
	e.Ulong(i.Class)
	e.Ulong(i.KeyType)
	e.Ulong(i.Size)
	e.U8(uint8(i.Flags))
	e.Blob(i.Fingerprint)
	e.Blob(i.Label)
	e.Blob(i.ID)
}

// Identities appends a list of identities.
func (e *Encoder) Identities(list []Identity) {
	e.Ulong(uint64(len(list)))
	for _, i := range list {
		e.Identity(i)
	}
}

// Description appends what a token says of itself.
func (e *Encoder) Description(d Description) {
	e.SlotInfo(d.Slot)
	e.TokenInfo(d.Token)
	e.Ulong(uint64(len(d.Mechanisms)))
	for _, m := range d.Mechanisms {
		e.Ulong(uint64(m.Type))
		e.MechanismInfo(m.Info)
	}
	e.Blob(d.Domain)
	var flags uint8
	if d.Cloning {
		flags |= describesCloning
	}
	if d.UseOnly {
		flags |= describesUseOnly
	}
	e.U8(flags)
	e.Blob([]byte(d.Library))
}
