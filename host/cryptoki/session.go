// SPDX-License-Identifier: Apache-2.0

package cryptoki

// #include <stdlib.h>
// #include "direct.h"
import "C"

import (
	"bytes"
	"context"
	"unsafe"

	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/wire"
)

// A Session is a session of the module. It serves one caller at a time. Those
// of its methods that take a call of the wire answer it as the module does, and
// what they return belongs to the caller.
type Session struct {
	wire.NoCryptoki // what belongs to the slot, not to a session

	module *Module
	handle C.CK_SESSION_HANDLE
	arena  arena
	length *C.CK_ULONG              // where the module writes a length
	out    []byte                   // where it writes output
	direct *C.struct_oneslot_direct // nil: it was not on the direct path yet
}

// Open is C_OpenSession, with CKF_SERIAL_SESSION and the flags given.
func (m *Module) Open(slot, flags uint64) (*Session, pkcs11.RV) {
	var handle C.CK_SESSION_HANDLE
	rv := pkcs11.RV(C.oneslot_open(m.list, C.CK_SLOT_ID(slot), C.CK_FLAGS(flags|pkcs11.CKF_SERIAL_SESSION), &handle))
	if rv != pkcs11.CKR_OK {
		return nil, rv
	}
	s := &Session{module: m, handle: handle, arena: newArena()}
	s.length = (*C.CK_ULONG)(C.calloc(1, 8))
	return s, rv
}

// Close is C_CloseSession. The session is not used any more.
func (s *Session) Close() pkcs11.RV {
	rv := pkcs11.RV(C.oneslot_session(C.fn_session(s.module.list.C_CloseSession), s.handle))
	s.endDirect()
	s.arena.free()
	C.free(unsafe.Pointer(s.length))
	clear(s.out)
	return rv
}

// Info is C_GetSessionInfo.
func (s *Session) Info() (pkcs11.SessionInfo, pkcs11.RV) {
	s.arena.reset()
	c := one[C.CK_SESSION_INFO](&s.arena)
	rv := pkcs11.RV(C.oneslot_session_info(s.module.list, s.handle, c))
	return pkcs11.SessionInfo{Slot: uint64(c.slotID), State: uint64(c.state), Flags: uint64(c.flags),
		DeviceError: uint64(c.ulDeviceError)}, rv
}

// GetSessionInfo answers the call.
func (s *Session) GetSessionInfo(_ context.Context, c *wire.GetSessionInfo) (rv pkcs11.RV) {
	c.Info, rv = s.Info()
	return rv
}

// Login answers the call.
func (s *Session) Login(_ context.Context, c *wire.Login) pkcs11.RV {
	return pkcs11.RV(C.oneslot_login(s.module.list, s.handle, C.CK_ULONG(c.User), pinPointer(c.Pin), C.CK_ULONG(len(c.Pin))))
}

// Logout answers the call.
func (s *Session) Logout(context.Context, *wire.Logout) pkcs11.RV {
	return pkcs11.RV(C.oneslot_session(C.fn_session(s.module.list.C_Logout), s.handle))
}

// InitPIN answers the call.
func (s *Session) InitPIN(_ context.Context, c *wire.InitPIN) pkcs11.RV {
	return pkcs11.RV(C.oneslot_in(C.fn_in(s.module.list.C_InitPIN), s.handle, pinPointer(c.Pin), C.CK_ULONG(len(c.Pin))))
}

// SetPIN answers the call.
func (s *Session) SetPIN(_ context.Context, c *wire.SetPIN) pkcs11.RV {
	return pkcs11.RV(C.oneslot_in_in(C.fn_in_in(s.module.list.C_SetPIN), s.handle,
		pinPointer(c.Old), C.CK_ULONG(len(c.Old)), pinPointer(c.New), C.CK_ULONG(len(c.New))))
}

// nothing is what an empty byte string points to: NULL means something else.
var nothing [1]byte

func pinPointer(p pkcs11.PIN) *C.CK_BYTE {
	if p == nil {
		return nil
	}
	return bytePointer(p)
}

func bytePointer(b []byte) *C.CK_BYTE {
	if len(b) == 0 {
		b = nothing[:]
	}
	return (*C.CK_BYTE)(unsafe.Pointer(unsafe.SliceData(b)))
}

// input is a byte string as C takes it. NULL with a length beside it would
// make a careless module read there, and the process with it: refused here, as
// PKCS#11 2.40, 5.1.6 has it.
func input(b wire.Bytes) (*C.CK_BYTE, C.CK_ULONG, bool) {
	if b.Null {
		return nil, 0, b.Length == 0
	}
	return bytePointer(b.Data), C.CK_ULONG(len(b.Data)), true
}

// What an output buffer is at first, whatever the caller says it has: most
// output is not longer than its input.
const (
	spareOutput = 64 << 10
	keptOutput  = 256 << 10
)

// output calls a function with an output buffer, by the convention of PKCS#11
// 2.40, 5.2. Its room is what the caller has, which may be more than memory:
// the buffer starts with what is likely and grows when the module asks for it.
func (s *Session) output(room wire.Room, given int, call func(out *C.CK_BYTE) C.CK_RV) (wire.Bytes, pkcs11.RV) {
	if room.Null {
		*s.length = 0
		rv := pkcs11.RV(call(nil))
		return wire.LengthOnly(uint64(*s.length)), rv
	}
	size := min(room.Capacity, uint64(spareOutput+2*given))
	for {
		if uint64(len(s.out)) < size {
			s.out = make([]byte, size)
		}
		*s.length = C.CK_ULONG(size)
		rv := pkcs11.RV(call(bytePointer(s.out)))
		n := uint64(*s.length)
		switch {
		case rv == pkcs11.CKR_OK && n > size:
			return wire.Bytes{}, pkcs11.CKR_GENERAL_ERROR // it wrote where it must not, or counts wrongly
		case rv == pkcs11.CKR_BUFFER_TOO_SMALL && n > size && n <= room.Capacity && n <= wire.MaxFrame:
			size = n
			continue
		case rv == pkcs11.CKR_BUFFER_TOO_SMALL:
			return wire.LengthOnly(n), rv
		case rv != pkcs11.CKR_OK:
			return wire.Bytes{}, rv
		}
		data := bytes.Clone(s.out[:n])
		if data == nil {
			data = []byte{}
		}
		if len(s.out) > keptOutput {
			s.out = nil
		}
		return wire.Data(data), rv
	}
}
