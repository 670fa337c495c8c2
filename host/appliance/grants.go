// SPDX-License-Identifier: Apache-2.0

package appliance

import (
	"slices"

	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/wire"
)

// identify tells which object a handle is. What cannot be told is not taken for harmless:
// the call is refused as the token has refused to tell.
type identify func(object uint64) (wire.Identity, pkcs11.RV)

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
//
// A template that names an attribute twice is nobody's: a token may go by the other one.
// The engine sends none.
func (g *Grant) forbids(c wire.Call, identify identify) pkcs11.RV {
	if slices.ContainsFunc(templates(c), repeats) {
		return pkcs11.CKR_TEMPLATE_INCONSISTENT
	}
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
	if g.ReadOnly {
		if rv := writes(c, identify); rv != pkcs11.CKR_OK {
			return rv
		}
	}
	if g.NoKeyManagement {
		return managesKeys(c, identify)
	}
	return pkcs11.CKR_OK
}

// templates are those by which a call makes or changes an object.
func templates(c wire.Call) []pkcs11.Template {
	switch c := c.(type) {
	case *wire.CreateObject:
		return []pkcs11.Template{c.Template}
	case *wire.CopyObject:
		return []pkcs11.Template{c.Template}
	case *wire.SetAttributeValue:
		return []pkcs11.Template{c.Template}
	case *wire.GenerateKey:
		return []pkcs11.Template{c.Template}
	case *wire.GenerateKeyPair:
		return []pkcs11.Template{c.Public, c.Private}
	case *wire.UnwrapKey:
		return []pkcs11.Template{c.Template}
	case *wire.DeriveKey:
		return []pkcs11.Template{c.Template}
	}
	return nil
}

// repeats says whether a template names an attribute twice.
func repeats(t pkcs11.Template) bool {
	seen := make(map[pkcs11.AttributeType]bool, len(t))
	for i := range t {
		if seen[t[i].Type] {
			return true
		}
		seen[t[i].Type] = true
	}
	return false
}

// onToken says whether a template may be that of an object on the token: a value of
// another size than a CK_BBOOL's has is the token's to understand.
func onToken(t pkcs11.Template) bool {
	return t.Find(pkcs11.CKA_TOKEN) != nil && t.Bool(pkcs11.CKA_TOKEN, true)
}

// writes says how a call is refused that would change what is on the token.
func writes(c wire.Call, identify identify) pkcs11.RV {
	refuse := func(writes bool) pkcs11.RV {
		if writes {
			return pkcs11.CKR_TOKEN_WRITE_PROTECTED
		}
		return pkcs11.CKR_OK
	}
	is := func(object uint64) pkcs11.RV {
		found, rv := identify(object)
		if rv != pkcs11.CKR_OK {
			return rv
		}
		return refuse(found.Flags&wire.OnToken != 0)
	}
	switch c := c.(type) {
	case *wire.CopyObject:
		if c.Template.Find(pkcs11.CKA_TOKEN) == nil {
			return is(c.Source)
		}
	case *wire.DestroyObject:
		return is(c.Object)
	case *wire.SetAttributeValue:
		if !onToken(c.Template) {
			return is(c.Object)
		}
	case *wire.Import:
		return refuse(c.Token)
	case *wire.Publish, *wire.Record, *wire.Unrecord:
		return refuse(true)
	}
	return refuse(slices.ContainsFunc(templates(c), onToken))
}

// managesKeys says how a call is refused to a client that only uses keys.
func managesKeys(c wire.Call, identify identify) pkcs11.RV {
	refuse := func(key bool, rv pkcs11.RV) pkcs11.RV {
		if key {
			return rv
		}
		return pkcs11.CKR_OK
	}
	is := func(object uint64) pkcs11.RV {
		found, rv := identify(object)
		if rv != pkcs11.CKR_OK {
			return rv
		}
		return refuse(isKey(found.Class), pkcs11.CKR_ACTION_PROHIBITED)
	}
	switch c := c.(type) {
	case *wire.GenerateKey, *wire.GenerateKeyPair, *wire.WrapKey, *wire.UnwrapKey, *wire.DeriveKey,
		*wire.Export, *wire.Import, *wire.Publish, *wire.Record, *wire.Unrecord:
		return pkcs11.CKR_FUNCTION_NOT_SUPPORTED
	case *wire.CreateObject:
		// A class that is not said is not known to be harmless.
		class, said := c.Template.Ulong(pkcs11.CKA_CLASS)
		return refuse(!said || isKey(class), pkcs11.CKR_FUNCTION_NOT_SUPPORTED)
	case *wire.CopyObject:
		return is(c.Source)
	case *wire.DestroyObject:
		return is(c.Object)
	case *wire.SetAttributeValue:
		return is(c.Object)
	}
	return pkcs11.CKR_OK
}

// isKey says whether a class is not known to be something else than a key.
func isKey(class uint64) bool {
	switch class {
	case pkcs11.CKO_DATA, pkcs11.CKO_CERTIFICATE:
		return false
	}
	return true
}
