// SPDX-License-Identifier: Apache-2.0

package differential_test

import (
	"fmt"
	"slices"
	"strings"

	"oneslot.dev/oneslot/pkcs11"
)

func number(kind pkcs11.AttributeType, v uint64) attribute {
	return attribute{kind: kind, value: ulong(v)}
}

func yes(kind pkcs11.AttributeType) attribute { return attribute{kind: kind, value: []byte{1}} }
func no(kind pkcs11.AttributeType) attribute  { return attribute{kind: kind, value: []byte{0}} }

func text(kind pkcs11.AttributeType, v string) attribute {
	return attribute{kind: kind, value: []byte(v)}
}

func value(kind pkcs11.AttributeType, v []byte) attribute { return attribute{kind: kind, value: v} }

func array(kind pkcs11.AttributeType, list ...attribute) attribute {
	return attribute{kind: kind, nested: append([]attribute{}, list...)}
}

// A kind is something that C_CreateObject can make.
type kind struct {
	name     string
	template []attribute
}

func secret(name string, keyType uint64, v string, usage ...pkcs11.AttributeType) kind {
	k := kind{name, []attribute{number(pkcs11.CKA_CLASS, pkcs11.CKO_SECRET_KEY), number(pkcs11.CKA_KEY_TYPE, keyType), value(pkcs11.CKA_VALUE, []byte(v)), no(pkcs11.CKA_SENSITIVE)}}
	for _, u := range usage {
		k.template = append(k.template, yes(u))
	}
	return k
}

var kinds = []kind{
	{"data", []attribute{number(pkcs11.CKA_CLASS, pkcs11.CKO_DATA), text(pkcs11.CKA_VALUE, "some data"), text(pkcs11.CKA_APPLICATION, "test")}},
	{"certificate", []attribute{
		number(pkcs11.CKA_CLASS, pkcs11.CKO_CERTIFICATE), number(pkcs11.CKA_CERTIFICATE_TYPE, 0),
		value(pkcs11.CKA_VALUE, certificate), value(pkcs11.CKA_SUBJECT, certificate[106:131]),
	}},
	secret("AES", pkcs11.CKK_AES, "0123456789abcdef", pkcs11.CKA_ENCRYPT, pkcs11.CKA_DECRYPT, pkcs11.CKA_SIGN, pkcs11.CKA_VERIFY, pkcs11.CKA_WRAP, pkcs11.CKA_UNWRAP, pkcs11.CKA_DERIVE, pkcs11.CKA_EXTRACTABLE),
	secret("AES-256", pkcs11.CKK_AES, "0123456789abcdef0123456789ABCDEF", pkcs11.CKA_ENCRYPT, pkcs11.CKA_DECRYPT),
	secret("generic", pkcs11.CKK_GENERIC_SECRET, "a secret of some length", pkcs11.CKA_SIGN, pkcs11.CKA_VERIFY, pkcs11.CKA_DERIVE, pkcs11.CKA_EXTRACTABLE),
	secret("bad AES", pkcs11.CKK_AES, "seventeen bytes!!", pkcs11.CKA_ENCRYPT),
	{"RSA public", []attribute{
		number(pkcs11.CKA_CLASS, pkcs11.CKO_PUBLIC_KEY), number(pkcs11.CKA_KEY_TYPE, pkcs11.CKK_RSA), value(pkcs11.CKA_MODULUS, rsaModulus),
		value(pkcs11.CKA_PUBLIC_EXPONENT, []byte{1, 0, 1}), yes(pkcs11.CKA_VERIFY), yes(pkcs11.CKA_ENCRYPT), yes(pkcs11.CKA_WRAP),
	}},
	{"RSA private", []attribute{
		number(pkcs11.CKA_CLASS, pkcs11.CKO_PRIVATE_KEY), number(pkcs11.CKA_KEY_TYPE, pkcs11.CKK_RSA), value(pkcs11.CKA_MODULUS, rsaModulus),
		value(pkcs11.CKA_PUBLIC_EXPONENT, []byte{1, 0, 1}), value(pkcs11.CKA_PRIVATE_EXPONENT, rsaPrivate),
		value(pkcs11.CKA_PRIME_1, rsaPrime1), value(pkcs11.CKA_PRIME_2, rsaPrime2), value(pkcs11.CKA_EXPONENT_1, rsaExponent1),
		value(pkcs11.CKA_EXPONENT_2, rsaExponent2), value(pkcs11.CKA_COEFFICIENT, rsaCoefficient),
		yes(pkcs11.CKA_SIGN), yes(pkcs11.CKA_DECRYPT), yes(pkcs11.CKA_UNWRAP), no(pkcs11.CKA_SENSITIVE),
	}},
	{"DH private", []attribute{
		number(pkcs11.CKA_CLASS, pkcs11.CKO_PRIVATE_KEY), number(pkcs11.CKA_KEY_TYPE, pkcs11.CKK_DH), value(pkcs11.CKA_PRIME, dhPrime),
		value(pkcs11.CKA_BASE, []byte{2}), value(pkcs11.CKA_VALUE, dhPrivate), yes(pkcs11.CKA_DERIVE), no(pkcs11.CKA_SENSITIVE),
	}},
	{"EC public", []attribute{
		number(pkcs11.CKA_CLASS, pkcs11.CKO_PUBLIC_KEY), number(pkcs11.CKA_KEY_TYPE, pkcs11.CKK_EC),
		value(pkcs11.CKA_EC_PARAMS, ecP256), value(pkcs11.CKA_EC_POINT, ecPoint), yes(pkcs11.CKA_VERIFY),
	}},
	{"EC private", []attribute{
		number(pkcs11.CKA_CLASS, pkcs11.CKO_PRIVATE_KEY), number(pkcs11.CKA_KEY_TYPE, pkcs11.CKK_EC),
		value(pkcs11.CKA_EC_PARAMS, ecP256), value(pkcs11.CKA_VALUE, ecPrivate), yes(pkcs11.CKA_SIGN), yes(pkcs11.CKA_DERIVE), no(pkcs11.CKA_SENSITIVE),
	}},
}

// extra are attributes that may be added to a template.
var extra = []attribute{
	text(pkcs11.CKA_LABEL, "a label"), text(pkcs11.CKA_LABEL, ""), text(pkcs11.CKA_ID, "id"), text(pkcs11.CKA_LABEL, "another"),
	yes(pkcs11.CKA_SENSITIVE), no(pkcs11.CKA_SENSITIVE), yes(pkcs11.CKA_EXTRACTABLE), no(pkcs11.CKA_EXTRACTABLE),
	no(pkcs11.CKA_MODIFIABLE), no(pkcs11.CKA_SIGN), no(pkcs11.CKA_ENCRYPT), yes(pkcs11.CKA_DERIVE),
	value(pkcs11.CKA_START_DATE, []byte("20260101")), value(pkcs11.CKA_START_DATE, []byte{}), no(pkcs11.CKA_COPYABLE),
	value(pkcs11.CKA_ALLOWED_MECHANISMS, ulong(uint64(pkcs11.CKM_AES_CBC))), yes(pkcs11.CKA_WRAP_WITH_TRUSTED),
	value(pkcs11.CKA_ALLOWED_MECHANISMS, []byte{}), value(pkcs11.CKA_ALLOWED_MECHANISMS, fields(uint64(pkcs11.CKM_SHA256_HMAC), uint64(pkcs11.CKM_AES_CBC))),
	array(pkcs11.CKA_WRAP_TEMPLATE, yes(pkcs11.CKA_EXTRACTABLE), number(pkcs11.CKA_KEY_TYPE, pkcs11.CKK_AES)), array(pkcs11.CKA_WRAP_TEMPLATE),
	no(pkcs11.CKA_DESTROYABLE), yes(pkcs11.CKA_DESTROYABLE), yes(pkcs11.CKA_ALWAYS_AUTHENTICATE),
	array(pkcs11.CKA_UNWRAP_TEMPLATE, no(pkcs11.CKA_SENSITIVE)), array(pkcs11.CKA_UNWRAP_TEMPLATE, text(pkcs11.CKA_LABEL, "unwrapped"), yes(pkcs11.CKA_ENCRYPT)),
}

// wrong are attributes that do not belong, or not so.
var wrong = []attribute{
	{kind: pkcs11.CKA_TOKEN, value: []byte{1, 0}}, {kind: pkcs11.CKA_PRIVATE, value: []byte{}}, {kind: pkcs11.CKA_CLASS, value: []byte{1, 0, 0, 0}},
	{kind: pkcs11.CKA_SENSITIVE, value: []byte{1, 1}}, {kind: pkcs11.CKA_LABEL, null: true}, {kind: pkcs11.CKA_VALUE, null: true},
	number(0x80001234, 5), number(pkcs11.CKA_KEY_TYPE, 0x99), yes(pkcs11.CKA_LOCAL), number(pkcs11.CKA_KEY_GEN_MECHANISM, 1),
	yes(pkcs11.CKA_TRUSTED), yes(pkcs11.CKA_ALWAYS_SENSITIVE), number(pkcs11.CKA_MODULUS_BITS, 1024), value(pkcs11.CKA_START_DATE, []byte("2026")),
	number(pkcs11.CKA_VALUE_LEN, 16), {kind: pkcs11.CKA_EXTRACTABLE, value: []byte{7}}, {kind: pkcs11.CKA_ID, value: []byte{}, null: true},
	{kind: pkcs11.CKA_ALLOWED_MECHANISMS, value: []byte{1, 2, 3}}, array(pkcs11.CKA_WRAP_TEMPLATE, attribute{kind: pkcs11.CKA_LABEL, null: true}),
	array(pkcs11.CKA_UNWRAP_TEMPLATE, array(pkcs11.CKA_WRAP_TEMPLATE, yes(pkcs11.CKA_TOKEN))),
}

// vary draws what is changed in a template.
func (w *world) vary(base []attribute) []attribute {
	list := append([]attribute{}, base...)
	if w.chance(50, "private") {
		list = append(list, oneOf([]attribute{no(pkcs11.CKA_PRIVATE), yes(pkcs11.CKA_PRIVATE), no(pkcs11.CKA_PRIVATE)}).Draw(w.T, "CKA_PRIVATE"))
	}
	if w.chance(60, "token") {
		list = append(list, oneOf([]attribute{no(pkcs11.CKA_TOKEN), yes(pkcs11.CKA_TOKEN)}).Draw(w.T, "CKA_TOKEN"))
	}
	for range between(0, 2).Draw(w.T, "extras") {
		list = append(list, oneOf(extra).Draw(w.T, "extra"))
	}
	if w.chance(12, "wrong") {
		list = append(list, oneOf(wrong).Draw(w.T, "wrong"))
	}
	if w.chance(6, "leave out") && len(list) > 0 {
		i := between(0, len(list)-1).Draw(w.T, "what")
		list = append(list[:i:i], list[i+1:]...)
	}
	if list = once(list); flagOf(list, pkcs11.CKA_TOKEN, false) && !flagOf(list, pkcs11.CKA_DESTROYABLE, true) {
		list = without(list, pkcs11.CKA_DESTROYABLE) // nothing could remove it: TestUndestroyable
	}
	return list
}

func without(list []attribute, kind pkcs11.AttributeType) []attribute {
	return slices.DeleteFunc(list, func(a attribute) bool { return a.kind == kind })
}

// once leaves the last attribute of each type. What becomes of a template with
// two of them PKCS#11 does not say.
func once(list []attribute) (kept []attribute) {
	for i, a := range list {
		again := func(b attribute) bool { return b.kind == a.kind }
		if !slices.ContainsFunc(list[i+1:], again) {
			kept = append(kept, a)
		}
	}
	return kept
}

func show(list []attribute) string {
	var all []string
	for _, a := range list {
		v := fmt.Sprintf("%x", a.value)
		if len(v) > 40 {
			v = v[:40] + "…"
		}
		switch {
		case a.null:
			v = "NULL"
		case a.nested != nil:
			v = "{" + show(a.nested) + "}"
		}
		all = append(all, fmt.Sprintf("%v=%s", a.kind, v))
	}
	return strings.Join(all, " ")
}

// flag reads a boolean of a template; the last of a kind counts for nothing
// else than the book-keeping here.
func flagOf(list []attribute, kind pkcs11.AttributeType, otherwise bool) bool {
	for _, a := range list {
		if a.kind == kind && len(a.value) == 1 {
			return a.value[0] != 0
		}
	}
	return otherwise
}

// isPrivate is the default of SoftHSM where the template says nothing.
func isPrivate(list []attribute) bool {
	class := uint64(0)
	for _, a := range list {
		if a.kind == pkcs11.CKA_CLASS && len(a.value) == 8 {
			class = uint64(a.value[0])
		}
	}
	return flagOf(list, pkcs11.CKA_PRIVATE, class != pkcs11.CKO_PUBLIC_KEY && class != pkcs11.CKO_CERTIFICATE)
}
