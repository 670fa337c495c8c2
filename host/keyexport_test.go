// SPDX-License-Identifier: Apache-2.0

package host_test

import (
	"bytes"
	"slices"
	"testing"

	"oneslot.dev/oneslot/host/hosttest"
	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/wire"
)

// exporting starts a member process on a token that cannot mark keys as trusted.
func exporting(t *testing.T, label string) wire.Client {
	t.Helper()
	return hosttest.StartModule(t, []string{hosttest.Token(t, label).Env()}, "--module", hosttest.Untrusting(t), "--token", label)
}

// exportJoined puts a token into a domain with key export and logs a user in.
func exportJoined(t *testing.T, client wire.Client) *hosttest.Stream {
	t.Helper()
	s := hosttest.Open(t, client, wire.ExportView)
	s.Must(&wire.Join{Officer: []byte(hosttest.OfficerPIN), Pin: []byte(hosttest.UserPIN), Secret: secretOf(1), Export: true})
	s.Login()
	return s
}

// mustStay tries to get a key out.
func mustStay(t *testing.T, what string, s *hosttest.Stream, key uint64) {
	t.Helper()
	wrapping := keyOf(pkcs11.CKM_AES_KEY_GEN, join(number(pkcs11.CKA_VALUE_LEN, 32), yes(pkcs11.CKA_WRAP)))(s)[0]
	wrap := &wire.WrapKey{Mechanism: mechanism(pkcs11.CKM_AES_KEY_WRAP_PAD, nil), Wrapping: wrapping, Key: key, WrappedRoom: wide}
	if s.Do(wrap); wrap.RV != pkcs11.CKR_KEY_UNEXTRACTABLE && wrap.RV != pkcs11.CKR_KEY_NOT_WRAPPABLE {
		t.Errorf("%s: C_WrapKey: %v", what, wrap.RV)
	}
	value := &wire.GetAttributeValue{Object: key, Query: wire.Query{{Type: pkcs11.CKA_VALUE, Form: wire.AskRoom, Capacity: 100}}}
	if s.Do(value); value.RV != pkcs11.CKR_ATTRIBUTE_SENSITIVE {
		t.Errorf("%s: CKA_VALUE: %v", what, value.RV)
	}
	for _, k := range []pkcs11.Template{yes(pkcs11.CKA_EXTRACTABLE), no(pkcs11.CKA_SENSITIVE)} {
		set := &wire.SetAttributeValue{Object: key, Template: k}
		if s.Do(set); set.RV == pkcs11.CKR_OK {
			t.Errorf("%s: %v was changed", what, k[0].Type)
		}
	}
}

// A token that cannot mark the domain key as trusted joins a domain only where key
// export is permitted (K7), and that is another domain than one without it.
func TestKeyExportHasToBePermitted(t *testing.T) {
	client := exporting(t, "x")
	s := hosttest.Open(t, client, wire.GroupView)
	join := &wire.Join{Officer: []byte(hosttest.OfficerPIN), Pin: []byte(hosttest.UserPIN), Secret: secretOf(1)}
	describe := &wire.Describe{}
	s.Do(join)
	s.Must(describe)
	if join.RV != pkcs11.CKR_ATTRIBUTE_TYPE_INVALID || len(describe.Token.Domain) > 0 {
		t.Fatalf("joined without permission: %v, %x", join.RV, describe.Token.Domain)
	}
	for range 2 { // the second finds all there
		join = &wire.Join{Officer: []byte(hosttest.OfficerPIN), Pin: []byte(hosttest.UserPIN), Secret: secretOf(1), Export: true}
		s.Must(join)
	}
	describe = &wire.Describe{}
	s.Must(describe) // nobody is logged in
	if !bytes.Equal(describe.Token.Domain, join.Domain) || describe.Token.Cloning {
		t.Errorf("domain %x, cloning %v", describe.Token.Domain, describe.Token.Cloning)
	}
	s.Login()
	if left := found(s, nil); len(left) != 0 {
		t.Errorf("helpers are visible: %+v", left)
	}
	// What was made under trusted keys alone does not come here, nor back.
	cloning := member(t, "a", 1)
	key := keyOf(pkcs11.CKM_AES_KEY_GEN, number(pkcs11.CKA_VALUE_LEN, 32))
	x := hosttest.Open(t, client, wire.ExportView)
	for _, way := range [][2]*hosttest.Stream{{cloning, x}, {x, cloning}} {
		in := &wire.Import{Blob: export(way[0], key(way[0])[0]), Token: true, Copies: 1}
		if way[1].Do(in); in.RV != pkcs11.CKR_DOMAIN_PARAMS_INVALID {
			t.Errorf("import: %v", in.RV)
		}
	}
	// A group that does not permit it makes keys as asked for; they stay (K8).
	for _, ask := range []pkcs11.Template{nil, yes(pkcs11.CKA_EXTRACTABLE)} {
		made := keyOf(pkcs11.CKM_AES_KEY_GEN, append(number(pkcs11.CKA_VALUE_LEN, 32), ask...))(s)[0]
		publish := &wire.Publish{Object: made, Copies: 1}
		s.Must(publish)
		if publish.Identity.Flags&wire.Copyable != 0 {
			t.Error("copyable without permission")
		}
		native := values(s, publish.Identity.Object, pkcs11.CKA_EXTRACTABLE)[0]
		if want := byte(len(ask)); native[0] != want {
			t.Errorf("extractable %x, want %d", native, want)
		}
	}
	in := &wire.Import{Blob: export(x, key(x)[0]), Token: true, Copies: 1}
	if s.Do(in); in.RV != pkcs11.CKR_ACTION_PROHIBITED {
		t.Errorf("import without permission: %v", in.RV)
	}
}

// seen is what an application sees of an object, but for CKA_TRUSTED, which one of
// the tokens does not know.
func seen(s *hosttest.Stream, object uint64) map[pkcs11.AttributeType]string {
	all := look(s, object)
	delete(all, pkcs11.CKA_TRUSTED)
	return all
}

// TestKeyExport copies every kind of key between two tokens without trusted keys,
// and between one of them and a cloning one: it reads the same everywhere (H5).
func TestKeyExport(t *testing.T) {
	a, b := exportJoined(t, exporting(t, "a")), exportJoined(t, exporting(t, "b"))
	c := exportJoined(t, hosttest.Start(t, hosttest.Token(t, "c")))
	describe := &wire.Describe{}
	if c.Must(describe); !describe.Token.Cloning {
		t.Error("a token with trusted keys does not clone")
	}
	for _, m := range makers {
		t.Run(m.name, func(t *testing.T) {
			for _, from := range []*hosttest.Stream{a, c} {
				for _, object := range m.make(from) {
					original := seen(from, object)
					blob := export(from, object)
					for _, to := range []*hosttest.Stream{a, b, c} {
						in := &wire.Import{Blob: bytes.Clone(blob), Token: true, Copies: 1}
						to.Must(in)
						compare(t, "copy", original, seen(to, in.Identity.Object))
						back := &wire.Import{Blob: export(to, in.Identity.Object)}
						from.Must(back)
						compare(t, "copy of the copy", original, seen(from, back.Identity.Object))
					}
				}
			}
		})
	}
}

// What an application asked to be non-extractable stays so to it on a token that
// does not guard it, in every view and by every way round (K6).
func TestExportedKeysStayClosed(t *testing.T) {
	client := exporting(t, "a")
	s := exportJoined(t, client)
	physical := hosttest.Open(t, client, wire.TokenView)
	key := keyOf(pkcs11.CKM_AES_KEY_GEN, join(number(pkcs11.CKA_VALUE_LEN, 32), yes(pkcs11.CKA_ENCRYPT)))(s)[0]
	publish := &wire.Publish{Object: key, Copies: 1}
	s.Must(publish)
	trusted := keyOf(pkcs11.CKM_AES_KEY_GEN, join(number(pkcs11.CKA_VALUE_LEN, 32), yes(pkcs11.CKA_EXTRACTABLE, pkcs11.CKA_WRAP_WITH_TRUSTED, pkcs11.CKA_SENSITIVE)))(s)[0]
	for _, view := range []*hosttest.Stream{s, physical} {
		mustStay(t, "session object", view, key)
		mustStay(t, "token object", view, publish.Identity.Object)
		wrapping := keyOf(pkcs11.CKM_AES_KEY_GEN, join(number(pkcs11.CKA_VALUE_LEN, 32), yes(pkcs11.CKA_WRAP)))(s)[0]
		wrap := &wire.WrapKey{Mechanism: mechanism(pkcs11.CKM_AES_KEY_WRAP_PAD, nil), Wrapping: wrapping, Key: trusted, WrappedRoom: wide}
		if view.Do(wrap); wrap.RV != pkcs11.CKR_KEY_NOT_WRAPPABLE {
			t.Errorf("a key for trusted ones: %v", wrap.RV)
		}
		for _, where := range []pkcs11.Template{no(pkcs11.CKA_TOKEN), yes(pkcs11.CKA_TOKEN)} {
			for _, from := range []uint64{key, publish.Identity.Object} {
				copied := &wire.CopyObject{Source: from, Template: where}
				view.Must(copied)
				mustStay(t, "copy", view, copied.Object)
				open := &wire.CopyObject{Source: from, Template: slices.Concat(where, yes(pkcs11.CKA_EXTRACTABLE))}
				if view.Do(open); open.RV == pkcs11.CKR_OK {
					t.Error("copied to an extractable one")
				}
			}
		}
	}
	// Nor is a key that has no record, as one that somebody made without us.
	bare := &wire.GenerateKey{Mechanism: pkcs11.Mechanism{Type: pkcs11.CKM_AES_KEY_GEN, Null: true},
		Template: join(number(pkcs11.CKA_VALUE_LEN, 32), yes(pkcs11.CKA_TOKEN, pkcs11.CKA_EXTRACTABLE, pkcs11.CKA_SENSITIVE))}
	physical.Must(bare)
	mustStay(t, "a key without a record", s, bare.Key)
	mustStay(t, "a key without a record", physical, bare.Key)
	copied := &wire.CopyObject{Source: bare.Key, Template: no(pkcs11.CKA_TOKEN)}
	physical.Must(copied)
	mustStay(t, "a copy of one", s, copied.Object)
}
