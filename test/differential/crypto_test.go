// SPDX-License-Identifier: Apache-2.0

package differential_test

import (
	"bytes"
	"fmt"
	"strings"

	"oneslot.dev/oneslot/pkcs11"
)

var (
	iv      = []byte("0123456789abcdef")
	otherIV = []byte("fedcba9876543210")
	gcm     = mechanism{kind: pkcs11.CKM_AES_GCM, param: fields(0, 12, 96, 0, 5, 128), pointees: map[int][]byte{0: iv[:12], 24: []byte("extra")}}
)

func fields(v ...uint64) []byte {
	var b []byte
	for _, f := range v {
		b = append(b, ulong(f)...)
	}
	return b
}

// suites are the mechanisms of each kind of operation. CKM_RSA_X_509 is not among
// them: SoftHSM 2.6.1 crashes when it gets more data than the modulus holds.
var suites = map[string][]mechanism{
	"Digest": {{kind: pkcs11.CKM_SHA256}, {kind: pkcs11.CKM_SHA_1}, {kind: pkcs11.CKM_SHA512}, {kind: pkcs11.CKM_MD5}, {kind: pkcs11.CKM_AES_CBC, param: iv}, {kind: 0x80000001}, {kind: pkcs11.CKM_SHA256}},
	"Sign": {
		{kind: pkcs11.CKM_SHA256_HMAC}, {kind: pkcs11.CKM_SHA256_HMAC}, {kind: pkcs11.CKM_AES_CMAC}, {kind: pkcs11.CKM_RSA_PKCS}, {kind: pkcs11.CKM_SHA256_RSA_PKCS},
		{kind: pkcs11.CKM_ECDSA}, {kind: pkcs11.CKM_SHA256_RSA_PKCS_PSS, param: fields(uint64(pkcs11.CKM_SHA256), pkcs11.CKG_MGF1_SHA256, 32)},
		{kind: pkcs11.CKM_SHA256}, {kind: pkcs11.CKM_SHA256_RSA_PKCS_PSS}, {kind: 0x80000001},
	},
	"Encrypt": {
		{kind: pkcs11.CKM_AES_ECB}, {kind: pkcs11.CKM_AES_CBC, param: iv}, {kind: pkcs11.CKM_AES_CBC_PAD, param: iv}, {kind: pkcs11.CKM_AES_CBC_PAD, param: iv}, {kind: pkcs11.CKM_AES_CBC_PAD, param: otherIV},
		{kind: pkcs11.CKM_AES_CTR, param: append(ulong(128), iv...)}, gcm, {kind: pkcs11.CKM_RSA_PKCS},
		{kind: pkcs11.CKM_RSA_PKCS_OAEP, param: fields(uint64(pkcs11.CKM_SHA_1), pkcs11.CKG_MGF1_SHA1, 1, 0, 0)},
		{kind: pkcs11.CKM_AES_CBC}, {kind: pkcs11.CKM_AES_CBC, param: iv[:5]}, {kind: pkcs11.CKM_SHA256},
	},
}

func init() {
	suites["Verify"] = suites["Sign"]
	suites["Decrypt"] = suites["Encrypt"]
}

// random says whether a mechanism's output may differ.
func random(k pkcs11.MechanismType) bool {
	switch k {
	case pkcs11.CKM_ECDSA, pkcs11.CKM_SHA256_RSA_PKCS_PSS, pkcs11.CKM_RSA_PKCS, pkcs11.CKM_RSA_PKCS_OAEP:
		return true
	}
	return false
}

var operations = []string{"Digest", "Sign", "Verify", "Encrypt", "Decrypt"}

func (w *world) operation() string { return oneOf(operations).Draw(w.T, "operation") }

// suited are the objects that a mechanism is for, by what they are.
func suited(k pkcs11.MechanismType, operation string) string {
	switch name := k.String(); {
	case k == pkcs11.CKM_DH_PKCS_DERIVE:
		return "DH private"
	case k == pkcs11.CKM_ECDH1_DERIVE:
		return "EC private"
	case strings.Contains(name, "HMAC"):
		return "generic"
	case strings.Contains(name, "AES"):
		return "AES"
	case strings.Contains(name, "RSA") && (operation == "Sign" || operation == "Decrypt"):
		return "RSA private"
	case strings.Contains(name, "RSA"):
		return "RSA public"
	case operation == "Sign":
		return "EC private"
	}
	return "EC public"
}

// keyFor draws a key, more often one that fits.
func (w *world) keyFor(k pkcs11.MechanismType, operation string) (*object, string) {
	var fit []int
	for i, o := range w.objects {
		if !o.gone && !o.unlike && strings.Contains(o.what, suited(k, operation)) {
			fit = append(fit, i)
		}
	}
	// SoftHSM 2.6.1 takes the wrong kind of key for RSA and ECDSA, and crashes.
	curious := !strings.Contains(suited(k, operation), "private") && !strings.Contains(suited(k, operation), "public")
	if len(fit) == 0 || curious && w.chance(15, "any key") {
		if !curious {
			return &object{}, "object 0x0"
		}
		if o, which := w.anyObject(); !o.unlike {
			return o, which
		}
	}
	if len(fit) == 0 {
		return &object{}, "object 0x0"
	}
	i := oneOf(fit).Draw(w.T, "key")
	return w.objects[i], fmt.Sprintf("object %d (%s)", i, w.objects[i].what)
}

func (w *world) actInit() { w.begin(w.operation()) }

func (w *world) begin(operation string) (*session, string, mechanism, pkcs11.RV) {
	s, what := w.anySession()
	m := oneOf(suites[operation]).Draw(w.T, "mechanism")
	key, which := &object{}, ""
	if operation != "Digest" {
		key, which = w.keyFor(m.kind, operation)
	}
	if last, ok := w.begun[operation]; ok && w.chance(40, "as before") { // the module may put it off
		s, what, m, key, which = last.session, last.what, last.mechanism, last.key, last.which
	}
	if s.running != "" && s.running != operation && !w.chance(8, "two at once") {
		return s, what, m, pkcs11.CKR_CANCEL
	}
	a := w.all("C_"+operation+"Init", fmt.Sprintf("%s, %v, %s", what, m, which), func(side int, c *call) {
		c.number(s.handles[side])
		c.mechanism(m)
		if operation != "Digest" {
			c.number(key.handles[side])
		}
	})
	if a.rv == pkcs11.CKR_OK {
		if w.begun == nil {
			w.begun = map[string]beginning{}
		}
		w.begun[operation] = beginning{s, what, m, key, which}
		w.active(s)[operation] = m.kind
		s.running, s.failed, s.parts = operation, "", false
	}
	return s, what, m, a.rv
}

// A beginning is what an Init was called with.
type beginning struct {
	session   *session
	what      string
	mechanism mechanism
	key       *object
	which     string
}

// active is which mechanism each operation of a session has had last.
func (w *world) active(s *session) map[string]pkcs11.MechanismType {
	if s.active == nil {
		s.active = map[string]pkcs11.MechanismType{}
	}
	return s.active
}

// anyInput draws data. Verifying and decrypting mostly get what was made before.
func (w *world) anyInput() input {
	return oneOf([]input{
		{bytes: []byte("some text")}, {bytes: bytes.Repeat([]byte("block of 16 byte"), 2)}, {bytes: []byte{}}, {bytes: bytes.Repeat([]byte("x"), 32)},
		{bytes: bytes.Repeat([]byte("large"), 700)}, {null: true}, {bytes: bytes.Repeat([]byte{0, 'y'}, 64)}, {bytes: []byte("block of 16 byte")},
	}).Draw(w.T, "data")
}

func (w *world) anyRoom() room {
	return oneOf([]room{{size: 5000}, {size: 5000}, {size: 5000}, {null: true}, {size: 1}, {size: 0}, {size: 32}}).Draw(w.T, "room")
}

func (r room) String() string {
	if r.null {
		return "room NULL"
	}
	return fmt.Sprintf("room %d", r.size)
}

// produced are outputs of Sign and Encrypt, as inputs for Verify and Decrypt.
func (w *world) produced(of *[3][]byte) (per [3]input, what string) {
	d := w.anyInput()
	made := of[0] != nil && w.chance(75, "what was made")
	for i := range per {
		per[i] = d
		if made {
			per[i] = input{bytes: of[i]}
		}
	}
	return per, map[bool]string{true: "what was made", false: fmt.Sprintf("%d bytes", len(d.bytes))}[made]
}

func (w *world) actSingle() {
	s, what := w.anySession()
	w.single(w.operation(), s, what, w.anyInput(), w.anyRoom())
}

func (w *world) single(operation string, s *session, what string, d input, r room) pkcs11.RV {
	kind := w.active(s)[operation]
	isRandom := random(kind) && operation != "Digest" && operation != "Decrypt" && (operation == "Encrypt" || kind != pkcs11.CKM_RSA_PKCS)
	per, made := [3]input{d, d, d}, fmt.Sprintf("%d bytes", len(d.bytes))
	switch operation {
	case "Verify":
		per, made = w.produced(&w.signature)
	case "Decrypt":
		if per, made = w.produced(&w.ciphertext); random(w.encrypted) && w.encrypted != kind {
			per = [3]input{d, d, d} // else each side would decrypt something else
		}
	}
	a := w.all("C_"+operation, fmt.Sprintf("%s, %s, %v", what, made, r), func(side int, c *call) {
		c.number(s.handles[side])
		if operation == "Verify" {
			c.data(d)
		}
		c.data(per[side])
		if operation != "Verify" {
			c.room(r, isRandom)
		}
	})
	w.keep(operation, kind, a, r)
	s.ends(operation, a.rv, r.null && operation != "Verify")
	return a.rv
}

// ends notes whether a call ended an operation. What an error other than
// CKR_BUFFER_TOO_SMALL ends on groups may go on bare.
func (s *session) ends(operation string, rv pkcs11.RV, asks bool) {
	switch {
	case rv == pkcs11.CKR_BUFFER_TOO_SMALL || rv == pkcs11.CKR_OK && asks || s.running != operation:
	case rv == pkcs11.CKR_OK:
		s.running = ""
	default:
		s.failed = operation
	}
}

func (w *world) keep(operation string, by pkcs11.MechanismType, a *answer, r room) {
	if a.rv != pkcs11.CKR_OK || r.null || w.over {
		return
	}
	for i := range sides {
		switch operation {
		case "Sign":
			w.signature[i] = a.out(i, 0)
		case "Encrypt":
			w.ciphertext[i], w.encrypted = a.out(i, 0), by
		}
	}
}

// actWhole is an operation from begin to end, mostly as it should be.
func (w *world) actWhole() {
	operation := w.operation()
	s, what, _, rv := w.begin(operation)
	if rv != pkcs11.CKR_OK || w.over {
		return
	}
	d, r := w.anyInput(), w.anyRoom()
	if w.chance(40, "in parts") {
		for range between(0, 3).Draw(w.T, "parts") {
			w.update(operation, s, what, w.anyInput(), w.anyRoom())
			if w.over {
				return
			}
		}
		w.final(operation, s, what, w.anyRoom())
		return
	}
	for rv = w.single(operation, s, what, d, r); !w.over && (rv == pkcs11.CKR_BUFFER_TOO_SMALL || rv == pkcs11.CKR_OK && r.null && operation != "Verify"); {
		r = room{size: 5000}
		rv = w.single(operation, s, what, d, r)
	}
}

func (w *world) actUpdate() {
	s, what := w.anySession()
	w.update(w.operation(), s, what, w.anyInput(), w.anyRoom())
}

func (w *world) update(operation string, s *session, what string, d input, r room) {
	a := w.all("C_"+operation+"Update", fmt.Sprintf("%s, %d bytes NULL %v, %v", what, len(d.bytes), d.null, r), func(side int, c *call) {
		c.number(s.handles[side])
		c.data(d)
		if operation == "Encrypt" || operation == "Decrypt" {
			c.room(r, false)
		}
	})
	if a.rv != pkcs11.CKR_OK {
		s.ends(operation, a.rv, false)
	} else if s.running == operation {
		s.parts = true
	}
}

func (w *world) actFinal() { s, what := w.anySession(); w.final(w.operation(), s, what, w.anyRoom()) }

func (w *world) final(operation string, s *session, what string, r room) {
	per, made := [3]input{}, ""
	if operation == "Verify" {
		per, made = w.produced(&w.signature)
	}
	a := w.all("C_"+operation+"Final", fmt.Sprintf("%s, %s %v", what, made, r), func(side int, c *call) {
		c.number(s.handles[side])
		if operation == "Verify" {
			c.data(per[side])
		} else {
			c.room(r, random(w.active(s)[operation]))
		}
	})
	w.keep(operation, w.active(s)[operation], a, r)
	s.ends(operation, a.rv, r.null && operation != "Verify")
}

func (w *world) actDigestKey() {
	s, what := w.anySession()
	o, which := w.anyObject()
	if o.unlike {
		return
	}
	a := w.all("C_DigestKey", what+", "+which, func(side int, c *call) {
		c.number(s.handles[side])
		c.number(o.handles[side])
	})
	if a.rv != pkcs11.CKR_OK {
		s.ends("Digest", a.rv, false)
	} else if s.running == "Digest" {
		s.parts = true
	}
}

func (w *world) actWrap() {
	s, what := w.anySession()
	m := oneOf([]mechanism{{kind: pkcs11.CKM_AES_KEY_WRAP}, {kind: pkcs11.CKM_AES_KEY_WRAP_PAD}, {kind: pkcs11.CKM_RSA_PKCS}, {kind: pkcs11.CKM_SHA256}, {absent: true}}).Draw(w.T, "mechanism")
	with, withWhat := w.keyFor(m.kind, "Encrypt")
	key, which := w.anyObject()
	if key.unlike {
		return
	}
	r := w.anyRoom()
	a := w.all("C_WrapKey", fmt.Sprintf("%s, %v, with %s, %s, %v", what, m, withWhat, which, r), func(side int, c *call) {
		c.number(s.handles[side])
		c.mechanism(m)
		c.number(with.handles[side])
		c.number(key.handles[side])
		c.room(r, random(m.kind))
	})
	if a.rv == pkcs11.CKR_OK && !r.null && !w.over {
		for i := range sides {
			w.wrapped[i] = a.out(i, 0)
		}
	}
}

func (w *world) actUnwrap() {
	s, what := w.anySession()
	m := oneOf([]mechanism{{kind: pkcs11.CKM_AES_KEY_WRAP}, {kind: pkcs11.CKM_AES_KEY_WRAP_PAD}, {kind: pkcs11.CKM_RSA_PKCS}, {kind: pkcs11.CKM_SHA256}}).Draw(w.T, "mechanism")
	with, withWhat := w.keyFor(m.kind, "Decrypt")
	per, made := w.produced(&w.wrapped)
	class, kind := pkcs11.CKO_SECRET_KEY, oneOf([]uint64{pkcs11.CKK_AES, pkcs11.CKK_GENERIC_SECRET}).Draw(w.T, "type")
	if w.chance(30, "private key") {
		class, kind = pkcs11.CKO_PRIVATE_KEY, oneOf([]uint64{pkcs11.CKK_RSA, pkcs11.CKK_RSA, pkcs11.CKK_EC}).Draw(w.T, "type")
	}
	list := []attribute{number(pkcs11.CKA_CLASS, uint64(class)), number(pkcs11.CKA_KEY_TYPE, kind), yes(pkcs11.CKA_EXTRACTABLE), no(pkcs11.CKA_SENSITIVE)}
	if class == pkcs11.CKO_SECRET_KEY {
		list = append(list, yes(pkcs11.CKA_ENCRYPT))
	}
	list = w.vary(list)
	a := w.all("C_UnwrapKey", fmt.Sprintf("%s, %v, with %s, %s, %s", what, m, withWhat, made, show(list)), func(side int, c *call) {
		c.number(s.handles[side])
		c.mechanism(m)
		c.number(with.handles[side])
		c.data(per[side])
		c.attributes(list, false, false)
		c.handle()
	})
	w.made(a, 0, s, "unwrapped "+map[uint64]string{pkcs11.CKK_AES: "AES", pkcs11.CKK_GENERIC_SECRET: "generic", pkcs11.CKK_RSA: "RSA private", pkcs11.CKK_EC: "EC private"}[kind], list)
}
