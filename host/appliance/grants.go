// SPDX-License-Identifier: Apache-2.0

package appliance

import (
	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/wire"
)

// identify tells which object a handle is.
type identify func(object uint64) wire.Identity

// forbids says how a call is refused that the grant does not allow, CKR_OK if
// it allows it. It is the whole policy of what clients may do.
//
//	                          all  no key management  read-only  security officer
//	C_InitToken, C_InitPIN,
//	C_SetPIN, X_Join, SO login  -          -              -              +
//	make, wrap, derive keys     +          -       session objects
//	change, destroy keys        +          -       session objects
//	the same, other objects     +          +       session objects
//	use keys, find, read        +          +              +
func (g *Grant) forbids(c wire.Call, identify identify) pkcs11.RV {
	if !g.Officer {
		switch c := c.(type) {
		case *wire.InitToken, *wire.InitPIN, *wire.SetPIN, *wire.Join:
			return pkcs11.CKR_FUNCTION_NOT_SUPPORTED
		case *wire.Login:
			if c.User == pkcs11.CKU_SO {
				return pkcs11.CKR_USER_TYPE_INVALID
			}
		}
	}
	if g.ReadOnly && writes(c, identify) {
		return pkcs11.CKR_TOKEN_WRITE_PROTECTED
	}
	if g.NoKeyManagement {
		return managesKeys(c, identify)
	}
	return pkcs11.CKR_OK
}

// writes says whether a call would change what is on the token.
func writes(c wire.Call, identify identify) bool {
	onToken := func(template pkcs11.Template) bool { return template.Bool(pkcs11.CKA_TOKEN, false) }
	is := func(object uint64) bool { return identify(object).Flags&wire.OnToken != 0 }
	switch c := c.(type) {
	case *wire.CreateObject:
		return onToken(c.Template)
	case *wire.CopyObject:
		return c.Template.Bool(pkcs11.CKA_TOKEN, is(c.Source))
	case *wire.GenerateKey:
		return onToken(c.Template)
	case *wire.GenerateKeyPair:
		return onToken(c.Public) || onToken(c.Private)
	case *wire.UnwrapKey:
		return onToken(c.Template)
	case *wire.DeriveKey:
		return onToken(c.Template)
	case *wire.DestroyObject:
		return is(c.Object)
	case *wire.SetAttributeValue:
		return is(c.Object)
	case *wire.Import:
		return c.Token
	case *wire.Publish, *wire.Record, *wire.Unrecord:
		return true
	}
	return false
}

// managesKeys says how a call is refused to a client that only uses keys.
func managesKeys(c wire.Call, identify identify) pkcs11.RV {
	refuse := func(key bool, rv pkcs11.RV) pkcs11.RV {
		if key {
			return rv
		}
		return pkcs11.CKR_OK
	}
	is := func(object uint64) bool { return isKey(identify(object).Class) }
	switch c := c.(type) {
	case *wire.GenerateKey, *wire.GenerateKeyPair, *wire.WrapKey, *wire.UnwrapKey, *wire.DeriveKey,
		*wire.Export, *wire.Import, *wire.Publish, *wire.Record, *wire.Unrecord:
		return pkcs11.CKR_FUNCTION_NOT_SUPPORTED
	case *wire.CreateObject:
		// A class that is not said is not known to be harmless.
		class, said := c.Template.Ulong(pkcs11.CKA_CLASS)
		return refuse(!said || isKey(class), pkcs11.CKR_FUNCTION_NOT_SUPPORTED)
	case *wire.CopyObject:
		return refuse(is(c.Source), pkcs11.CKR_ACTION_PROHIBITED)
	case *wire.DestroyObject:
		return refuse(is(c.Object), pkcs11.CKR_ACTION_PROHIBITED)
	case *wire.SetAttributeValue:
		return refuse(is(c.Object), pkcs11.CKR_ACTION_PROHIBITED)
	}
	return pkcs11.CKR_OK
}

// isKey says whether a class is not known to be something else than a key. An
// object that could not be identified has class 0, CKO_DATA, and no call on its
// handle succeeds anyhow.
func isKey(class uint64) bool {
	switch class {
	case pkcs11.CKO_DATA, pkcs11.CKO_CERTIFICATE:
		return false
	}
	return true
}
