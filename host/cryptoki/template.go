// SPDX-License-Identifier: Apache-2.0

package cryptoki

// #include "shim.h"
import "C"

import (
	"context"
	"slices"
	"unsafe"

	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/wire"
)

const attributeSize = uint64(unsafe.Sizeof(C.CK_ATTRIBUTE{}))

// template builds a template. NULL with a length beside it is refused here, as
// for input; a NULL template with no attributes stays NULL.
func (s *Session) template(t pkcs11.Template) (*C.CK_ATTRIBUTE, C.CK_ULONG, pkcs11.RV) {
	if t == nil {
		return nil, 0, pkcs11.CKR_OK
	}
	list := array[C.CK_ATTRIBUTE](&s.arena, len(t))
	for i := range t {
		a, c := &t[i], &list[i]
		c._type = C.CK_ATTRIBUTE_TYPE(a.Type)
		switch {
		case a.Null && a.Length != 0:
			return nil, 0, pkcs11.CKR_ATTRIBUTE_VALUE_INVALID
		case a.Null:
		case a.IsList:
			inner, n, rv := s.template(a.Array)
			if rv != pkcs11.CKR_OK {
				return nil, 0, rv
			}
			c.pValue, c.ulValueLen = unsafe.Pointer(inner), n*C.CK_ULONG(attributeSize)
		default:
			c.pValue, c.ulValueLen = s.arena.bytes(a.Value), C.CK_ULONG(len(a.Value))
		}
	}
	return unsafe.SliceData(list), C.CK_ULONG(len(list)), pkcs11.CKR_OK
}

// directRoom is the largest room that is made as large as the caller says.
// Larger ones are asked for their length first.
const directRoom = 4 << 10

// GetAttributeValue answers the call. Every question is answered whatever the
// module makes of the others (PKCS#11 2.40, C_GetAttributeValue).
func (s *Session) GetAttributeValue(_ context.Context, c *wire.GetAttributeValue) pkcs11.RV {
	s.arena.reset()
	if !wellFormed(c.Query) {
		return pkcs11.CKR_ARGUMENTS_BAD
	}
	list := array[C.CK_ATTRIBUTE](&s.arena, max(len(c.Query), 1))
	left := uint64(wire.MaxFrame)
	query, fits := s.questions(c.Object, c.Query, list, &left)
	if !fits {
		return pkcs11.CKR_DEVICE_MEMORY
	}
	rv := s.read(c.Object, list[:len(c.Query)])
	if !rv.HasReply() {
		return rv
	}
	var complete bool
	c.Values, complete = answers(query, list)
	if rv == pkcs11.CKR_OK && !complete {
		// Some modules say OK and leave an all-ones length behind.
		rv = pkcs11.CKR_ATTRIBUTE_TYPE_INVALID
	}
	return rv
}

func (s *Session) read(object uint64, list []C.CK_ATTRIBUTE) pkcs11.RV {
	return pkcs11.RV(C.oneslot_attributes(C.fn_attributes(s.module.list.C_GetAttributeValue), s.handle,
		C.CK_OBJECT_HANDLE(object), unsafe.SliceData(list), C.CK_ULONG(len(list))))
}

// wellFormed says whether lists are asked of the attributes that are lists, and
// of no others: a module would read a plain room as structures with pointers.
func wellFormed(q wire.Query) bool {
	for i := range q {
		isArray := q[i].Type.IsArray()
		if q[i].Form == wire.AskArray && (!isArray || !wellFormed(q[i].Array)) || q[i].Form == wire.AskRoom && isArray {
			return false
		}
	}
	return true
}

// questions builds what the module is asked. The result is the query with the
// rooms that there really are. left is how much they may take in all: what is more
// cannot be carried, and one long value that is asked for very often fills memory. It does
// not fit then.
func (s *Session) questions(object uint64, asked wire.Query, list []C.CK_ATTRIBUTE, left *uint64) (q wire.Query, fits bool) {
	q = slices.Clone(asked)
	for i := range q {
		c := &list[i]
		c._type = C.CK_ATTRIBUTE_TYPE(q[i].Type)
		switch q[i].Form {
		case wire.AskRoom:
			room := q[i].Capacity
			if room > directRoom {
				room = min(room, s.lengthOf(object, q[i].Type))
			}
			if room > *left {
				return nil, false
			}
			*left -= room
			q[i].Capacity = room
			c.pValue, c.ulValueLen = s.arena.take(int(room)), C.CK_ULONG(room)
		case wire.AskArray:
			n := len(q[i].Array)
			inner := array[C.CK_ATTRIBUTE](&s.arena, max(n, 1))
			if q[i].Array, fits = s.questions(object, q[i].Array, inner, left); !fits {
				return nil, false
			}
			c.pValue, c.ulValueLen = unsafe.Pointer(&inner[0]), C.CK_ULONG(uint64(n)*attributeSize)
		}
	}
	return q, true
}

// lengthOf asks the module how long a value is. If it cannot say, a small room
// brings the module's own answer about the attribute.
func (s *Session) lengthOf(object uint64, t pkcs11.AttributeType) uint64 {
	ask := one[C.CK_ATTRIBUTE](&s.arena)
	ask._type = C.CK_ATTRIBUTE_TYPE(t)
	rv := s.read(object, unsafe.Slice(ask, 1))
	if n := uint64(ask.ulValueLen); rv == pkcs11.CKR_OK && n <= wire.MaxFrame {
		return n
	}
	return directRoom
}

// answers reads what the module filled in. Lengths beyond the room are never
// believed.
func answers(q wire.Query, list []C.CK_ATTRIBUTE) (values wire.Values, complete bool) {
	values, complete = make(wire.Values, len(q)), true
	for i := range q {
		v, c := &values[i], &list[i]
		v.Type = pkcs11.AttributeType(c._type)
		n := uint64(c.ulValueLen)
		switch {
		case n == pkcs11.Unavailable:
			v.Form, complete = wire.GotUnavailable, false
		case q[i].Form == wire.AskRoom:
			if n > q[i].Capacity {
				v.Form, complete = wire.GotUnavailable, false
				break
			}
			v.Form, v.Data = wire.GotData, make([]byte, n)
			copy(v.Data, unsafe.Slice((*byte)(c.pValue), n))
		case q[i].Form == wire.AskArray:
			if n%attributeSize != 0 || n/attributeSize > uint64(len(q[i].Array)) {
				v.Form, complete = wire.GotUnavailable, false
				break
			}
			n /= attributeSize
			var fine bool
			v.Form = wire.GotArray
			v.Array, fine = answers(q[i].Array[:n], unsafe.Slice((*C.CK_ATTRIBUTE)(c.pValue), n))
			complete = complete && fine
		case q[i].Type.IsArray():
			v.Form, v.Length = wire.GotCount, n/attributeSize
		default:
			v.Form, v.Length = wire.GotLength, n
		}
	}
	return values, complete
}
