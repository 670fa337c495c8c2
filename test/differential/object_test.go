// SPDX-License-Identifier: Apache-2.0

package differential_test

import (
	"fmt"

	"pgregory.net/rapid"

	"oneslot.dev/oneslot/pkcs11"
)

func (w *world) actCreate() {
	s, what := w.anySession()
	k := rapid.SampledFrom(kinds).Draw(w.T, "kind")
	list := w.vary(k.template)
	null := w.chance(1, "no template")
	a := w.all("C_CreateObject", fmt.Sprintf("%s, %s %s", what, k.name, show(list)), func(side int, c *call) {
		c.number(s.handles[side])
		c.attributes(list, null, false)
		c.handle()
	})
	w.made(a, 0, s, k.name, list)
}

// made notes a new object.
func (w *world) made(a *answer, output int, s *session, what string, list []attribute) {
	if a.rv != pkcs11.CKR_OK || w.over {
		w.remnants = true
		return
	}
	o := &object{handles: a.handles(output), what: what, private: isPrivate(list)}
	if !flagOf(list, pkcs11.CKA_TOKEN, false) {
		o.owner = s
	}
	w.objects = append(w.objects, o)
}

func (w *world) actCopy() {
	s, what := w.anySession()
	o, which := w.anyObject()
	list := w.vary(nil)
	a := w.all("C_CopyObject", fmt.Sprintf("%s, %s, %s", what, which, show(list)), func(side int, c *call) {
		c.number(s.handles[side])
		c.number(o.handles[side])
		c.attributes(list, false, false)
		c.handle()
	})
	if a.rv != pkcs11.CKR_OK || w.over {
		return
	}
	copied := &object{handles: a.handles(0), what: "copy of " + o.what, private: flagOf(list, pkcs11.CKA_PRIVATE, o.private)}
	if !flagOf(list, pkcs11.CKA_TOKEN, o.owner == nil) {
		copied.owner = s
	}
	w.objects = append(w.objects, copied)
}

func (w *world) actDestroy() {
	s, what := w.anySession()
	o, which := w.anyObject()
	a := w.all("C_DestroyObject", what+", "+which, func(side int, c *call) {
		c.number(s.handles[side])
		c.number(o.handles[side])
	})
	if a.rv == pkcs11.CKR_OK {
		o.gone = true
	}
}

// asked are attributes that reading asks for.
var asked = []pkcs11.AttributeType{
	pkcs11.CKA_CLASS, pkcs11.CKA_TOKEN, pkcs11.CKA_PRIVATE, pkcs11.CKA_LABEL, pkcs11.CKA_ID, pkcs11.CKA_VALUE, pkcs11.CKA_KEY_TYPE,
	pkcs11.CKA_MODULUS, pkcs11.CKA_PUBLIC_EXPONENT, pkcs11.CKA_PRIVATE_EXPONENT, pkcs11.CKA_EC_POINT, pkcs11.CKA_EC_PARAMS, pkcs11.CKA_SENSITIVE,
	pkcs11.CKA_EXTRACTABLE, pkcs11.CKA_LOCAL, pkcs11.CKA_ALWAYS_SENSITIVE, pkcs11.CKA_NEVER_EXTRACTABLE, pkcs11.CKA_KEY_GEN_MECHANISM,
	pkcs11.CKA_START_DATE, pkcs11.CKA_ALLOWED_MECHANISMS, pkcs11.CKA_VALUE_LEN, pkcs11.CKA_SUBJECT, pkcs11.CKA_MODIFIABLE, pkcs11.CKA_COPYABLE,
	pkcs11.CKA_DESTROYABLE, pkcs11.CKA_CHECK_VALUE, 0x80001234, pkcs11.CKA_APPLICATION, pkcs11.CKA_SIGN, pkcs11.CKA_MODULUS_BITS,
	pkcs11.CKA_WRAP_WITH_TRUSTED, pkcs11.CKA_WRAP_TEMPLATE, pkcs11.CKA_TRUSTED, pkcs11.CKA_ALWAYS_AUTHENTICATE,
}

func (w *world) actGetAttributes() {
	s, what := w.anySession()
	o, which := w.anyObject()
	var list []attribute
	for range rapid.IntRange(0, 6).Draw(w.T, "questions") {
		a := attribute{kind: rapid.SampledFrom(asked).Draw(w.T, "attribute")}
		switch size := rapid.SampledFrom([]int{-1, 500, 500, 500, 8, 1, 0}).Draw(w.T, "room"); {
		case size < 0:
			a.null = true
		case a.kind == pkcs11.CKA_WRAP_TEMPLATE:
			a.null = true // bytes are no room for it
		default:
			a.value = make([]byte, size)
		}
		list = append(list, a)
	}
	null := w.chance(1, "no template")
	w.all("C_GetAttributeValue", what+", "+which+" "+show(list), func(side int, c *call) {
		c.number(s.handles[side])
		c.number(o.handles[side])
		c.attributes(list, null, true)
	})
}

func (w *world) actSetAttributes() {
	s, what := w.anySession()
	o, which := w.anyObject()
	from := extra
	if w.chance(15, "wrong") {
		from = wrong
	}
	var list []attribute
	for range rapid.IntRange(0, 2).Draw(w.T, "changes") {
		list = append(list, rapid.SampledFrom(from).Draw(w.T, "change"))
	}
	list = once(list)
	w.all("C_SetAttributeValue", what+", "+which+" "+show(list), func(side int, c *call) {
		c.number(s.handles[side])
		c.number(o.handles[side])
		c.attributes(list, false, false)
	})
}

func (w *world) actFind() {
	s, what := w.anySession()
	list := rapid.SampledFrom([][]attribute{
		nil, {text(pkcs11.CKA_LABEL, "a label")}, {number(pkcs11.CKA_CLASS, pkcs11.CKO_SECRET_KEY)}, {yes(pkcs11.CKA_TOKEN)}, {no(pkcs11.CKA_TOKEN)},
		{number(pkcs11.CKA_CLASS, pkcs11.CKO_PRIVATE_KEY), text(pkcs11.CKA_ID, "id")}, {text(pkcs11.CKA_LABEL, "")}, {number(0x80001234, 5)},
		{{kind: pkcs11.CKA_CLASS, value: []byte{4}}}, {value(pkcs11.CKA_MODULUS, rsaModulus)}, {{kind: pkcs11.CKA_LABEL, null: true}}, {yes(pkcs11.CKA_EXTRACTABLE)},
		{no(pkcs11.CKA_EXTRACTABLE)}, {value(pkcs11.CKA_EC_POINT, ecPoint)}, {yes(pkcs11.CKA_SIGN)}, {text(pkcs11.CKA_VALUE, "some data")},
		{number(pkcs11.CKA_KEY_TYPE, pkcs11.CKK_EC)}, {yes(pkcs11.CKA_PRIVATE)}, {no(pkcs11.CKA_LOCAL)},
	}).Draw(w.T, "template")
	w.all("C_FindObjectsInit", what+", "+show(list), func(side int, c *call) {
		c.number(s.handles[side])
		c.attributes(list, false, false)
	})
	for !w.over {
		n := rapid.SampledFrom([]uint64{100, 100, 0}).Draw(w.T, "maximum")
		w.fetch(s, what, n)
		if w.chance(70, "enough") {
			break
		}
	}
	if !w.over && !w.chance(10, "leave it active") {
		w.endFind(s, what)
	}
}

func (w *world) fetch(s *session, what string, n uint64) {
	w.all("C_FindObjects", fmt.Sprintf("%s, at most %d", what, n), func(side int, c *call) {
		c.number(s.handles[side])
		list := c.buffer(make([]byte, 8*n))
		c.pointer(list)
		c.number(n)
		count := c.buffer(make([]byte, 8))
		c.pointer(count)
		c.outputs = append(c.outputs, output{kind: outFound, buffer: list, length: count})
	})
}

func (w *world) endFind(s *session, what string) {
	w.all("C_FindObjectsFinal", what, func(side int, c *call) { c.number(s.handles[side]) })
}

func (w *world) actFindWrongly() {
	s, what := w.anySession()
	if w.chance(50, "final") {
		w.endFind(s, what)
	} else {
		w.fetch(s, what, 100)
	}
}

func (w *world) actSize() {
	s, what := w.anySession()
	o, which := w.anyObject()
	w.all("C_GetObjectSize", what+", "+which, func(side int, c *call) {
		c.number(s.handles[side])
		c.number(o.handles[side])
		c.pointer(c.buffer(make([]byte, 8)))
	})
}

func (w *world) actGenerate() {
	s, what := w.anySession()
	m := rapid.SampledFrom([]mechanism{
		{kind: pkcs11.CKM_AES_KEY_GEN}, {kind: pkcs11.CKM_GENERIC_SECRET_KEY_GEN}, {kind: pkcs11.CKM_AES_KEY_GEN}, {kind: pkcs11.CKM_SHA256}, {absent: true},
	}).Draw(w.T, "mechanism")
	list := w.vary([]attribute{number(pkcs11.CKA_VALUE_LEN, rapid.SampledFrom([]uint64{16, 32, 16, 17, 0}).Draw(w.T, "length")), yes(pkcs11.CKA_ENCRYPT), yes(pkcs11.CKA_SIGN), no(pkcs11.CKA_SENSITIVE)})
	a := w.all("C_GenerateKey", fmt.Sprintf("%s, %v %s", what, m, show(list)), func(side int, c *call) {
		c.number(s.handles[side])
		c.mechanism(m)
		c.attributes(list, false, false)
		c.handle()
	})
	w.made(a, 0, s, "generated "+m.kind.String(), append([]attribute{number(pkcs11.CKA_CLASS, pkcs11.CKO_SECRET_KEY)}, list...))
}

func (w *world) actGeneratePair() {
	if !w.chance(40, "a pair") {
		return
	}
	s, what := w.anySession()
	public := w.vary([]attribute{value(pkcs11.CKA_EC_PARAMS, ecP256), yes(pkcs11.CKA_VERIFY)})
	private := w.vary([]attribute{yes(pkcs11.CKA_SIGN), no(pkcs11.CKA_SENSITIVE)})
	a := w.all("C_GenerateKeyPair", fmt.Sprintf("%s, public %s private %s", what, show(public), show(private)), func(side int, c *call) {
		c.number(s.handles[side])
		c.mechanism(mechanism{kind: pkcs11.CKM_EC_KEY_PAIR_GEN})
		c.attributes(public, false, false)
		c.attributes(private, false, false)
		c.handle()
		c.handle()
	})
	w.made(a, 0, s, "generated EC public", append([]attribute{number(pkcs11.CKA_CLASS, pkcs11.CKO_PUBLIC_KEY)}, public...))
	w.made(a, 1, s, "generated EC private", append([]attribute{number(pkcs11.CKA_CLASS, pkcs11.CKO_PRIVATE_KEY)}, private...))
}
