// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"encoding/binary"
	"errors"

	"oneslot.dev/oneslot/pkcs11"
)

// ErrMalformed says that a peer broke the protocol. Its connection ends.
var ErrMalformed = errors.New("malformed frame")

// A Decoder reads values in the encoding of PROTOCOL.md. The first error
// sticks: everything read after it is zero. Memory is taken only for lengths
// that the rest of the buffer can hold.
type Decoder struct {
	buf    []byte
	broken bool
	budget int // attributes that may still come
}

// NewDecoder reads from buf. What it returns points into buf.
func NewDecoder(buf []byte) *Decoder { return &Decoder{buf: buf, budget: MaxAttributes} }

// End returns ErrMalformed if anything was wrong or is left over.
func (d *Decoder) End() error {
	if d.broken || len(d.buf) > 0 {
		return ErrMalformed
	}
	return nil
}

func (d *Decoder) take(n uint64) []byte {
	if d.broken || n > uint64(len(d.buf)) {
		d.broken = true
		return nil
	}
	out := d.buf[:n:n]
	d.buf = d.buf[n:]
	return out
}

// U8 reads a byte.
func (d *Decoder) U8() uint8 {
	if b := d.take(1); b != nil {
		return b[0]
	}
	return 0
}

// U32 reads four bytes.
func (d *Decoder) U32() uint32 {
	if b := d.take(4); b != nil {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

// Ulong reads eight bytes.
func (d *Decoder) Ulong() uint64 {
	if b := d.take(8); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

// Bool reads 0 or 1.
func (d *Decoder) Bool() bool {
	v := d.U8()
	if v > 1 {
		d.broken = true
	}
	return v == 1
}

// Bytes reads a byte string, or the length beside a NULL pointer.
func (d *Decoder) Bytes() Bytes {
	present, n := d.Bool(), d.Ulong()
	if !present {
		return Bytes{Null: true, Length: n}
	}
	return Bytes{Data: d.take(n)}
}

// Blob reads a byte string that must not be NULL.
func (d *Decoder) Blob() []byte {
	b := d.Bytes()
	if b.Null {
		d.broken = true
	}
	return b.Data
}

// count reads the number of elements that take at least size bytes each.
func (d *Decoder) count(size uint64) int {
	n := d.Ulong()
	if n > uint64(len(d.buf))/size {
		d.broken = true
		return 0
	}
	return int(n)
}

// Blobs reads a list of byte strings.
func (d *Decoder) Blobs() [][]byte {
	list := make([][]byte, 0, d.count(9))
	for range cap(list) {
		list = append(list, d.Blob())
	}
	return list
}

// PIN reads a PIN; the NULL pointer is nil.
func (d *Decoder) PIN() pkcs11.PIN {
	b := d.Bytes()
	if b.Null {
		return nil
	}
	return pkcs11.PIN(b.Data)
}

// Room reads an output buffer's size.
func (d *Decoder) Room() Room {
	present := d.Bool()
	return Room{Null: !present, Capacity: d.Ulong()}
}

// Ulongs reads a list of CK_ULONG.
func (d *Decoder) Ulongs() Ulongs {
	if !d.Bool() {
		return Ulongs{Null: true, Length: d.Ulong()}
	}
	values := make([]uint64, d.count(8))
	for i := range values {
		values[i] = d.Ulong()
	}
	return Ulongs{Values: values}
}

// Mechanism reads a mechanism with its flat parameter.
func (d *Decoder) Mechanism() pkcs11.Mechanism {
	absent := !d.Bool()
	kind := pkcs11.MechanismType(d.Ulong())
	b := d.Bytes()
	return pkcs11.Mechanism{Type: kind, Parameter: b.Data, Null: b.Null, Length: b.Length, Absent: absent}
}

// Template reads a template. It is nil for a NULL pointer only.
func (d *Decoder) Template() pkcs11.Template {
	if !d.Bool() {
		d.Ulong()
		return nil
	}
	return d.attributes(MaxDepth)
}

// elements reads the number of attributes or questions in a list and takes it
// from the budget of the whole frame.
func (d *Decoder) elements(depth int) int {
	n := d.count(17)
	if d.budget -= n; d.budget < 0 || depth < 0 {
		d.broken = true
		return 0
	}
	return n
}

func (d *Decoder) attributes(depth int) pkcs11.Template {
	t := make(pkcs11.Template, d.elements(depth))
	for i := range t {
		t[i].Type = pkcs11.AttributeType(d.Ulong())
		switch d.U8() {
		case 0:
			t[i].Null, t[i].Length = true, d.Ulong()
		case 1:
			t[i].Value = d.take(d.Ulong())
		case 2:
			t[i].IsList, t[i].Array = true, d.attributes(depth-1)
		default:
			d.broken = true
		}
		if d.broken {
			return nil
		}
	}
	return t
}

// Query reads what C_GetAttributeValue asks.
func (d *Decoder) Query() Query {
	if !d.Bool() {
		d.Ulong()
		return nil
	}
	return d.questions(MaxDepth)
}

func (d *Decoder) questions(depth int) Query {
	q := make(Query, d.elements(depth))
	for i := range q {
		q[i].Type = pkcs11.AttributeType(d.Ulong())
		q[i].Form = QuestionForm(d.U8())
		switch q[i].Form {
		case AskLength, AskRoom:
			q[i].Capacity = d.Ulong()
		case AskArray:
			q[i].Array = d.questions(depth - 1)
		default:
			d.broken = true
		}
		if d.broken {
			return nil
		}
	}
	return q
}

// Values reads the answers to a query.
func (d *Decoder) Values() Values { return d.values(MaxDepth) }

func (d *Decoder) values(depth int) Values {
	list := make(Values, d.elements(depth))
	for i := range list {
		v := &list[i]
		v.Type = pkcs11.AttributeType(d.Ulong())
		v.Form = ValueForm(d.U8())
		switch v.Form {
		case GotLength, GotCount:
			v.Length = d.Ulong()
		case GotData:
			v.Data = d.take(d.Ulong())
		case GotArray:
			v.Array = d.values(depth - 1)
		case GotUnavailable:
			v.Length = d.Ulong()
		default:
			d.broken = true
		}
		if d.broken {
			return nil
		}
	}
	return list
}

func (d *Decoder) version() pkcs11.Version { return pkcs11.Version{Major: d.U8(), Minor: d.U8()} }

func (d *Decoder) fixed(field []byte) { copy(field, d.take(uint64(len(field)))) }

// Info reads CK_INFO.
func (d *Decoder) Info() (i pkcs11.Info) {
	i.Cryptoki = d.version()
	d.fixed(i.Manufacturer[:])
	i.Flags = d.Ulong()
	d.fixed(i.Description[:])
	i.Library = d.version()
	return i
}

// SlotInfo reads CK_SLOT_INFO.
func (d *Decoder) SlotInfo() (i pkcs11.SlotInfo) {
	d.fixed(i.Description[:])
	d.fixed(i.Manufacturer[:])
	i.Flags = d.Ulong()
	i.Hardware = d.version()
	i.Firmware = d.version()
	return i
}

// TokenInfo reads CK_TOKEN_INFO.
func (d *Decoder) TokenInfo() (i pkcs11.TokenInfo) {
	d.fixed(i.Label[:])
	d.fixed(i.Manufacturer[:])
	d.fixed(i.Model[:])
	d.fixed(i.Serial[:])
	for _, v := range []*uint64{&i.Flags, &i.MaxSessions, &i.Sessions, &i.MaxRWSessions, &i.RWSessions, &i.MaxPIN, &i.MinPIN,
		&i.TotalPublicMemory, &i.FreePublic, &i.TotalPrivateMemory, &i.FreePrivate} {
		*v = d.Ulong()
	}
	i.Hardware = d.version()
	i.Firmware = d.version()
	d.fixed(i.UTCTime[:])
	return i
}

// SessionInfo reads CK_SESSION_INFO.
func (d *Decoder) SessionInfo() pkcs11.SessionInfo {
	return pkcs11.SessionInfo{Slot: d.Ulong(), State: d.Ulong(), Flags: d.Ulong(), DeviceError: d.Ulong()}
}

// MechanismInfo reads CK_MECHANISM_INFO.
func (d *Decoder) MechanismInfo() pkcs11.MechanismInfo {
	return pkcs11.MechanismInfo{MinKeySize: d.Ulong(), MaxKeySize: d.Ulong(), Flags: d.Ulong()}
}

// Identity reads an identity.
func (d *Decoder) Identity() Identity {
	return Identity{
		Object: d.Ulong(), Class: d.Ulong(), KeyType: d.Ulong(), Size: d.Ulong(), Flags: IdentityFlags(d.U8()),
		Fingerprint: d.Blob(), Label: d.Blob(), ID: d.Blob(),
	}
}

// Identities reads a list of identities.
func (d *Decoder) Identities() []Identity {
	list := make([]Identity, 0, d.count(60))
	for range cap(list) {
		list = append(list, d.Identity())
	}
	return list
}

// Description reads what a token says of itself.
func (d *Decoder) Description() (t Description) {
	t.Slot = d.SlotInfo()
	t.Token = d.TokenInfo()
	t.Mechanisms = make([]OfferedMechanism, d.count(32))
	for i := range t.Mechanisms {
		t.Mechanisms[i] = OfferedMechanism{pkcs11.MechanismType(d.Ulong()), d.MechanismInfo()}
	}
	t.Domain = d.Blob()
	flags := d.U8()
	t.Cloning, t.UseOnly = flags&describesCloning != 0, flags&describesUseOnly != 0
	d.broken = d.broken || flags&^(describesCloning|describesUseOnly) != 0
	t.Library = string(d.Blob())
	return t
}
