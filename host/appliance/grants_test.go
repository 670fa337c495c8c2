// SPDX-License-Identifier: Apache-2.0

package appliance

import (
	"testing"

	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/wire"
)

// Every call beside every grant. Handles 1 to 4 are a key and a certificate on
// the token, and the same as session objects. Of 5 the token does not tell what it is.
func TestGrants(t *testing.T) {
	identify := func(object uint64) (wire.Identity, pkcs11.RV) {
		if object == 5 {
			return wire.Identity{}, pkcs11.CKR_GENERAL_ERROR
		}
		return map[uint64]wire.Identity{
			1: {Class: pkcs11.CKO_SECRET_KEY, Flags: wire.OnToken}, 2: {Class: pkcs11.CKO_CERTIFICATE, Flags: wire.OnToken},
			3: {Class: pkcs11.CKO_SECRET_KEY}, 4: {Class: pkcs11.CKO_CERTIFICATE},
		}[object], pkcs11.CKR_OK
	}
	onToken, inSession := pkcs11.Template{pkcs11.Bool(pkcs11.CKA_TOKEN, true)}, pkcs11.Template{pkcs11.Bool(pkcs11.CKA_TOKEN, false)}
	object := func(class uint64, token bool) *wire.CreateObject {
		return &wire.CreateObject{Template: pkcs11.Template{pkcs11.Ulong(pkcs11.CKA_CLASS, class), pkcs11.Bool(pkcs11.CKA_TOKEN, token)}}
	}
	const (
		ok     = pkcs11.CKR_OK
		no     = pkcs11.CKR_FUNCTION_NOT_SUPPORTED
		never  = pkcs11.CKR_ACTION_PROHIBITED
		locked = pkcs11.CKR_TOKEN_WRITE_PROTECTED
		user   = pkcs11.CKR_USER_TYPE_INVALID
		failed = pkcs11.CKR_GENERAL_ERROR
		both   = pkcs11.CKR_TEMPLATE_INCONSISTENT
	)
	long := pkcs11.Template{pkcs11.Bytes(pkcs11.CKA_TOKEN, []byte{1, 0})} // no CK_BBOOL
	contradiction := append(inSession[:1:1], onToken...)
	for _, c := range []struct {
		call                       wire.Call
		all, noKeys, read, officer pkcs11.RV
	}{
		{&wire.InitToken{}, no, no, no, ok},
		{&wire.InitPIN{}, no, no, no, ok},
		{&wire.SetPIN{}, no, no, no, ok},
		{&wire.Join{}, no, no, no, ok},
		{&wire.Login{User: pkcs11.CKU_SO}, user, user, user, ok},
		{&wire.Login{User: pkcs11.CKU_USER}, ok, ok, ok, ok},
		{&wire.GenerateKey{Template: onToken}, ok, no, locked, ok},
		{&wire.GenerateKey{Template: inSession}, ok, no, ok, ok},
		{&wire.GenerateKeyPair{Public: inSession, Private: onToken}, ok, no, locked, ok},
		{&wire.GenerateKeyPair{}, ok, no, ok, ok},
		{&wire.UnwrapKey{Template: onToken}, ok, no, locked, ok},
		{&wire.DeriveKey{Template: onToken}, ok, no, locked, ok},
		{&wire.DeriveKey{}, ok, no, ok, ok},
		{&wire.WrapKey{}, ok, no, ok, ok},
		{object(pkcs11.CKO_SECRET_KEY, false), ok, no, ok, ok},
		{object(pkcs11.CKO_CERTIFICATE, false), ok, ok, ok, ok},
		{object(pkcs11.CKO_CERTIFICATE, true), ok, ok, locked, ok},
		{&wire.CreateObject{}, ok, no, ok, ok}, // no class is said
		{&wire.CopyObject{Source: 1}, ok, never, locked, ok},
		{&wire.CopyObject{Source: 1, Template: inSession}, ok, never, ok, ok},
		{&wire.CopyObject{Source: 4, Template: onToken}, ok, ok, locked, ok},
		{&wire.DestroyObject{Object: 1}, ok, never, locked, ok},
		{&wire.DestroyObject{Object: 2}, ok, ok, locked, ok},
		{&wire.DestroyObject{Object: 3}, ok, never, ok, ok},
		{&wire.SetAttributeValue{Object: 1}, ok, never, locked, ok},
		{&wire.SetAttributeValue{Object: 4}, ok, ok, ok, ok},
		{&wire.SetAttributeValue{Object: 4, Template: onToken}, ok, ok, locked, ok},
		{&wire.SetAttributeValue{Object: 5}, ok, failed, failed, ok},
		{&wire.CopyObject{Source: 5}, ok, failed, failed, ok},
		{&wire.DestroyObject{Object: 5}, ok, failed, failed, ok},
		{&wire.GenerateKey{Template: long}, ok, no, locked, ok},
		{&wire.CopyObject{Source: 4, Template: long}, ok, ok, locked, ok},
		{&wire.CreateObject{Template: contradiction}, both, both, both, both},
		{&wire.CopyObject{Source: 4, Template: contradiction}, both, both, both, both},
		{&wire.SetAttributeValue{Object: 4, Template: contradiction}, both, both, both, both},
		{&wire.GenerateKey{Template: contradiction}, both, both, both, both},
		{&wire.GenerateKeyPair{Private: contradiction}, both, both, both, both},
		{&wire.UnwrapKey{Template: contradiction}, both, both, both, both},
		{&wire.DeriveKey{Template: contradiction}, both, both, both, both},
		{&wire.Find{Template: contradiction}, ok, ok, ok, ok},
		{&wire.Import{Token: true}, ok, no, locked, ok},
		{&wire.Import{}, ok, no, ok, ok},
		{&wire.Export{}, ok, no, ok, ok},
		{&wire.Publish{}, ok, no, locked, ok},
		{&wire.Record{}, ok, no, locked, ok},
		{&wire.Unrecord{}, ok, no, locked, ok},
		{&wire.Records{}, ok, ok, ok, ok},
		{&wire.SignInit{Key: 1}, ok, ok, ok, ok},
		{&wire.Find{}, ok, ok, ok, ok},
		{&wire.Describe{}, ok, ok, ok, ok},
		{&wire.GenerateRandom{}, ok, ok, ok, ok},
	} {
		for _, g := range []struct {
			grant Grant
			want  pkcs11.RV
		}{{Grant{}, c.all}, {Grant{NoKeyManagement: true}, c.noKeys}, {Grant{ReadOnly: true}, c.read}, {Grant{Officer: true}, c.officer}} {
			if got := g.grant.forbids(c.call, identify); got != g.want {
				t.Errorf("%s: %T: %v, not %v", g.grant, c.call, got, g.want)
			}
		}
	}
}
