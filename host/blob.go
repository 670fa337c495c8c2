// SPDX-License-Identifier: Apache-2.0

package host

import (
	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/wire"
)

// blobVersion begins a blob. A member that does not know the version refuses.
const blobVersion = "oneslot copy 1"

// How the key material of a blob is carried.
const (
	carryPlain  = 0 // there is none: a public object
	carryStrict = 1 // under the strict domain key
	carryOpen   = 2 // under the open domain key
)

// A blob is an object on its way to another member, or to another host: all
// that is needed to make an equal one. Secret material is wrapped; everything is
// under the seal of the domain. A public object of a token without domain has
// no seal.
type blob struct {
	identity   wire.Identity // flags, label and ID as on the origin
	domain     []byte
	carry      byte
	mechanism  pkcs11.MechanismType // that wrapped
	wrapped    []byte
	attributes pkcs11.Template // to make it with
	held       pkcs11.Template // and these, which forbid changing or copying it
	shown      pkcs11.Template // what applications see of the adjusted attributes
	seal       []byte
}

// body is all but the seal.
func (b *blob) body() []byte {
	var e wire.Encoder
	e.Blob([]byte(blobVersion))
	e.Identity(b.identity)
	e.Blob(b.domain)
	e.U8(b.carry)
	e.Ulong(uint64(b.mechanism))
	e.Blob(b.wrapped)
	for _, t := range []pkcs11.Template{b.attributes, b.held, b.shown} {
		e.Template(append(pkcs11.Template{}, t...))
	}
	return e.Buf
}

func (b *blob) encode() []byte {
	e := wire.Encoder{Buf: b.body()}
	e.Blob(b.seal)
	return e.Buf
}

// decodeBlob reads a blob. It is the caller's to check the seal.
func decodeBlob(data []byte) (*blob, bool) {
	d := wire.NewDecoder(data)
	if string(d.Blob()) != blobVersion {
		return nil, false
	}
	b := &blob{identity: d.Identity(), domain: d.Blob(), carry: d.U8(), mechanism: pkcs11.MechanismType(d.Ulong()),
		wrapped: d.Blob(), attributes: d.Template(), held: d.Template(), shown: d.Template(), seal: d.Blob()}
	return b, d.End() == nil && len(b.identity.Fingerprint) > 0
}

// secret says whether objects of a class hold secret material.
func secret(class uint64) bool {
	return class == pkcs11.CKO_PRIVATE_KEY || class == pkcs11.CKO_SECRET_KEY || class == pkcs11.CKO_OTP_KEY
}
