// SPDX-License-Identifier: Apache-2.0

package differential_test

import (
	"fmt"
	"slices"
	"strings"

	"oneslot.dev/oneslot/pkcs11"
)

func (w *world) actCreate() {
	s, what := w.anySession()
	k := oneOf(kinds).Draw(w.T, "kind")
	list := w.vary(k.template)
	w.create(s, what, k.name, list, w.chance(1, "no template"))
}

func (w *world) create(s *session, what, name string, list []attribute, null bool) {
	a := w.all("C_CreateObject", fmt.Sprintf("%s, %s %s", what, name, show(list)), func(side int, c *call) {
		c.number(s.handles[side])
		c.attributes(list, null, false)
		c.handle()
	})
	w.made(a, 0, s, name, list)
}

// actTwin brings once more what is on the token, with other attributes.
func (w *world) actTwin() {
	s, what := w.anySession()
	first, _ := w.anyObject()
	i := slices.IndexFunc(kinds, func(k kind) bool { return k.name == first.root })
	if i < 0 || first.owner != nil {
		return
	}
	list := append(w.vary(append(kinds[i].template, yes(pkcs11.CKA_TOKEN))), oneOf(extra).Draw(w.T, "other"))
	w.create(s, what, kinds[i].name, without(once(list), pkcs11.CKA_DESTROYABLE), false)
	for _, o := range []*object{first, w.objects[len(w.objects)-1]} {
		if !w.over && !o.gone {
			w.look(s, what, o)
		}
	}
}

// look reads what tells twins apart.
func (w *world) look(s *session, what string, o *object) {
	var list []attribute
	for _, kind := range []pkcs11.AttributeType{pkcs11.CKA_LABEL, pkcs11.CKA_SENSITIVE, pkcs11.CKA_EXTRACTABLE, pkcs11.CKA_WRAP_WITH_TRUSTED, pkcs11.CKA_ALLOWED_MECHANISMS, pkcs11.CKA_SIGN} {
		list = append(list, value(kind, make([]byte, 100)))
	}
	w.asked = o
	w.all("C_GetAttributeValue", what+", "+o.what, func(side int, c *call) {
		c.number(s.handles[side])
		c.number(o.handles[side])
		c.attributes(list, false, true)
	})
}

// hasTwin says whether there is an equal private or secret key on the token.
func (w *world) hasTwin(o *object) bool {
	k := slices.IndexFunc(kinds, func(k kind) bool { return k.name == o.root })
	if k < 0 || o.owner != nil || !slices.ContainsFunc(kinds[k].template, func(a attribute) bool { return a.kind == pkcs11.CKA_SENSITIVE }) {
		return false
	}
	return slices.ContainsFunc(w.objects, func(other *object) bool { return other != o && other.root == o.root && other.owner == nil })
}

// made notes a new object.
func (w *world) made(a *answer, output int, s *session, what string, list []attribute) {
	if a.rv != pkcs11.CKR_OK || w.over {
		w.remnants = true
		return
	}
	o := &object{handles: a.handles(output), what: what, root: what, keeps: !flagOf(list, pkcs11.CKA_DESTROYABLE, true), private: isPrivate(list), unlike: strings.HasPrefix(what, "generated")}
	w.again = w.again || slices.ContainsFunc(w.objects, func(before *object) bool { return before.gone && before.root == what })
	o.trusted = flagOf(list, pkcs11.CKA_WRAP_WITH_TRUSTED, false)
	if !flagOf(list, pkcs11.CKA_TOKEN, false) {
		o.owner = s
	}
	w.objects = append(w.objects, o)
}

func (w *world) actCopy() {
	s, what := w.anySession()
	o, which := w.anyObject()
	list := w.vary(nil)
	if w.chance(20, "less extractable") {
		list = once(append(list, no(pkcs11.CKA_EXTRACTABLE)))
	}
	switch { // so that the copy can be removed
	case o.keeps:
		list = without(list, pkcs11.CKA_TOKEN)
	case o.owner == nil && flagOf(list, pkcs11.CKA_TOKEN, true):
		list = without(list, pkcs11.CKA_DESTROYABLE)
	}
	a := w.all("C_CopyObject", fmt.Sprintf("%s, %s, %s", what, which, show(list)), func(side int, c *call) {
		c.number(s.handles[side])
		c.number(o.handles[side])
		c.attributes(list, false, false)
		c.handle()
	})
	if a.rv != pkcs11.CKR_OK || w.over {
		return
	}
	copied := &object{handles: a.handles(0), what: "copy of " + o.what, root: o.root, private: flagOf(list, pkcs11.CKA_PRIVATE, o.private), unlike: o.unlike,
		keeps: !flagOf(list, pkcs11.CKA_DESTROYABLE, !o.keeps)}
	if w.chance(50, "look") {
		defer w.look(s, what, copied)
	}
	copied.trusted = flagOf(list, pkcs11.CKA_WRAP_WITH_TRUSTED, o.trusted)
	if !flagOf(list, pkcs11.CKA_TOKEN, o.owner == nil) {
		copied.owner = s
	}
	w.objects = append(w.objects, copied)
}

func (w *world) actDestroy() {
	s, what := w.anySession()
	o, which := w.anyObject()
	w.destroy(s, what, o, which)
}

func (w *world) destroy(s *session, what string, o *object, which string) {
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
	pkcs11.CKA_WRAP_WITH_TRUSTED, pkcs11.CKA_WRAP_TEMPLATE, pkcs11.CKA_UNWRAP_TEMPLATE, pkcs11.CKA_TRUSTED, pkcs11.CKA_ALWAYS_AUTHENTICATE,
}

func (w *world) actGetAttributes() {
	s, what := w.anySession()
	o, which := w.anyObject()
	var list []attribute
	for range between(0, 6).Draw(w.T, "questions") {
		a := attribute{kind: oneOf(asked).Draw(w.T, "attribute")}
		switch size := oneOf([]int{-1, 500, 500, 500, 8, 1, 0}).Draw(w.T, "room"); {
		case size < 0:
			a.null = true
		case a.kind == pkcs11.CKA_WRAP_TEMPLATE || a.kind == pkcs11.CKA_UNWRAP_TEMPLATE:
			for range size / 100 {
				a.nested = append(a.nested, attribute{value: make([]byte, size/10)})
			}
			a.null = a.nested == nil
		default:
			a.value = make([]byte, size)
		}
		list = append(list, a)
	}
	null := w.chance(1, "no template")
	w.asked = o
	w.all("C_GetAttributeValue", what+", "+which+" "+show(list), func(side int, c *call) {
		c.number(s.handles[side])
		c.number(o.handles[side])
		c.attributes(list, null, true)
		if o.unlike && !null {
			c.outputs[0].random = true
		}
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
	for range between(0, 2).Draw(w.T, "changes") {
		list = append(list, oneOf(from).Draw(w.T, "change"))
	}
	if list = once(list); o.owner == nil {
		list = without(list, pkcs11.CKA_DESTROYABLE)
	}
	w.set(s, what, o, which, list)
}

func (w *world) set(s *session, what string, o *object, which string, list []attribute) {
	w.asked = o
	a := w.all("C_SetAttributeValue", what+", "+which+" "+show(list), func(side int, c *call) {
		c.number(s.handles[side])
		c.number(o.handles[side])
		c.attributes(list, false, false)
	})
	if a.rv == pkcs11.CKR_OK {
		o.keeps = !flagOf(list, pkcs11.CKA_DESTROYABLE, !o.keeps)
	}
}

func (w *world) actFind() {
	s, what := w.anySession()
	list := oneOf([][]attribute{
		nil, {text(pkcs11.CKA_LABEL, "a label")}, {number(pkcs11.CKA_CLASS, pkcs11.CKO_SECRET_KEY)}, {yes(pkcs11.CKA_TOKEN)}, {no(pkcs11.CKA_TOKEN)},
		{number(pkcs11.CKA_CLASS, pkcs11.CKO_PRIVATE_KEY), text(pkcs11.CKA_ID, "id")}, {text(pkcs11.CKA_LABEL, "")}, {number(0x80001234, 5)},
		{{kind: pkcs11.CKA_CLASS, value: []byte{4}}}, {value(pkcs11.CKA_MODULUS, rsaModulus)}, {{kind: pkcs11.CKA_LABEL, null: true}}, {yes(pkcs11.CKA_EXTRACTABLE)},
		{no(pkcs11.CKA_EXTRACTABLE)}, {value(pkcs11.CKA_EC_POINT, ecPoint)}, {yes(pkcs11.CKA_SIGN)}, {text(pkcs11.CKA_VALUE, "some data")},
		{number(pkcs11.CKA_KEY_TYPE, pkcs11.CKK_EC)}, {yes(pkcs11.CKA_PRIVATE)}, {no(pkcs11.CKA_LOCAL)},
	}).Draw(w.T, "template")
	w.find(s, what, list)
	for !w.over {
		n := oneOf([]uint64{100, 100, 0}).Draw(w.T, "maximum")
		w.fetch(s, what, n)
		if w.chance(70, "enough") {
			break
		}
	}
	if !w.over && !w.chance(10, "leave it active") {
		w.endFind(s, what)
	}
}

func (w *world) find(s *session, what string, list []attribute) {
	w.all("C_FindObjectsInit", what+", "+show(list), func(side int, c *call) {
		c.number(s.handles[side])
		c.attributes(list, false, false)
	})
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
	m := oneOf([]mechanism{
		{kind: pkcs11.CKM_AES_KEY_GEN}, {kind: pkcs11.CKM_GENERIC_SECRET_KEY_GEN}, {kind: pkcs11.CKM_AES_KEY_GEN}, {kind: pkcs11.CKM_SHA256}, {absent: true},
	}).Draw(w.T, "mechanism")
	list := w.vary([]attribute{number(pkcs11.CKA_VALUE_LEN, oneOf([]uint64{16, 32, 16, 17, 0}).Draw(w.T, "length")), yes(pkcs11.CKA_ENCRYPT), yes(pkcs11.CKA_SIGN), no(pkcs11.CKA_SENSITIVE)})
	a := w.all("C_GenerateKey", fmt.Sprintf("%s, %v %s", what, m, show(list)), func(side int, c *call) {
		c.number(s.handles[side])
		c.mechanism(m)
		c.attributes(list, false, false)
		c.handle()
	})
	w.made(a, 0, s, "generated "+m.kind.String(), append([]attribute{number(pkcs11.CKA_CLASS, pkcs11.CKO_SECRET_KEY)}, list...))
}

// pairs are the ways to a key pair. RSA keys are small: they are slow.
var pairs = []struct {
	name   string
	kind   pkcs11.MechanismType
	public []attribute
}{
	{"EC", pkcs11.CKM_EC_KEY_PAIR_GEN, []attribute{value(pkcs11.CKA_EC_PARAMS, ecP256), yes(pkcs11.CKA_VERIFY)}},
	{"EC", pkcs11.CKM_EC_KEY_PAIR_GEN, []attribute{value(pkcs11.CKA_EC_PARAMS, ecP256), yes(pkcs11.CKA_VERIFY)}},
	{"RSA", pkcs11.CKM_RSA_PKCS_KEY_PAIR_GEN, []attribute{number(pkcs11.CKA_MODULUS_BITS, 512), value(pkcs11.CKA_PUBLIC_EXPONENT, []byte{1, 0, 1}), yes(pkcs11.CKA_VERIFY), yes(pkcs11.CKA_ENCRYPT)}},
	{"RSA", pkcs11.CKM_RSA_PKCS_KEY_PAIR_GEN, []attribute{number(pkcs11.CKA_MODULUS_BITS, 100), value(pkcs11.CKA_PUBLIC_EXPONENT, []byte{1, 0, 1})}},
	{"RSA", pkcs11.CKM_RSA_PKCS_KEY_PAIR_GEN, []attribute{number(pkcs11.CKA_MODULUS_BITS, 512), yes(pkcs11.CKA_VERIFY)}},
}

func (w *world) actGeneratePair() {
	if !w.chance(40, "a pair") {
		return
	}
	s, what := w.anySession()
	p := oneOf(pairs).Draw(w.T, "pair")
	public := w.vary(p.public)
	private := w.vary([]attribute{yes(pkcs11.CKA_SIGN), no(pkcs11.CKA_SENSITIVE)})
	a := w.all("C_GenerateKeyPair", fmt.Sprintf("%s, %s, public %s private %s", what, p.name, show(public), show(private)), func(side int, c *call) {
		c.number(s.handles[side])
		c.mechanism(mechanism{kind: p.kind})
		c.attributes(public, false, false)
		c.attributes(private, false, false)
		c.handle()
		c.handle()
	})
	w.made(a, 0, s, "generated "+p.name+" public", append([]attribute{number(pkcs11.CKA_CLASS, pkcs11.CKO_PUBLIC_KEY)}, public...))
	w.made(a, 1, s, "generated "+p.name+" private", append([]attribute{number(pkcs11.CKA_CLASS, pkcs11.CKO_PRIVATE_KEY)}, private...))
}
