// SPDX-License-Identifier: Apache-2.0

package differential_test

import (
	"fmt"
	"math/big"

	"oneslot.dev/oneslot/pkcs11"
)

// dhPublic is the other side's public value, and dhPrime a group that SoftHSM
// takes: the first one of RFC 2409, 6.1.
var (
	dhPrime = unhex("ffffffffffffffffc90fdaa22168c234c4c6628b80dc1cd129024e088a67cc74020bbea63b139b22514a08798e3404dd" +
		"ef9519b3cd3a431b302b0a6df25f14374fe1356d6d51c245e485b576625e7ec6f44c42e9a63a3620ffffffffffffffff")
	dhPrivate = unhex("5ca1ab1e0ddba11decade5ca1ab1e0ddba11deca")
	dhPublic  = new(big.Int).Exp(big.NewInt(2), new(big.Int).SetBytes(unhex("c0ffee0ddba11decade5ca1ab1e0ddba11deca")), new(big.Int).SetBytes(dhPrime)).Bytes()
)

// derivations are mechanisms of C_DeriveKey, well and badly formed.
var derivations = []mechanism{
	ecdh(1, ecPoint[2:]), ecdh(1, ecPoint[2:]), ecdh(1, ecPoint), ecdh(1, ecPoint[2:40]), ecdh(2, ecPoint[2:]),
	{kind: pkcs11.CKM_ECDH1_DERIVE, param: fields(1, 0, 0)}, {kind: pkcs11.CKM_ECDH1_DERIVE},
	{kind: pkcs11.CKM_DH_PKCS_DERIVE, param: dhPublic}, {kind: pkcs11.CKM_DH_PKCS_DERIVE, param: dhPublic}, {kind: pkcs11.CKM_DH_PKCS_DERIVE},
	cbcData(32), cbcData(32), cbcData(16), cbcData(5), cbcData(0), {kind: pkcs11.CKM_AES_CBC_ENCRYPT_DATA, param: iv},
	ecbData(32), ecbData(48), ecbData(7), {kind: pkcs11.CKM_AES_ECB_ENCRYPT_DATA},
	{kind: pkcs11.CKM_SHA256}, {absent: true},
}

func ecdh(kdf uint64, public []byte) mechanism {
	return mechanism{kind: pkcs11.CKM_ECDH1_DERIVE, param: fields(kdf, 0, 0, uint64(len(public)), 0), pointees: map[int][]byte{32: public}}
}

func cbcData(n int) mechanism {
	return mechanism{kind: pkcs11.CKM_AES_CBC_ENCRYPT_DATA, param: append(append([]byte{}, iv...), fields(0, uint64(n))...), pointees: map[int][]byte{16: make([]byte, n)}}
}

func ecbData(n int) mechanism {
	return mechanism{kind: pkcs11.CKM_AES_ECB_ENCRYPT_DATA, param: fields(0, uint64(n)), pointees: map[int][]byte{0: make([]byte, n)}}
}

func (w *world) actDerive() {
	s, what := w.anySession()
	m := oneOf(derivations).Draw(w.T, "mechanism")
	base, which := w.keyFor(m.kind, "Derive")
	list := []attribute{
		number(pkcs11.CKA_CLASS, pkcs11.CKO_SECRET_KEY), number(pkcs11.CKA_KEY_TYPE, oneOf([]uint64{pkcs11.CKK_AES, pkcs11.CKK_GENERIC_SECRET}).Draw(w.T, "type")),
		no(pkcs11.CKA_SENSITIVE), yes(pkcs11.CKA_ENCRYPT), yes(pkcs11.CKA_DECRYPT), yes(pkcs11.CKA_SIGN),
	}
	if w.chance(75, "length") {
		list = append(list, number(pkcs11.CKA_VALUE_LEN, oneOf([]uint64{16, 16, 32, 8, 0, 500}).Draw(w.T, "bytes")))
	}
	list = w.vary(list)
	a := w.all("C_DeriveKey", fmt.Sprintf("%s, %v, of %s, %s", what, m, which, show(list)), func(side int, c *call) {
		c.number(s.handles[side])
		c.mechanism(m)
		c.number(base.handles[side])
		c.attributes(list, false, false)
		c.handle()
	})
	w.made(a, 0, s, "derived AES", list)
}

// actRecover are signatures with recovery, of which SoftHSM has none.
func (w *world) actRecover() {
	s, what := w.anySession()
	operation := oneOf([]string{"SignRecover", "VerifyRecover"}).Draw(w.T, "operation")
	if w.chance(40, "without Init") {
		d, r := w.anyInput(), w.anyRoom()
		w.all("C_"+operation, fmt.Sprintf("%s, %d bytes, %v", what, len(d.bytes), r), func(side int, c *call) {
			c.number(s.handles[side])
			c.data(d)
			c.room(r, false)
		})
		return
	}
	m := oneOf(suites["Sign"]).Draw(w.T, "mechanism")
	key, which := w.keyFor(m.kind, operation[:len(operation)-len("Recover")])
	w.all("C_"+operation+"Init", fmt.Sprintf("%s, %v, %s", what, m, which), func(side int, c *call) {
		c.number(s.handles[side])
		c.mechanism(m)
		c.number(key.handles[side])
	})
}

// A dual is a call that feeds two operations. SoftHSM has none of them and but
// one operation in a session: there the two run in a session each.
type dual struct {
	name, cipher, other string
}

var duals = []dual{
	{"C_DigestEncryptUpdate", "Encrypt", "Digest"}, {"C_DecryptDigestUpdate", "Decrypt", "Digest"},
	{"C_SignEncryptUpdate", "Encrypt", "Sign"}, {"C_DecryptVerifyUpdate", "Decrypt", "Verify"},
}

// actDualAlone is one of them without its operations.
func (w *world) actDualAlone() {
	s, what := w.anySession()
	d, in, r := oneOf(duals).Draw(w.T, "function"), w.anyInput(), w.anyRoom()
	w.all(d.name, fmt.Sprintf("%s, %d bytes, %v", what, len(in.bytes), r), func(side int, c *call) {
		c.number(s.handles[side])
		c.data(in)
		c.room(r, false)
	})
}

// actDual is two operations with one input, from begin to end. What the calls
// say has to be what two sessions say on a bare token.
func (w *world) actDual() {
	first := w.idle(nil)
	second := w.idle(first)
	if first == nil || second == nil {
		return
	}
	d := oneOf(duals).Draw(w.T, "function")
	cipher := oneOf([]mechanism{{kind: pkcs11.CKM_AES_ECB}, {kind: pkcs11.CKM_AES_CBC, param: iv}, {kind: pkcs11.CKM_AES_CBC_PAD, param: iv}}).Draw(w.T, "cipher")
	other := map[string]mechanism{"Digest": {kind: pkcs11.CKM_SHA256}, "Sign": {kind: pkcs11.CKM_SHA256_HMAC}, "Verify": {kind: pkcs11.CKM_SHA256_HMAC}}[d.other]
	at := func(side int) uint64 { // of the other operation
		if side == 0 {
			return second.handles[0]
		}
		return first.handles[side]
	}
	begin := func(operation string, m mechanism, session func(int) uint64) pkcs11.RV {
		key, which := &object{}, ""
		if operation != "Digest" {
			key, which = w.keyFor(m.kind, operation)
		}
		return w.all("C_"+operation+"Init", fmt.Sprintf("for %s, %v, %s", d.name, m, which), func(side int, c *call) {
			c.number(session(side))
			c.mechanism(m)
			if operation != "Digest" {
				c.number(key.handles[side])
			}
		}).rv
	}
	defer w.close(second) // whatever is active there, on the bare token
	if begin(d.cipher, cipher, func(side int) uint64 { return first.handles[side] }) != pkcs11.CKR_OK || w.over {
		w.close(first)
		return
	}
	defer w.close(first)
	if begin(d.other, other, at) != pkcs11.CKR_OK || w.over {
		return
	}
	for range between(0, 4).Draw(w.T, "parts") {
		if w.feed(d, first, at) != pkcs11.CKR_OK || w.over {
			return
		}
	}
	r := w.anyRoom()
	w.all("C_"+d.cipher+"Final", r.String(), func(side int, c *call) {
		c.number(first.handles[side])
		c.room(r, false)
	})
	if w.over {
		return
	}
	w.all("C_"+d.other+"Final", "", func(side int, c *call) {
		c.number(at(side))
		if d.other == "Verify" {
			c.data(input{bytes: make([]byte, 32)})
		} else {
			c.room(room{size: 64}, false)
		}
	})
}

// feed is one Update of both. On a bare token the digest, or the like, gets what
// the cipher took or gave, as soon as it did.
func (w *world) feed(d dual, first *session, at func(int) uint64) pkcs11.RV {
	in, r := w.anyInput(), w.anyRoom()
	return w.all(d.name, fmt.Sprintf("%d bytes NULL %v, %v", len(in.bytes), in.null, r), func(side int, c *call) {
		c.number(first.handles[side])
		c.data(in)
		c.room(r, false)
		if side != 0 {
			return
		}
		c.instead = "C_" + d.cipher + "Update"
		if r.null {
			return
		}
		c.then = func() (string, *call) {
			then := &call{}
			then.number(at(0))
			if d.cipher == "Encrypt" {
				then.data(in)
			} else {
				o := c.outputs[0]
				then.data(input{bytes: c.buffers[o.buffer][:c.ulongAt(o.length, 0)]})
			}
			return "C_" + d.other + "Update", then
		}
	}).rv
}

// idle is an open session that has no operation and is not the other one, or the
// first: closing it may end the login.
func (w *world) idle(other *session) *session {
	for _, s := range w.sessions[1:] {
		if s != other && !s.closed && s.running == "" && s.failed == "" {
			return s
		}
	}
	if len(w.sessions) > 12 {
		return nil
	}
	w.open(true)
	return w.sessions[len(w.sessions)-1]
}

func (w *world) close(s *session) {
	if w.over || s.closed {
		return
	}
	w.all("C_CloseSession", "after two operations", func(side int, c *call) { c.number(s.handles[side]) })
	s.closed = true
	w.forget(func(o *object) bool { return o.owner == s })
}
