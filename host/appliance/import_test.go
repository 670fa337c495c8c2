// SPDX-License-Identifier: Apache-2.0

package appliance_test

import (
	"bytes"
	"slices"
	"testing"

	"oneslot.dev/oneslot/host/appliance"
	"oneslot.dev/oneslot/host/hosttest"
	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/wire"
)

// A copied is a blob taken apart, as whoever relays it can do: its layout is no
// secret (host/blob.go).
type copied struct {
	version                 []byte
	identity                wire.Identity
	domain                  []byte
	carry                   byte // 0: plain, 1: under the strict key, 2: under the open key
	mechanism               uint64
	wrapped                 []byte
	attributes, held, shown pkcs11.Template
	seal                    []byte
}

func takeApart(t *testing.T, blob []byte) *copied {
	t.Helper()
	d := wire.NewDecoder(bytes.Clone(blob))
	c := &copied{version: d.Blob(), identity: d.Identity(), domain: d.Blob(), carry: d.U8(), mechanism: d.Ulong(), wrapped: d.Blob(),
		attributes: d.Template(), held: d.Template(), shown: d.Template(), seal: d.Blob()}
	if err := d.End(); err != nil {
		t.Fatal(err)
	}
	if again := c.together(); !bytes.Equal(again, blob) {
		t.Fatal("a blob that was taken apart is not what it was")
	}
	return c
}

func (c *copied) together() []byte {
	var e wire.Encoder
	e.Blob(c.version)
	e.Identity(c.identity)
	e.Blob(c.domain)
	e.U8(c.carry)
	e.Ulong(c.mechanism)
	e.Blob(c.wrapped)
	for _, t := range []pkcs11.Template{c.attributes, c.held, c.shown} {
		e.Template(append(pkcs11.Template{}, t...))
	}
	e.Blob(c.seal)
	return e.Buf
}

// domainSecret is a secret for tests.
func domainSecret(b byte) pkcs11.PIN { return bytes.Repeat([]byte{b}, 32) }

// exported makes a key on a token in the domain of secret b, and returns its blob.
func exported(t *testing.T, b byte, template ...pkcs11.Attribute) []byte {
	t.Helper()
	s := hosttest.Open(t, hosttest.Start(t, hosttest.Token(t, "origin")), wire.GroupView)
	s.Must(&wire.Join{Officer: []byte(hosttest.OfficerPIN), Pin: []byte(hosttest.UserPIN), Secret: domainSecret(b)})
	s.Login()
	key := generate("copied", false)
	key.Template = append(key.Template, template...)
	s.Must(key)
	export := &wire.Export{Object: key.Key}
	s.Must(export)
	return bytes.Clone(export.Blob)
}

// disguise makes a public object without domain and seal of a wrapped key: tokens
// take the last of attributes that come twice.
func disguise(c *copied) {
	c.identity.Class, c.domain, c.seal = pkcs11.CKO_DATA, nil, nil
	c.attributes = append(c.attributes, pkcs11.Ulong(pkcs11.CKA_CLASS, pkcs11.CKO_SECRET_KEY), pkcs11.Ulong(pkcs11.CKA_KEY_TYPE, pkcs11.CKK_AES))
}

// K6: a client of an appliance relays blobs, and may be anybody: what it changes
// in one is refused, and nothing comes of it.
func TestRelayedBlobsCannotBeChanged(t *testing.T) {
	b := start(t, nil)
	a := b.client("relay", appliance.Grant{Token: "ca", Officer: true}).connect()
	var err error
	if a.session, err = a.Open(wire.GroupView); err != nil {
		t.Fatal(err)
	}
	disguised := takeApart(t, exported(t, 1))
	disguise(disguised)
	if rv := a.do(&wire.Import{Blob: disguised.together(), Copies: 1}); rv != pkcs11.CKR_DATA_INVALID {
		t.Errorf("wrapped material without a domain, on a token that is in none: %v", rv)
	}
	a.must(&wire.Join{Officer: []byte(hosttest.OfficerPIN), Pin: []byte(hosttest.UserPIN), Secret: domainSecret(1)})
	if rv := a.login(hosttest.UserPIN); rv != pkcs11.CKR_OK {
		t.Fatal(rv)
	}
	strict, open, foreign := exported(t, 1), exported(t, 1, pkcs11.Bool(pkcs11.CKA_EXTRACTABLE, true)), exported(t, 2)
	ours := takeApart(t, strict).domain
	objects := func() (found []uint64) {
		native := a.open() // also what the group's view hides
		defer native.Close()
		before := a.session
		defer func() { a.session = before }()
		a.session = native
		if rv := a.login(hosttest.UserPIN); rv != pkcs11.CKR_OK && rv != pkcs11.CKR_USER_ALREADY_LOGGED_IN {
			t.Fatal(rv)
		}
		find := &wire.Find{}
		a.must(find)
		for _, f := range find.Found {
			found = append(found, f.Object)
		}
		return found
	}
	set := func(t *pkcs11.Template, attribute pkcs11.Attribute) {
		*t = append(t.Without(attribute.Type), attribute)
	}
	flip := func(c *copied, kind pkcs11.AttributeType) {
		set(&c.attributes, pkcs11.Bool(kind, !c.attributes.Bool(kind, false)))
	}
	for _, test := range []struct {
		name   string
		blob   []byte
		change func(*copied)
		want   pkcs11.RV
	}{
		{"another domain", foreign, func(*copied) {}, pkcs11.CKR_DOMAIN_PARAMS_INVALID},
		{"another domain that says it is ours", foreign, func(c *copied) { c.domain = ours }, pkcs11.CKR_WRAPPED_KEY_INVALID},
		{"no domain", strict, func(c *copied) { c.domain = nil }, pkcs11.CKR_DATA_INVALID},
		{"no domain, in plain", strict, func(c *copied) { c.domain, c.carry = nil, 0 }, pkcs11.CKR_DOMAIN_PARAMS_INVALID},
		{"class", strict, func(c *copied) { c.identity.Class = pkcs11.CKO_PRIVATE_KEY }, pkcs11.CKR_WRAPPED_KEY_INVALID},
		{"class, to a public one", strict, func(c *copied) { c.identity.Class = pkcs11.CKO_DATA }, pkcs11.CKR_WRAPPED_KEY_INVALID},
		{"class, to a public one without domain and seal", open, disguise, pkcs11.CKR_DATA_INVALID},
		{"key type", strict, func(c *copied) { c.identity.KeyType = pkcs11.CKK_GENERIC_SECRET }, pkcs11.CKR_WRAPPED_KEY_INVALID},
		{"sensitive no more", strict, func(c *copied) { set(&c.attributes, pkcs11.Bool(pkcs11.CKA_SENSITIVE, false)) }, pkcs11.CKR_WRAPPED_KEY_INVALID},
		{"extractable", strict, func(c *copied) { set(&c.attributes, pkcs11.Bool(pkcs11.CKA_EXTRACTABLE, true)) }, pkcs11.CKR_WRAPPED_KEY_INVALID},
		{"wrapped by any key", strict, func(c *copied) { set(&c.attributes, pkcs11.Bool(pkcs11.CKA_WRAP_WITH_TRUSTED, false)) }, pkcs11.CKR_WRAPPED_KEY_INVALID},
		{"shown as extractable", strict, func(c *copied) { set(&c.shown, pkcs11.Bool(pkcs11.CKA_EXTRACTABLE, true)) }, pkcs11.CKR_WRAPPED_KEY_INVALID},
		{"held no more", strict, func(c *copied) { set(&c.held, pkcs11.Bool(pkcs11.CKA_MODIFIABLE, true)) }, pkcs11.CKR_WRAPPED_KEY_INVALID},
		{"purpose: derive", strict, func(c *copied) { flip(c, pkcs11.CKA_DERIVE) }, pkcs11.CKR_WRAPPED_KEY_INVALID},
		{"purpose: wrap", strict, func(c *copied) { flip(c, pkcs11.CKA_WRAP) }, pkcs11.CKR_WRAPPED_KEY_INVALID},
		{"purpose: other mechanisms", strict, func(c *copied) {
			set(&c.attributes, pkcs11.Bytes(pkcs11.CKA_ALLOWED_MECHANISMS, nil))
		}, pkcs11.CKR_WRAPPED_KEY_INVALID},
		{"under the open key", strict, func(c *copied) { c.carry = 2 }, pkcs11.CKR_WRAPPED_KEY_INVALID},
		{"another key's material", strict, func(c *copied) { c.wrapped = takeApart(t, open).wrapped }, pkcs11.CKR_WRAPPED_KEY_INVALID},
		{"another blob's seal", strict, func(c *copied) { c.seal = takeApart(t, open).seal }, pkcs11.CKR_WRAPPED_KEY_INVALID},
		{"no seal", strict, func(c *copied) { c.seal = nil }, pkcs11.CKR_WRAPPED_KEY_INVALID},
	} {
		t.Run(test.name, func(t *testing.T) {
			for _, token := range []bool{true, false} {
				before := objects()
				c := takeApart(t, test.blob)
				test.change(c)
				call := &wire.Import{Blob: c.together(), Token: token, Copies: 1}
				if rv := a.do(call); rv != test.want || call.Identity.Object != 0 {
					t.Errorf("on the token: %t: %v, object %d; want %v", token, rv, call.Identity.Object, test.want)
				}
				if after := objects(); !slices.Equal(before, after) {
					t.Errorf("on the token: %t: objects %v before, %v after", token, before, after)
				}
			}
		})
	}
	for _, blob := range [][]byte{strict, open} { // as they are, they are taken
		a.must(&wire.Import{Blob: blob, Token: true, Copies: 1})
	}
}
