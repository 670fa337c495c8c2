// SPDX-License-Identifier: Apache-2.0

package host_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"oneslot.dev/oneslot/host/hosttest"
	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/wire"
)

// twinKinds are pairs of equal objects in which an application asked for other
// attributes.
var twinKinds = []struct {
	name     string
	base     pkcs11.Template
	one, two pkcs11.Template
}{
	{"AES, extractable and not", aesValue, yes(pkcs11.CKA_EXTRACTABLE), no(pkcs11.CKA_EXTRACTABLE)},
	{"AES, readable and not", aesValue, join(yes(pkcs11.CKA_EXTRACTABLE), no(pkcs11.CKA_SENSITIVE)), yes(pkcs11.CKA_SENSITIVE)},
	{"AES, extractable, readable and not", aesValue, join(yes(pkcs11.CKA_EXTRACTABLE), no(pkcs11.CKA_SENSITIVE)), yes(pkcs11.CKA_EXTRACTABLE, pkcs11.CKA_SENSITIVE)},
	{"EC private, extractable and not", join(number(pkcs11.CKA_CLASS, pkcs11.CKO_PRIVATE_KEY), number(pkcs11.CKA_KEY_TYPE, pkcs11.CKK_EC), p256,
		text(pkcs11.CKA_VALUE, "a private value of 32 bytes ....."[:32])), yes(pkcs11.CKA_EXTRACTABLE), no(pkcs11.CKA_SENSITIVE)},
	{"RSA public, with a date and without", join(number(pkcs11.CKA_CLASS, pkcs11.CKO_PUBLIC_KEY), number(pkcs11.CKA_KEY_TYPE, pkcs11.CKK_RSA),
		text(pkcs11.CKA_MODULUS, strings.Repeat("a modulus is odd", 16)), text(pkcs11.CKA_PUBLIC_EXPONENT, "\x01\x00\x01")), nil, text(pkcs11.CKA_START_DATE, "20260101")},
}

var aesValue = join(number(pkcs11.CKA_CLASS, pkcs11.CKO_SECRET_KEY), number(pkcs11.CKA_KEY_TYPE, pkcs11.CKK_AES),
	text(pkcs11.CKA_VALUE, "sixteen letters!"), yes(pkcs11.CKA_ENCRYPT))

// H5, K6: each of two equal keys reads as it was asked for, on the member that made
// it and on the one that it was copied to, in whichever order they come, also
// after another login.
func TestTwinsReadAsTheyWereAskedFor(t *testing.T) {
	a, b := member(t, "a", 1), member(t, "b", 1)
	for _, kind := range twinKinds {
		for name, order := range map[string][2]pkcs11.Template{"": {kind.one, kind.two}, " turned round": {kind.two, kind.one}} {
			t.Run(kind.name+name, func(t *testing.T) {
				var wanted []map[pkcs11.AttributeType]string
				var published, imported []uint64
				see := func(what string) {
					t.Helper()
					for i := range published {
						compare(t, fmt.Sprint(what, " published ", i), wanted[i], look(a, published[i]))
						compare(t, fmt.Sprint(what, " imported ", i), wanted[i], look(b, imported[i]))
					}
				}
				for i, more := range order {
					made := objectOf(kind.base, more)(a)[0]
					wanted = append(wanted, look(a, made))
					export := &wire.Export{Object: made}
					a.Must(export)
					in := &wire.Import{Blob: bytes.Clone(export.Blob), Token: true, Copies: uint64(i) + 1}
					b.Must(in)
					out := &wire.Publish{Object: made, Copies: uint64(i) + 1}
					a.Must(out)
					published, imported = append(published, out.Identity.Object), append(imported, in.Identity.Object)
					see("made:")
				}
				for _, s := range []*hosttest.Stream{a, b} {
					s.Must(&wire.Logout{})
					s.Login()
				}
				for i, s := range []*hosttest.Stream{a, b} {
					seen := 0
					find := &wire.Find{Template: yes(pkcs11.CKA_TOKEN)}
					s.Must(find)
					for _, f := range find.Found {
						got := look(s, f.Object)
						for _, want := range wanted {
							if fmt.Sprint(got) == fmt.Sprint(want) {
								seen++
							}
						}
					}
					if len(find.Found) != 2 || seen != 2 {
						t.Errorf("after another login member %d shows %d objects, %d as they were asked for", i, len(find.Found), seen)
					}
					for _, f := range find.Found {
						s.Must(&wire.DestroyObject{Object: f.Object})
					}
				}
			})
		}
	}
}

// H4, K4: the same key under another name is made, also where there are as many equal
// ones as there should be: another process may have made one a moment ago.
func TestAnotherNameIsAnotherObject(t *testing.T) {
	a, b := member(t, "a", 1), member(t, "b", 1)
	handles := map[uint64]bool{}
	for _, label := range []string{"one", "two", "one"} {
		made := &wire.CreateObject{Template: join(number(pkcs11.CKA_CLASS, pkcs11.CKO_SECRET_KEY), number(pkcs11.CKA_KEY_TYPE, pkcs11.CKK_AES),
			text(pkcs11.CKA_VALUE, "0123456789abcdef"), text(pkcs11.CKA_LABEL, label), yes(pkcs11.CKA_SIGN), no(pkcs11.CKA_EXTRACTABLE))}
		a.Must(made)
		out := &wire.Export{Object: made.Object}
		a.Must(out)
		in, publish := &wire.Import{Blob: bytes.Clone(out.Blob), Token: true, Copies: 1, Named: true}, &wire.Publish{Object: made.Object, Copies: 1}
		b.Must(in)
		a.Must(publish)
		for _, id := range []wire.Identity{in.Identity, publish.Identity} {
			if string(id.Label) != label {
				t.Errorf("%q is called %q", label, id.Label)
			}
		}
		handles[publish.Identity.Object] = true
	}
	if len(handles) != 2 {
		t.Errorf("%d objects of 2 names", len(handles))
	}
}
