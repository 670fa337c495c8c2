// SPDX-License-Identifier: Apache-2.0

package test_test

import (
	p11 "github.com/miekg/pkcs11"

	"oneslot.dev/oneslot/test/token"
)

// An app is an application that is logged in: this process.
type app struct {
	*token.Token
	w *world
	s p11.SessionHandle
}

// login makes this process an application that is logged in, with all members
// ready.
func (w *world) login() *app {
	w.t.Helper()
	a := &app{Token: w.open(), w: w}
	var err error
	a.s, err = a.Login(w.PIN)
	w.must(err)
	w.must(w.Ready())
	return a
}

// restart makes it another application, which knows nothing of the first.
func (a *app) restart() {
	a.w.t.Helper()
	a.w.must(a.Finalize())
	a.w.await("the engine is gone", func() bool { return len(a.w.Processes()) == 0 })
	a.w.must(a.Initialize())
	var err error
	a.s, err = a.Login(a.w.PIN)
	a.w.must(err)
}

func (a *app) rsa(more ...*p11.Attribute) (token.Pair, token.Work) {
	a.w.t.Helper()
	pair, err := a.RSA(a.s, more...)
	a.w.must(err)
	return pair, a.signRSA(pair)
}

func (a *app) signRSA(pair token.Pair) token.Work {
	a.w.t.Helper()
	public, err := a.RSAPublic(a.s, pair.Public)
	a.w.must(err)
	return a.SignRSA(pair.Private, public)
}

func (a *app) ec(more ...*p11.Attribute) (token.Pair, token.Work) {
	a.w.t.Helper()
	pair, err := a.EC(a.s, more...)
	a.w.must(err)
	public, err := a.ECPublic(a.s, pair.Public)
	a.w.must(err)
	return pair, a.SignEC(pair.Private, public)
}

func (a *app) aes(more ...*p11.Attribute) (p11.ObjectHandle, token.Work) {
	a.w.t.Helper()
	key, value, err := a.Secret(a.s, p11.CKK_AES, true, more...)
	a.w.must(err)
	return key, a.EncryptGCM(key, value)
}

// everything is all kinds of work, with keys on the token.
func (a *app) everything() []token.Work {
	a.w.t.Helper()
	_, rsa := a.rsa()
	_, ec := a.ec()
	_, gcm := a.aes()
	cbcKey, value, err := a.Secret(a.s, p11.CKK_AES, true)
	a.w.must(err)
	macKey, macValue, err := a.Secret(a.s, p11.CKK_GENERIC_SECRET, true)
	a.w.must(err)
	return []token.Work{rsa, ec, gcm, a.EncryptCBC(cbcKey, value), a.MAC(macKey, macValue), a.Hash(), a.Random()}
}

// do does one piece of work and checks the answer.
func (a *app) do(w token.Work) error {
	check, err := w.Do(a.s)
	if err != nil {
		return err
	}
	return check()
}

// count is how many objects match.
func (a *app) count(template ...*p11.Attribute) int {
	a.w.t.Helper()
	found, err := a.Find(a.s, template...)
	a.w.must(err)
	return len(found)
}

// use does each work once. Which member does it is the group's choice.
func (a *app) use(works ...token.Work) {
	a.w.t.Helper()
	for _, work := range works {
		if err := a.do(work); err != nil {
			a.w.t.Errorf("%s: %v", work.Name, err)
		}
	}
}
