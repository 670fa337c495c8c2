// SPDX-License-Identifier: Apache-2.0

package cryptoki

// #include "shim.h"
import "C"

import (
	"bytes"
	"unsafe"

	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/wire"
)

// Parameters of mechanisms into which the module writes (PKCS#11 2.40,
// mechanisms, 2.26 ff.).

// returned is what the module wrote, once: what comes after is late.
func (s *Session) returned(rv pkcs11.RV) wire.Bytes {
	if s.arena.returned == nil || rv != pkcs11.CKR_OK {
		return wire.Bytes{}
	}
	return s.arena.returned()
}

// late refuses the result of an encryption whose IV the module chose only now.
// The application's pointer is no longer its word for where to write it, and
// what is encrypted under an IV that nobody knows is lost.
func (s *Session) late(rv pkcs11.RV) pkcs11.RV {
	if s.arena.returned != nil && rv == pkcs11.CKR_OK && len(s.arena.returned().Data) > 0 {
		return pkcs11.CKR_MECHANISM_PARAM_INVALID
	}
	return rv
}

// written is C memory as the module left it.
func written(at unsafe.Pointer, n C.CK_ULONG) []byte {
	return bytes.Clone(unsafe.Slice((*byte)(at), n))
}

// changed reports bytes that are not what they were when it reported last.
func changed(at unsafe.Pointer, n C.CK_ULONG) func() wire.Bytes {
	if at == nil || n == 0 {
		return nil
	}
	before := written(at, n)
	return func() wire.Bytes {
		now := written(at, n)
		if bytes.Equal(now, before) {
			return wire.Bytes{}
		}
		before = now
		return wire.Data(now)
	}
}

type (
	randomData struct { // CK_SSL3_RANDOM_DATA
		client    unsafe.Pointer
		clientLen C.CK_ULONG
		server    unsafe.Pointer
		serverLen C.CK_ULONG
	}
	masterParams struct { // CK_TLS12_MASTER_KEY_DERIVE_PARAMS
		random  randomData
		version unsafe.Pointer
		hash    C.CK_ULONG // not in CK_SSL3_MASTER_KEY_DERIVE_PARAMS
	}
	materialParams struct { // CK_TLS12_KEY_MAT_PARAMS
		macBits C.CK_ULONG
		keyBits C.CK_ULONG
		ivBits  C.CK_ULONG
		export  C.CK_BBOOL
		random  randomData
		out     *materialOut
		hash    C.CK_ULONG // not in CK_SSL3_KEY_MAT_PARAMS
	}
	materialOut struct { // CK_SSL3_KEY_MAT_OUT
		keys     [4]C.CK_OBJECT_HANDLE
		clientIV unsafe.Pointer
		serverIV unsafe.Pointer
	}
	prfParams struct { // CK_TLS_PRF_PARAMS
		seed      unsafe.Pointer
		seedLen   C.CK_ULONG
		label     unsafe.Pointer
		labelLen  C.CK_ULONG
		output    unsafe.Pointer
		outputLen *C.CK_ULONG
	}
	kdfParams struct { // CK_TLS_KDF_PARAMS
		prf        C.CK_ULONG
		label      unsafe.Pointer
		labelLen   C.CK_ULONG
		random     randomData
		context    unsafe.Pointer
		contextLen C.CK_ULONG
	}
	pbeParams struct { // CK_PBE_PARAMS
		iv          unsafe.Pointer
		password    unsafe.Pointer
		passwordLen C.CK_ULONG
		salt        unsafe.Pointer
		saltLen     C.CK_ULONG
		iterations  C.CK_ULONG
	}
)

const pbeIVLength = 8

func (f *flat) random() (r randomData) {
	r.client, r.clientLen = f.bytes()
	r.server, r.serverLen = f.bytes()
	return r
}

func (f *flat) master(hash bool) (unsafe.Pointer, uintptr) {
	p := one[masterParams](f.arena)
	p.random = f.random()
	var n C.CK_ULONG
	if p.version, n = f.bytes(); p.version != nil {
		f.bad = f.bad || n != 2
		f.arena.returned = func() wire.Bytes { return wire.Data(written(p.version, n)) }
	}
	if !hash {
		return unsafe.Pointer(p), unsafe.Offsetof(p.hash)
	}
	p.hash = f.ulong()
	return unsafe.Pointer(p), unsafe.Sizeof(*p)
}

func (f *flat) material(hash bool) (unsafe.Pointer, uintptr) {
	p := one[materialParams](f.arena)
	p.macBits, p.keyBits, p.ivBits = f.ulong(), f.ulong(), f.ulong()
	p.export = C.CK_BBOOL(f.d.U8())
	p.random = f.random()
	n := p.ivBits / 8
	client, server := f.d.U8() != 0, f.d.U8() != 0
	if n > wire.MaxFrame/4 {
		f.bad = true
		return unsafe.Pointer(p), 0
	}
	out := one[materialOut](f.arena)
	p.out = out
	if client {
		out.clientIV = f.arena.take(int(n))
	}
	if server {
		out.serverIV = f.arena.take(int(n))
	}
	f.arena.returned = func() wire.Bytes {
		var m wire.KeyMaterial
		for i, key := range out.keys {
			m.Keys[i] = uint64(key)
		}
		m.ClientIV, m.ServerIV = vector(out.clientIV, n), vector(out.serverIV, n)
		return m.Encode()
	}
	if !hash {
		return unsafe.Pointer(p), unsafe.Offsetof(p.hash)
	}
	p.hash = f.ulong()
	return unsafe.Pointer(p), unsafe.Sizeof(*p)
}

func vector(at unsafe.Pointer, n C.CK_ULONG) wire.Bytes {
	if at == nil {
		return wire.Bytes{Null: true}
	}
	return wire.Data(written(at, n))
}

func (f *flat) prf() (unsafe.Pointer, uintptr) {
	p := one[prfParams](f.arena)
	p.seed, p.seedLen = f.bytes()
	p.label, p.labelLen = f.bytes()
	room := f.ulong()
	if room > wire.MaxFrame/2 {
		f.bad = true
		return unsafe.Pointer(p), 0
	}
	p.output, p.outputLen = f.arena.take(int(room)), one[C.CK_ULONG](f.arena)
	*p.outputLen = room
	f.arena.returned = func() wire.Bytes { return wire.Data(written(p.output, min(*p.outputLen, room))) }
	return unsafe.Pointer(p), unsafe.Sizeof(*p)
}

func (f *flat) kdf() (unsafe.Pointer, uintptr) {
	p := one[kdfParams](f.arena)
	p.prf = f.ulong()
	p.label, p.labelLen = f.bytes()
	p.random = f.random()
	p.context, p.contextLen = f.bytes()
	return unsafe.Pointer(p), unsafe.Sizeof(*p)
}

func (f *flat) pbe() (unsafe.Pointer, uintptr) {
	p := one[pbeParams](f.arena)
	if f.d.U8() != 0 {
		p.iv = f.arena.take(pbeIVLength)
		f.arena.returned = func() wire.Bytes { return wire.Data(written(p.iv, pbeIVLength)) }
	}
	p.password, p.passwordLen = f.bytes()
	p.salt, p.saltLen = f.bytes()
	p.iterations = f.ulong()
	return unsafe.Pointer(p), unsafe.Sizeof(*p)
}
