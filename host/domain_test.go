// SPDX-License-Identifier: Apache-2.0

package host_test

import (
	"bytes"
	"testing"

	"oneslot.dev/oneslot/host/hosttest"
	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/wire"
)

// secretOf is a domain secret for tests.
func secretOf(b byte) pkcs11.PIN { return bytes.Repeat([]byte{b}, 32) }

// member makes a token in the domain of secret b, with a user logged in.
func member(t *testing.T, label string, b byte) *hosttest.Stream {
	t.Helper()
	return joined(t, hosttest.Start(t, hosttest.Token(t, label)), b)
}

// joined puts a token into the domain of secret b and logs a user in.
func joined(t *testing.T, client wire.Client, b byte) *hosttest.Stream {
	t.Helper()
	s := hosttest.Open(t, client, wire.GroupView)
	s.Must(&wire.Join{Officer: []byte(hosttest.OfficerPIN), Pin: []byte(hosttest.UserPIN), Secret: secretOf(b)})
	s.Login()
	return s
}

func TestJoin(t *testing.T) {
	token := hosttest.Token(t, "one")
	s := hosttest.Open(t, hosttest.Start(t, token), wire.GroupView)
	join := func(officer, pin string, secret pkcs11.PIN, want pkcs11.RV) []byte {
		t.Helper()
		c := &wire.Join{Officer: []byte(officer), Pin: []byte(pin), Secret: secret}
		s.Do(c)
		if c.RV != want {
			t.Errorf("Join: %v, want %v", c.RV, want)
		}
		return c.Domain
	}
	domain := func() []byte {
		t.Helper()
		d := &wire.Describe{}
		s.Must(d)
		return d.Token.Domain
	}
	join(hosttest.OfficerPIN, hosttest.UserPIN, secretOf(1)[:31], pkcs11.CKR_KEY_SIZE_RANGE)
	join(hosttest.OfficerPIN, "wrong", secretOf(1), pkcs11.CKR_PIN_INVALID)
	join("wrong", hosttest.UserPIN, secretOf(1), pkcs11.CKR_PIN_INCORRECT)
	if d := domain(); len(d) != 0 {
		t.Errorf("a failed Join left the domain %x", d)
	}
	id := join(hosttest.OfficerPIN, hosttest.UserPIN, secretOf(1), pkcs11.CKR_OK)
	again := join("wrong", hosttest.UserPIN, secretOf(1), pkcs11.CKR_OK) // nothing left to do for the officer
	if len(id) != 32 || !bytes.Equal(id, again) || !bytes.Equal(id, domain()) {
		t.Errorf("domains %x, %x, %x", id, again, domain())
	}
	join(hosttest.OfficerPIN, hosttest.UserPIN, secretOf(2), pkcs11.CKR_DOMAIN_PARAMS_INVALID)
}

func TestDomainKeysAreHidden(t *testing.T) {
	s := member(t, "one", 1)
	find := &wire.Find{}
	s.Must(find)
	if len(find.Found) != 0 {
		t.Errorf("found %+v", find.Found)
	}
	// SoftHSM counts handles from 1: try them all.
	for object := uint64(0); object < 40; object++ {
		for _, c := range []wire.Call{
			&wire.GetAttributeValue{Object: object, Query: wire.Query{{Type: pkcs11.CKA_LABEL}}},
			&wire.SetAttributeValue{Object: object, Template: pkcs11.Template{pkcs11.Bytes(pkcs11.CKA_LABEL, nil)}},
			&wire.DestroyObject{Object: object}, &wire.CopyObject{Source: object, Template: pkcs11.Template{}},
			&wire.GetObjectSize{Object: object}, &wire.Export{Object: object}, &wire.Identify{Object: object},
			&wire.SignInit{Mechanism: pkcs11.Mechanism{Type: pkcs11.CKM_SHA256_HMAC}, Key: object},
			&wire.DeriveKey{Mechanism: pkcs11.Mechanism{Type: pkcs11.CKM_AES_ECB_ENCRYPT_DATA}, Base: object},
			&wire.UnwrapKey{Mechanism: pkcs11.Mechanism{Type: pkcs11.CKM_AES_KEY_WRAP_PAD}, Unwrapping: object,
				Wrapped: wire.Data(make([]byte, 24)), Template: join(number(pkcs11.CKA_CLASS, pkcs11.CKO_SECRET_KEY), number(pkcs11.CKA_KEY_TYPE, pkcs11.CKK_AES))},
		} {
			s.Do(c)
			if rv := c.Result(); rv != pkcs11.CKR_OBJECT_HANDLE_INVALID && rv != pkcs11.CKR_KEY_HANDLE_INVALID && rv != 0xf0 {
				t.Errorf("%v of object %d: %v", c.Number(), object, rv)
			}
		}
	}
}
