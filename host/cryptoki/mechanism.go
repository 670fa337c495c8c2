// SPDX-License-Identifier: Apache-2.0

package cryptoki

// #include "shim.h"
import "C"

import (
	"unsafe"

	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/wire"
)

// mechanism builds a mechanism with its parameter from the flat form
// (wire/PROTOCOL.md, "Mechanism parameters").
func (s *Session) mechanism(m pkcs11.Mechanism) (*C.CK_MECHANISM, pkcs11.RV) {
	if m.Absent {
		return nil, pkcs11.CKR_ARGUMENTS_BAD
	}
	out := one[C.CK_MECHANISM](&s.arena)
	out.mechanism = C.CK_MECHANISM_TYPE(m.Type)
	if m.Null {
		if m.Length != 0 {
			return nil, pkcs11.CKR_MECHANISM_PARAM_INVALID
		}
		return out, pkcs11.CKR_OK
	}
	if len(m.Parameter) == 0 {
		return out, pkcs11.CKR_OK
	}
	form := m.Type.Form()
	if form == pkcs11.FormRaw {
		out.pParameter, out.ulParameterLen = s.arena.bytes(m.Parameter), C.CK_ULONG(len(m.Parameter))
		return out, pkcs11.CKR_OK
	}
	f := flat{arena: &s.arena, d: wire.NewDecoder(m.Parameter)}
	at, size := f.parameter(form)
	if at == nil || f.bad || f.d.End() != nil {
		return nil, pkcs11.CKR_MECHANISM_PARAM_INVALID
	}
	out.pParameter, out.ulParameterLen = at, C.CK_ULONG(size)
	return out, pkcs11.CKR_OK
}

// flat reads a flat parameter.
type flat struct {
	arena *arena
	d     *wire.Decoder
	bad   bool // NULL with a length beside it
}

func (f *flat) ulong() C.CK_ULONG { return C.CK_ULONG(f.d.Ulong()) }

func (f *flat) bytes() (unsafe.Pointer, C.CK_ULONG) {
	b := f.d.Bytes()
	if b.Null {
		f.bad = f.bad || b.Length != 0
		return nil, 0
	}
	return f.arena.bytes(b.Data), C.CK_ULONG(len(b.Data))
}

// Structures that p11-kit's header does not have (PKCS#11 3.0, mechanisms).
type (
	eddsaParams struct { // CK_EDDSA_PARAMS
		flag    C.CK_BBOOL
		length  C.CK_ULONG
		context unsafe.Pointer
	}
	rsaWrapParams struct { // CK_RSA_AES_KEY_WRAP_PARAMS
		bits C.CK_ULONG
		oaep *C.CK_RSA_PKCS_OAEP_PARAMS
	}
	ccmParams struct { // CK_CCM_PARAMS
		dataLen  C.CK_ULONG
		nonce    unsafe.Pointer
		nonceLen C.CK_ULONG
		aad      unsafe.Pointer
		aadLen   C.CK_ULONG
		macLen   C.CK_ULONG
	}
	gcmParams struct { // CK_GCM_PARAMS of 2.40, with ulIvBits
		iv      unsafe.Pointer
		ivLen   C.CK_ULONG
		ivBits  C.CK_ULONG
		aad     unsafe.Pointer
		aadLen  C.CK_ULONG
		tagBits C.CK_ULONG
	}
	ecdhParams struct { // CK_ECDH1_DERIVE_PARAMS
		kdf       C.CK_ULONG
		sharedLen C.CK_ULONG
		shared    unsafe.Pointer
		publicLen C.CK_ULONG
		public    unsafe.Pointer
	}
	stringParams struct { // CK_KEY_DERIVATION_STRING_DATA
		data   unsafe.Pointer
		length C.CK_ULONG
	}
	cbcDataParams[IV any] struct { // CK_AES_CBC_ENCRYPT_DATA_PARAMS and its like
		iv     IV
		data   unsafe.Pointer
		length C.CK_ULONG
	}
)

// parameter builds the structure. A nil pointer: there is none of this form.
func (f *flat) parameter(form pkcs11.ParameterForm) (unsafe.Pointer, uintptr) {
	switch form {
	case pkcs11.FormOaep:
		p := f.oaep()
		return unsafe.Pointer(p), unsafe.Sizeof(*p)
	case pkcs11.FormGcm:
		p := one[gcmParams](f.arena)
		p.iv, p.ivLen = f.bytes()
		f.arena.returned = changed(p.iv, p.ivLen)
		p.ivBits = f.ulong()
		p.aad, p.aadLen = f.bytes()
		p.tagBits = f.ulong()
		return unsafe.Pointer(p), unsafe.Sizeof(*p)
	case pkcs11.FormMaster, pkcs11.FormMaster12:
		return f.master(form == pkcs11.FormMaster12)
	case pkcs11.FormMaterial, pkcs11.FormMaterial12:
		return f.material(form == pkcs11.FormMaterial12)
	case pkcs11.FormPrf:
		return f.prf()
	case pkcs11.FormKdf:
		return f.kdf()
	case pkcs11.FormPbe:
		return f.pbe()
	case pkcs11.FormCcm:
		p := one[ccmParams](f.arena)
		p.dataLen = f.ulong()
		p.nonce, p.nonceLen = f.bytes()
		p.aad, p.aadLen = f.bytes()
		p.macLen = f.ulong()
		return unsafe.Pointer(p), unsafe.Sizeof(*p)
	case pkcs11.FormEcdh:
		p := one[ecdhParams](f.arena)
		p.kdf = f.ulong()
		p.shared, p.sharedLen = f.bytes()
		p.public, p.publicLen = f.bytes()
		return unsafe.Pointer(p), unsafe.Sizeof(*p)
	case pkcs11.FormString:
		p := one[stringParams](f.arena)
		p.data, p.length = f.bytes()
		return unsafe.Pointer(p), unsafe.Sizeof(*p)
	case pkcs11.FormCbcdata8:
		p := one[cbcDataParams[[8]byte]](f.arena)
		f.iv(p.iv[:])
		p.data, p.length = f.bytes()
		return unsafe.Pointer(p), unsafe.Sizeof(*p)
	case pkcs11.FormCbcdata16:
		p := one[cbcDataParams[[16]byte]](f.arena)
		f.iv(p.iv[:])
		p.data, p.length = f.bytes()
		return unsafe.Pointer(p), unsafe.Sizeof(*p)
	case pkcs11.FormEddsa:
		p := one[eddsaParams](f.arena)
		p.flag = C.CK_BBOOL(f.d.U8())
		p.context, p.length = f.bytes()
		return unsafe.Pointer(p), unsafe.Sizeof(*p)
	case pkcs11.FormRsawrap:
		p := one[rsaWrapParams](f.arena)
		p.bits = f.ulong()
		p.oaep = f.oaep()
		return unsafe.Pointer(p), unsafe.Sizeof(*p)
	case pkcs11.FormKey:
		p := one[C.CK_OBJECT_HANDLE](f.arena)
		*p = C.CK_OBJECT_HANDLE(f.d.Ulong())
		return unsafe.Pointer(p), unsafe.Sizeof(*p)
	}
	return nil, 0
}

func (f *flat) oaep() *C.CK_RSA_PKCS_OAEP_PARAMS {
	p := one[C.CK_RSA_PKCS_OAEP_PARAMS](f.arena)
	p.hashAlg, p.mgf, p.source = f.ulong(), f.ulong(), f.ulong()
	at, n := f.bytes()
	p.pSourceData, p.ulSourceDataLen = at, n
	return p
}

func (f *flat) iv(iv []byte) {
	for i := range iv {
		iv[i] = f.d.U8()
	}
}
