// SPDX-License-Identifier: Apache-2.0

package test_test

import (
	"crypto"
	"crypto/rsa"
	"crypto/sha256"
	"errors"
	"testing"

	p11 "github.com/miekg/pkcs11"
)

// F7; field-F8: a key that wants its PIN for each use (CKA_ALWAYS_AUTHENTICATE). The PIN
// goes to the member that the operation is on, is never kept, and opens one operation. A
// member that is lost then takes the operation with it, and nothing else.
func TestAPINForEachUse(t *testing.T) {
	if !inProcess(t) {
		return
	}
	w := newWorld(t, 3)
	a := w.login()
	made, key, err := a.GenerateKeyPair(a.s, simple(p11.CKM_RSA_PKCS_KEY_PAIR_GEN), []*p11.Attribute{
		p11.NewAttribute(p11.CKA_TOKEN, true), p11.NewAttribute(p11.CKA_MODULUS_BITS, 2048), p11.NewAttribute(p11.CKA_VERIFY, true),
	}, []*p11.Attribute{
		p11.NewAttribute(p11.CKA_TOKEN, true), p11.NewAttribute(p11.CKA_SIGN, true), p11.NewAttribute(p11.CKA_ALWAYS_AUTHENTICATE, true),
	})
	w.must(err)
	public, err := a.RSAPublic(a.s, made)
	w.must(err)
	data := []byte("data")
	begin := func() {
		t.Helper()
		w.must(a.SignInit(a.s, simple(p11.CKM_SHA256_RSA_PKCS), key))
	}
	authenticate := func(pin string) error { return a.Ctx.Login(a.s, p11.CKU_CONTEXT_SPECIFIC, pin) }
	sign := func(want error) {
		t.Helper()
		signature, err := a.Sign(a.s, data)
		if !errors.Is(err, want) {
			t.Errorf("C_Sign: %v, want %v", err, want)
		}
		if err == nil {
			w.must(verifyRSA(public, data, signature))
		}
	}
	is := func(what string, err error, want p11.Error) {
		t.Helper()
		if !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", what, err, want)
		}
	}
	is("without an operation", authenticate(w.PIN), p11.CKR_OPERATION_NOT_INITIALIZED)
	for range 2 * len(w.Members) { // whichever member it is on
		begin()
		w.must(authenticate(w.PIN))
		sign(nil)
		begin()
		sign(p11.Error(p11.CKR_USER_NOT_LOGGED_IN)) // the PIN was for the other one
		is("the operation that failed", authenticate(w.PIN), p11.CKR_OPERATION_NOT_INITIALIZED)
	}
	begin()
	w.must(authenticate(w.PIN))
	w.must(a.SignUpdate(a.s, data[:2]))
	w.must(a.SignUpdate(a.s, data[2:]))
	signature, err := a.SignFinal(a.s)
	w.must(err)
	w.must(verifyRSA(public, data, signature))

	for _, before := range []bool{true, false} { // the PIN is given
		begin()
		if !before {
			w.must(authenticate(w.PIN))
		}
		for _, member := range w.Members {
			w.replaced(member, w.Kill)
			w.must(w.Ready())
		}
		if before {
			is("the member is lost", authenticate(w.PIN), p11.CKR_DEVICE_ERROR)
			sign(p11.Error(p11.CKR_OPERATION_NOT_INITIALIZED))
		} else {
			sign(p11.Error(p11.CKR_DEVICE_ERROR))
		}
		begin()
		w.must(authenticate(w.PIN))
		sign(nil)
	}

	begin()
	is("a wrong PIN", authenticate("wrong"), p11.CKR_PIN_INCORRECT)
	sign(p11.Error(p11.CKR_USER_NOT_LOGGED_IN))
	if counted := w.tries(); len(counted) > 1 {
		t.Errorf("a wrong PIN was tried on %v", counted)
	}
	_, plain := a.rsa()
	a.use(plain) // the login of the application is as it was
}

func verifyRSA(public *rsa.PublicKey, data, signature []byte) error {
	sum := sha256.Sum256(data)
	return rsa.VerifyPKCS1v15(public, crypto.SHA256, sum[:], signature)
}
