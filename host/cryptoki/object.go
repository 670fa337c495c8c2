// SPDX-License-Identifier: Apache-2.0

package cryptoki

// #include "shim.h"
import "C"

import (
	"context"
	"unsafe"

	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/wire"
)

// CreateObject answers the call.
func (s *Session) CreateObject(_ context.Context, c *wire.CreateObject) pkcs11.RV {
	s.arena.reset()
	t, n, rv := s.template(c.Template)
	if rv != pkcs11.CKR_OK {
		return rv
	}
	var object C.CK_OBJECT_HANDLE
	rv = pkcs11.RV(C.oneslot_create(s.module.list, s.handle, t, n, &object))
	c.Object = uint64(object)
	return rv
}

// CopyObject answers the call.
func (s *Session) CopyObject(_ context.Context, c *wire.CopyObject) pkcs11.RV {
	s.arena.reset()
	t, n, rv := s.template(c.Template)
	if rv != pkcs11.CKR_OK {
		return rv
	}
	var object C.CK_OBJECT_HANDLE
	rv = pkcs11.RV(C.oneslot_copy(s.module.list, s.handle, C.CK_OBJECT_HANDLE(c.Source), t, n, &object))
	c.Object = uint64(object)
	return rv
}

// DestroyObject answers the call.
func (s *Session) DestroyObject(_ context.Context, c *wire.DestroyObject) pkcs11.RV {
	return pkcs11.RV(C.oneslot_object(C.fn_object(s.module.list.C_DestroyObject), s.handle, C.CK_OBJECT_HANDLE(c.Object)))
}

// GetObjectSize answers the call.
func (s *Session) GetObjectSize(_ context.Context, c *wire.GetObjectSize) pkcs11.RV {
	var size C.CK_ULONG
	rv := pkcs11.RV(C.oneslot_size(s.module.list, s.handle, C.CK_OBJECT_HANDLE(c.Object), &size))
	c.Size = uint64(size)
	return rv
}

// SetAttributeValue answers the call.
func (s *Session) SetAttributeValue(_ context.Context, c *wire.SetAttributeValue) pkcs11.RV {
	s.arena.reset()
	t, n, rv := s.template(c.Template)
	if rv != pkcs11.CKR_OK {
		return rv
	}
	return pkcs11.RV(C.oneslot_attributes(C.fn_attributes(s.module.list.C_SetAttributeValue), s.handle,
		C.CK_OBJECT_HANDLE(c.Object), t, n))
}

// FindObjectsInit answers the call.
func (s *Session) FindObjectsInit(_ context.Context, c *wire.FindObjectsInit) pkcs11.RV {
	s.arena.reset()
	t, n, rv := s.template(c.Template)
	if rv != pkcs11.CKR_OK {
		return rv
	}
	return pkcs11.RV(C.oneslot_find_init(s.module.list, s.handle, t, n))
}

// Most handles that are asked of a module at once.
const findBatch = 1024

// FindObjects answers the call.
func (s *Session) FindObjects(_ context.Context, c *wire.FindObjects) pkcs11.RV {
	if c.ObjectsRoom.Null {
		return pkcs11.CKR_ARGUMENTS_BAD
	}
	list := make([]uint64, min(c.ObjectsRoom.Capacity, findBatch))
	if len(list) == 0 {
		c.Objects = wire.Ulongs{Values: list}
		return pkcs11.CKR_OK
	}
	var count C.CK_ULONG
	rv := pkcs11.RV(C.oneslot_find(s.module.list, s.handle, (*C.CK_OBJECT_HANDLE)(&list[0]), C.CK_ULONG(len(list)), &count))
	if int(count) > len(list) {
		return pkcs11.CKR_GENERAL_ERROR
	}
	c.Objects = wire.Ulongs{Values: list[:count]}
	return rv
}

// allAtOnce is how many handles FindAll takes from the module in one call from Go. More
// come in batches.
const allAtOnce = 256

// FindAll is a whole search, from C_FindObjectsInit to C_FindObjectsFinal.
func (s *Session) FindAll(template pkcs11.Template) (all []uint64, rv pkcs11.RV) {
	pace()
	s.arena.reset()
	t, n, rv := s.template(template)
	if rv != pkcs11.CKR_OK {
		return nil, rv
	}
	list := array[C.CK_OBJECT_HANDLE](&s.arena, allAtOnce)
	count, more := one[C.CK_ULONG](&s.arena), one[C.CK_BBOOL](&s.arena)
	rv = pkcs11.RV(C.oneslot_find_all(s.module.list, s.handle, t, n, unsafe.SliceData(list), allAtOnce, count, more))
	if rv != pkcs11.CKR_OK {
		return nil, rv
	}
	for _, object := range list[:*count] {
		all = append(all, uint64(object))
	}
	if *more == C.CK_FALSE {
		return all, pkcs11.CKR_OK
	}
	defer s.FindObjectsFinal(context.Background(), nil)
	for {
		c := wire.FindObjects{ObjectsRoom: wire.Room{Capacity: findBatch}}
		if rv := s.FindObjects(context.Background(), &c); rv != pkcs11.CKR_OK {
			return nil, rv
		}
		if len(c.Objects.Values) == 0 {
			return all, pkcs11.CKR_OK
		}
		all = append(all, c.Objects.Values...)
	}
}

// FindObjectsFinal answers the call.
func (s *Session) FindObjectsFinal(context.Context, *wire.FindObjectsFinal) pkcs11.RV {
	return pkcs11.RV(C.oneslot_session(C.fn_session(s.module.list.C_FindObjectsFinal), s.handle))
}

// GenerateKey answers the call.
func (s *Session) GenerateKey(_ context.Context, c *wire.GenerateKey) pkcs11.RV {
	s.arena.reset()
	m, rv := s.mechanism(c.Mechanism)
	if rv != pkcs11.CKR_OK {
		return rv
	}
	t, n, rv := s.template(c.Template)
	if rv != pkcs11.CKR_OK {
		return rv
	}
	var key C.CK_OBJECT_HANDLE
	rv = pkcs11.RV(C.oneslot_generate(s.module.list, s.handle, m, t, n, &key))
	c.Key = uint64(key)
	c.Returned = s.returned(rv)
	return rv
}

// GenerateKeyPair answers the call.
func (s *Session) GenerateKeyPair(_ context.Context, c *wire.GenerateKeyPair) pkcs11.RV {
	s.arena.reset()
	m, rv := s.mechanism(c.Mechanism)
	if rv != pkcs11.CKR_OK {
		return rv
	}
	public, n, rv := s.template(c.Public)
	if rv != pkcs11.CKR_OK {
		return rv
	}
	private, n2, rv := s.template(c.Private)
	if rv != pkcs11.CKR_OK {
		return rv
	}
	var a, b C.CK_OBJECT_HANDLE
	rv = pkcs11.RV(C.oneslot_generate_pair(s.module.list, s.handle, m, public, n, private, n2, &a, &b))
	c.PublicKey, c.PrivateKey = uint64(a), uint64(b)
	return rv
}

// WrapKey answers the call.
func (s *Session) WrapKey(_ context.Context, c *wire.WrapKey) pkcs11.RV {
	s.arena.reset()
	m, rv := s.mechanism(c.Mechanism)
	if rv != pkcs11.CKR_OK {
		return rv
	}
	c.Wrapped, rv = s.output(c.WrappedRoom, 0, func(out *C.CK_BYTE) C.CK_RV {
		return C.oneslot_wrap(s.module.list, s.handle, m, C.CK_OBJECT_HANDLE(c.Wrapping), C.CK_OBJECT_HANDLE(c.Key), out, s.length)
	})
	c.Returned = s.returned(rv)
	return rv
}

// UnwrapKey answers the call.
func (s *Session) UnwrapKey(_ context.Context, c *wire.UnwrapKey) pkcs11.RV {
	s.arena.reset()
	m, rv := s.mechanism(c.Mechanism)
	if rv != pkcs11.CKR_OK {
		return rv
	}
	in, length, ok := input(c.Wrapped)
	if !ok {
		return pkcs11.CKR_ARGUMENTS_BAD
	}
	t, n, rv := s.template(c.Template)
	if rv != pkcs11.CKR_OK {
		return rv
	}
	var key C.CK_OBJECT_HANDLE
	rv = pkcs11.RV(C.oneslot_unwrap(s.module.list, s.handle, m, C.CK_OBJECT_HANDLE(c.Unwrapping), in, length, t, n, &key))
	c.Key = uint64(key)
	return rv
}

// DeriveKey answers the call.
func (s *Session) DeriveKey(_ context.Context, c *wire.DeriveKey) pkcs11.RV {
	s.arena.reset()
	m, rv := s.mechanism(c.Mechanism)
	if rv != pkcs11.CKR_OK {
		return rv
	}
	t, n, rv := s.template(c.Template)
	if rv != pkcs11.CKR_OK {
		return rv
	}
	key := new(C.CK_OBJECT_HANDLE)
	if c.Mechanism.Type.Form().Instead() {
		key = nil // "unnecessary, and should be a NULL_PTR" (2.40, mechanisms, 2.27.6)
	}
	rv = pkcs11.RV(C.oneslot_derive(s.module.list, s.handle, m, C.CK_OBJECT_HANDLE(c.Base), t, n, key))
	if key != nil {
		c.Key = uint64(*key)
	}
	c.Returned = s.returned(rv)
	return rv
}
