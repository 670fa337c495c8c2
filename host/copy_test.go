// SPDX-License-Identifier: Apache-2.0

package host_test

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"testing"

	"oneslot.dev/oneslot/host/hosttest"
	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/wire"
)

var (
	yes = func(kinds ...pkcs11.AttributeType) (t pkcs11.Template) {
		for _, k := range kinds {
			t = append(t, pkcs11.Bool(k, true))
		}
		return t
	}
	no = func(kinds ...pkcs11.AttributeType) (t pkcs11.Template) {
		for _, k := range kinds {
			t = append(t, pkcs11.Bool(k, false))
		}
		return t
	}
	join = func(list ...pkcs11.Template) (t pkcs11.Template) {
		for _, l := range list {
			t = append(t, l...)
		}
		return t
	}
	text = func(k pkcs11.AttributeType, s string) pkcs11.Template {
		return pkcs11.Template{pkcs11.Bytes(k, []byte(s))}
	}
	number        = func(k pkcs11.AttributeType, n uint64) pkcs11.Template { return pkcs11.Template{pkcs11.Ulong(k, n)} }
	p256          = text(pkcs11.CKA_EC_PARAMS, "\x06\x08\x2a\x86\x48\xce\x3d\x03\x01\x07")
	ed25519Params = text(pkcs11.CKA_EC_PARAMS, "\x13\x0cedwards25519")
)

// everyKind is what is compared between an original and its copy.
var everyKind = []pkcs11.AttributeType{
	pkcs11.CKA_CLASS, pkcs11.CKA_PRIVATE, pkcs11.CKA_LABEL, pkcs11.CKA_APPLICATION, pkcs11.CKA_VALUE, pkcs11.CKA_OBJECT_ID,
	pkcs11.CKA_CERTIFICATE_TYPE, pkcs11.CKA_ISSUER, pkcs11.CKA_SERIAL_NUMBER, pkcs11.CKA_TRUSTED, pkcs11.CKA_CERTIFICATE_CATEGORY,
	pkcs11.CKA_URL, pkcs11.CKA_CHECK_VALUE, pkcs11.CKA_KEY_TYPE, pkcs11.CKA_SUBJECT, pkcs11.CKA_ID, pkcs11.CKA_SENSITIVE,
	pkcs11.CKA_ENCRYPT, pkcs11.CKA_DECRYPT, pkcs11.CKA_WRAP, pkcs11.CKA_UNWRAP, pkcs11.CKA_SIGN, pkcs11.CKA_SIGN_RECOVER,
	pkcs11.CKA_VERIFY, pkcs11.CKA_VERIFY_RECOVER, pkcs11.CKA_DERIVE, pkcs11.CKA_START_DATE, pkcs11.CKA_END_DATE, pkcs11.CKA_MODULUS,
	pkcs11.CKA_PUBLIC_EXPONENT, pkcs11.CKA_PUBLIC_KEY_INFO, pkcs11.CKA_VALUE_LEN, pkcs11.CKA_EXTRACTABLE, pkcs11.CKA_LOCAL,
	pkcs11.CKA_NEVER_EXTRACTABLE, pkcs11.CKA_ALWAYS_SENSITIVE, pkcs11.CKA_KEY_GEN_MECHANISM, pkcs11.CKA_MODIFIABLE,
	pkcs11.CKA_COPYABLE, pkcs11.CKA_DESTROYABLE, pkcs11.CKA_EC_PARAMS, pkcs11.CKA_EC_POINT, pkcs11.CKA_ALWAYS_AUTHENTICATE,
	pkcs11.CKA_WRAP_WITH_TRUSTED, pkcs11.CKA_ALLOWED_MECHANISMS,
}

// look reads each attribute of an object as an application sees it.
func look(s *hosttest.Stream, object uint64) map[pkcs11.AttributeType]string {
	seen := map[pkcs11.AttributeType]string{}
	for _, k := range everyKind {
		c := &wire.GetAttributeValue{Object: object, Query: wire.Query{{Type: k, Form: wire.AskRoom, Capacity: 1 << 16}}}
		s.Do(c)
		if c.RV == pkcs11.CKR_OK {
			seen[k] = fmt.Sprintf("%x", c.Values[0].Data)
		} else {
			seen[k] = c.RV.String()
		}
	}
	return seen
}

func compare(t *testing.T, what string, want, got map[pkcs11.AttributeType]string) {
	t.Helper()
	for _, k := range everyKind {
		if want[k] != got[k] {
			t.Errorf("%s: %v is %s, on the original %s", what, k, got[k], want[k])
		}
	}
}

// makers make session objects, as the group does, of every kind.
var makers = []struct {
	name string
	make func(s *hosttest.Stream) []uint64
}{
	{"RSA", func(s *hosttest.Stream) []uint64 { return rsaMix(s) }},
	{"EC", pairOf(pkcs11.CKM_EC_KEY_PAIR_GEN, p256, yes(pkcs11.CKA_SIGN, pkcs11.CKA_DERIVE))},
	{"EC extractable", pairOf(pkcs11.CKM_EC_KEY_PAIR_GEN, p256, join(yes(pkcs11.CKA_SIGN, pkcs11.CKA_EXTRACTABLE), text(pkcs11.CKA_ID, "x")))},
	{"EC fixed", pairOf(pkcs11.CKM_EC_KEY_PAIR_GEN, p256, join(no(pkcs11.CKA_MODIFIABLE, pkcs11.CKA_DESTROYABLE),
		text(pkcs11.CKA_START_DATE, "20260101"), text(pkcs11.CKA_END_DATE, "20301231"), text(pkcs11.CKA_SUBJECT, "0\x00")))},
	{"EC no copies", pairOf(pkcs11.CKM_EC_KEY_PAIR_GEN, p256, no(pkcs11.CKA_COPYABLE, pkcs11.CKA_SIGN))},
	{"AES", keyOf(pkcs11.CKM_AES_KEY_GEN, join(number(pkcs11.CKA_VALUE_LEN, 32), yes(pkcs11.CKA_ENCRYPT), text(pkcs11.CKA_LABEL, "aes")))},
	{"AES readable", keyOf(pkcs11.CKM_AES_KEY_GEN, join(number(pkcs11.CKA_VALUE_LEN, 16), yes(pkcs11.CKA_EXTRACTABLE, pkcs11.CKA_WRAP), no(pkcs11.CKA_SENSITIVE)))},
	{"AES insensitive", keyOf(pkcs11.CKM_AES_KEY_GEN, join(number(pkcs11.CKA_VALUE_LEN, 16), no(pkcs11.CKA_EXTRACTABLE, pkcs11.CKA_SENSITIVE)))},
	{"AES trusted only", keyOf(pkcs11.CKM_AES_KEY_GEN, join(number(pkcs11.CKA_VALUE_LEN, 16), yes(pkcs11.CKA_EXTRACTABLE, pkcs11.CKA_WRAP_WITH_TRUSTED, pkcs11.CKA_SENSITIVE)))},
	{"AES limited", keyOf(pkcs11.CKM_AES_KEY_GEN, join(number(pkcs11.CKA_VALUE_LEN, 24),
		text(pkcs11.CKA_ALLOWED_MECHANISMS, "\x85\x10\x00\x00\x00\x00\x00\x00"), text(pkcs11.CKA_ID, "")))},
	{"generic", keyOf(pkcs11.CKM_GENERIC_SECRET_KEY_GEN, join(number(pkcs11.CKA_VALUE_LEN, 40), yes(pkcs11.CKA_SIGN, pkcs11.CKA_DERIVE)))},
	{"imported generic", objectOf(number(pkcs11.CKA_CLASS, pkcs11.CKO_SECRET_KEY), number(pkcs11.CKA_KEY_TYPE, pkcs11.CKK_GENERIC_SECRET),
		text(pkcs11.CKA_VALUE, "sixteen letters!"), yes(pkcs11.CKA_SIGN))},
	{"imported EC", objectOf(number(pkcs11.CKA_CLASS, pkcs11.CKO_PRIVATE_KEY), number(pkcs11.CKA_KEY_TYPE, pkcs11.CKK_EC), p256,
		text(pkcs11.CKA_VALUE, "a private value of 32 bytes ....."[:32]), yes(pkcs11.CKA_SIGN))},
	{"certificate", objectOf(number(pkcs11.CKA_CLASS, pkcs11.CKO_CERTIFICATE), number(pkcs11.CKA_CERTIFICATE_TYPE, pkcs11.CKC_X_509),
		text(pkcs11.CKA_SUBJECT, "0\x00"), text(pkcs11.CKA_VALUE, "not looked into"), text(pkcs11.CKA_ID, "c"))},
	{"data", objectOf(number(pkcs11.CKA_CLASS, pkcs11.CKO_DATA), text(pkcs11.CKA_APPLICATION, "app"), text(pkcs11.CKA_VALUE, ""),
		text(pkcs11.CKA_LABEL, "l"), yes(pkcs11.CKA_PRIVATE))},
	{"public data", objectOf(number(pkcs11.CKA_CLASS, pkcs11.CKO_DATA), text(pkcs11.CKA_VALUE, "v"), no(pkcs11.CKA_PRIVATE, pkcs11.CKA_MODIFIABLE))},
}

func rsaMix(s *hosttest.Stream) []uint64 {
	c := &wire.GenerateKeyPair{Mechanism: pkcs11.Mechanism{Type: pkcs11.CKM_RSA_PKCS_KEY_PAIR_GEN},
		Public: join(number(pkcs11.CKA_MODULUS_BITS, 2048), text(pkcs11.CKA_PUBLIC_EXPONENT, "\x01\x00\x01"), yes(pkcs11.CKA_WRAP),
			no(pkcs11.CKA_TOKEN, pkcs11.CKA_ENCRYPT), text(pkcs11.CKA_LABEL, "public")),
		Private: join(no(pkcs11.CKA_TOKEN, pkcs11.CKA_SIGN), yes(pkcs11.CKA_UNWRAP, pkcs11.CKA_DECRYPT, pkcs11.CKA_ALWAYS_AUTHENTICATE),
			text(pkcs11.CKA_ID, "\x00\x01"), text(pkcs11.CKA_ALLOWED_MECHANISMS, "\x0d\x00\x00\x00\x00\x00\x00\x00"))}
	s.Must(c)
	return []uint64{c.PublicKey, c.PrivateKey}
}

func pairOf(m pkcs11.MechanismType, params, private pkcs11.Template) func(*hosttest.Stream) []uint64 {
	return func(s *hosttest.Stream) []uint64 {
		c := &wire.GenerateKeyPair{Mechanism: pkcs11.Mechanism{Type: m}, Public: join(params, yes(pkcs11.CKA_VERIFY)), Private: private}
		s.Must(c)
		return []uint64{c.PublicKey, c.PrivateKey}
	}
}

func keyOf(m pkcs11.MechanismType, t pkcs11.Template) func(*hosttest.Stream) []uint64 {
	return func(s *hosttest.Stream) []uint64 {
		c := &wire.GenerateKey{Mechanism: pkcs11.Mechanism{Type: m}, Template: t}
		s.Must(c)
		return []uint64{c.Key}
	}
}

func objectOf(list ...pkcs11.Template) func(*hosttest.Stream) []uint64 {
	return func(s *hosttest.Stream) []uint64 {
		c := &wire.CreateObject{Template: join(list...)}
		s.Must(c)
		return []uint64{c.Object}
	}
}

// TestCopy makes each kind of object on one member, copies it to another, and
// publishes it: what applications see is the same everywhere (rules H5, K6;
// field report C11).
func TestCopy(t *testing.T) {
	a, b := member(t, "a", 1), member(t, "b", 1)
	for _, m := range makers {
		t.Run(m.name, func(t *testing.T) {
			for _, object := range m.make(a) {
				original := look(a, object)
				export := &wire.Export{Object: object}
				a.Must(export)
				imported := &wire.Import{Blob: bytes.Clone(export.Blob), Token: true, Copies: 1}
				b.Must(imported)
				compare(t, "copy", original, look(b, imported.Identity.Object))
				publish := &wire.Publish{Object: object, Copies: 1}
				a.Must(publish)
				if !publish.Identity.Same(&imported.Identity) {
					t.Errorf("published as %+v, copied as %+v", publish.Identity, imported.Identity)
				}
				if publish.Identity.Flags&wire.OnToken == 0 || imported.Identity.Flags&wire.OnToken == 0 {
					t.Error("not on the token")
				}
				compare(t, "published", original, look(a, publish.Identity.Object))

				first := imported.Identity.Object
				again := &wire.Import{Blob: bytes.Clone(export.Blob), Token: true, Copies: 1}
				b.Must(again)
				if again.Identity.Object != first {
					t.Error("imported twice")
				}
				first = publish.Identity.Object
				republish := &wire.Publish{Object: object, Copies: 1}
				a.Must(republish)
				if republish.Identity.Object != first {
					t.Error("published twice")
				}

				// From the copy to a session object on the origin.
				back := &wire.Export{Object: again.Identity.Object}
				b.Must(back)
				returned := &wire.Import{Blob: bytes.Clone(back.Blob)}
				a.Must(returned)
				compare(t, "copy of the copy", original, look(a, returned.Identity.Object))
			}
		})
	}
}

// H3, K6, K8: SoftHSM 2.6.1 fills up a secret key with zeros when it wraps it, so
// that the copy of one whose length is no multiple of 8 is another key. Such a
// key is not copied, and not taken for the one that is as long as its copy would
// be. Some are shown without a length.
func TestSecretOfOddLength(t *testing.T) {
	s := member(t, "a", 1)
	secret := func(value string) uint64 {
		return objectOf(number(pkcs11.CKA_CLASS, pkcs11.CKO_SECRET_KEY), number(pkcs11.CKA_KEY_TYPE, pkcs11.CKK_GENERIC_SECRET),
			text(pkcs11.CKA_VALUE, value), yes(pkcs11.CKA_SIGN, pkcs11.CKA_EXTRACTABLE), no(pkcs11.CKA_SENSITIVE))(s)[0]
	}
	by := pairOf(pkcs11.CKM_RSA_PKCS_KEY_PAIR_GEN, join(number(pkcs11.CKA_MODULUS_BITS, 2048), yes(pkcs11.CKA_WRAP)), yes(pkcs11.CKA_UNWRAP))(s)
	unwrapped := func(key uint64) uint64 {
		m := pkcs11.Mechanism{Type: pkcs11.CKM_RSA_PKCS}
		wrap := &wire.WrapKey{Mechanism: m, Wrapping: by[0], Key: key, WrappedRoom: wire.Room{Capacity: 256}}
		s.Must(wrap)
		unwrap := &wire.UnwrapKey{Mechanism: m, Unwrapping: by[1], Wrapped: wire.Data(bytes.Clone(wrap.Wrapped.Data)),
			Template: join(number(pkcs11.CKA_CLASS, pkcs11.CKO_SECRET_KEY), number(pkcs11.CKA_KEY_TYPE, pkcs11.CKK_GENERIC_SECRET), yes(pkcs11.CKA_SIGN))}
		s.Must(unwrap)
		return unwrap.Key
	}
	identity := func(object uint64) wire.Identity {
		c := &wire.Identify{Object: object}
		s.Must(c)
		return c.Identity
	}
	odd := secret("a secret of 23 letters!")
	for what, object := range map[string]uint64{"made": odd, "unwrapped": unwrapped(odd)} {
		export := &wire.Export{Object: object}
		if s.Do(export); export.RV != pkcs11.CKR_KEY_UNEXTRACTABLE {
			t.Errorf("%s: exported with %v", what, export.RV)
		}
		if id := identity(object); len(id.Fingerprint) != 0 || id.Flags&wire.Copyable != 0 {
			t.Errorf("%s: identified as %+v", what, id)
		}
	}
	even := secret("a secret of 23 letters!\x00")
	made, back := identity(even), identity(unwrapped(even))
	if made.Flags&wire.Copyable == 0 || !made.Same(&back) {
		t.Errorf("made as %+v, unwrapped as %+v", made, back)
	}
	found := &wire.Find{}
	if s.Must(found); len(found.Found) != 6 {
		t.Errorf("%d objects are seen, of 6", len(found.Found))
	}

	generated := keyOf(pkcs11.CKM_GENERIC_SECRET_KEY_GEN, join(number(pkcs11.CKA_VALUE_LEN, 27), yes(pkcs11.CKA_SIGN)))(s)[0]
	original := look(s, generated)
	publish := &wire.Publish{Object: generated, Copies: 1}
	s.Must(publish)
	compare(t, "published", original, look(s, publish.Identity.Object))
}

// K6: a key that only trusted keys may wrap is guarded in its copies, also one that
// was to be readable.
func TestReadableKeyThatOnlyTrustedKeysWrap(t *testing.T) {
	a, b := member(t, "a", 1), member(t, "b", 1)
	made := objectOf(number(pkcs11.CKA_CLASS, pkcs11.CKO_SECRET_KEY), number(pkcs11.CKA_KEY_TYPE, pkcs11.CKK_AES),
		text(pkcs11.CKA_VALUE, "sixteen letters!"), yes(pkcs11.CKA_EXTRACTABLE, pkcs11.CKA_WRAP_WITH_TRUSTED), no(pkcs11.CKA_SENSITIVE))(a)[0]
	export := &wire.Export{Object: made}
	a.Must(export)
	for _, token := range []bool{false, true} {
		in := &wire.Import{Blob: bytes.Clone(export.Blob), Token: token, Copies: 1}
		b.Must(in)
		compare(t, "the copy", look(a, made), look(b, in.Identity.Object))
	}
}

// K8: a key that will not be copied is made as it was asked for, keeps on the token
// what forbids changing it, and changes as on a bare token.
func TestKeyThatWillNotBeCopied(t *testing.T) {
	s := member(t, "a", 1)
	made := func(more ...pkcs11.Template) uint64 {
		return objectOf(append([]pkcs11.Template{number(pkcs11.CKA_CLASS, pkcs11.CKO_SECRET_KEY), number(pkcs11.CKA_KEY_TYPE, pkcs11.CKK_GENERIC_SECRET),
			text(pkcs11.CKA_VALUE, "a secret of 23 letters!")}, more...)...)(s)[0]
	}
	wanted := map[pkcs11.AttributeType]string{pkcs11.CKA_EXTRACTABLE: "00", pkcs11.CKA_SENSITIVE: "00", pkcs11.CKA_WRAP_WITH_TRUSTED: "00",
		pkcs11.CKA_DESTROYABLE: "00", pkcs11.CKA_MODIFIABLE: "00"}
	publish := &wire.Publish{Object: made(no(pkcs11.CKA_SENSITIVE, pkcs11.CKA_DESTROYABLE, pkcs11.CKA_MODIFIABLE)), Copies: 1}
	s.Must(publish)
	for kind, value := range look(s, publish.Identity.Object) {
		if wants, ok := wanted[kind]; ok && value != wants {
			t.Errorf("%v reads %s", kind, value)
		}
	}
	open := made(no(pkcs11.CKA_SENSITIVE), yes(pkcs11.CKA_EXTRACTABLE))
	s.Must(&wire.SetAttributeValue{Object: open, Template: join(no(pkcs11.CKA_EXTRACTABLE), yes(pkcs11.CKA_SENSITIVE))})
	if seen := look(s, open); seen[pkcs11.CKA_EXTRACTABLE] != "00" || seen[pkcs11.CKA_SENSITIVE] != "01" || seen[pkcs11.CKA_WRAP_WITH_TRUSTED] != "00" {
		t.Errorf("set to extractable %s, sensitive %s, trusted only %s", seen[pkcs11.CKA_EXTRACTABLE], seen[pkcs11.CKA_SENSITIVE], seen[pkcs11.CKA_WRAP_WITH_TRUSTED])
	}
}

// TestUnwrappable makes a key that SoftHSM 2.6.1 cannot wrap: it can be
// published, and is reported as not copyable (rule K8).
func TestUnwrappable(t *testing.T) {
	s := member(t, "a", 1)
	pair := pairOf(pkcs11.CKM_EC_EDWARDS_KEY_PAIR_GEN, ed25519Params, yes(pkcs11.CKA_SIGN))(s)
	export := &wire.Export{Object: pair[1]}
	s.Do(export)
	if export.RV != pkcs11.CKR_KEY_UNEXTRACTABLE {
		t.Errorf("exported with %v", export.RV)
	}
	original := look(s, pair[1])
	publish := &wire.Publish{Object: pair[1], Copies: 1}
	s.Must(publish)
	if publish.Identity.Flags&wire.Copyable != 0 || publish.Identity.Flags&wire.OnToken == 0 || len(publish.Identity.Fingerprint) == 0 {
		t.Errorf("published as %+v", publish.Identity)
	}
	compare(t, "published", original, look(s, publish.Identity.Object))
}

// K1, H5: what forbids changing, copying or destroying a session object forbids it of its
// copies, unless they are asked for otherwise.
func TestCopiesOfSessionObjectsKeepWhatIsForbidden(t *testing.T) {
	s := member(t, "a", 1)
	original := objectOf(number(pkcs11.CKA_CLASS, pkcs11.CKO_DATA), text(pkcs11.CKA_VALUE, "v"), no(pkcs11.CKA_DESTROYABLE))(s)[0]
	kept, freed := &wire.CopyObject{Source: original, Template: pkcs11.Template{}}, &wire.CopyObject{Source: original, Template: yes(pkcs11.CKA_DESTROYABLE)}
	s.Must(kept)
	s.Must(freed)
	for object, want := range map[uint64]pkcs11.RV{original: pkcs11.CKR_ACTION_PROHIBITED, kept.Object: pkcs11.CKR_ACTION_PROHIBITED, freed.Object: pkcs11.CKR_OK} {
		seen := look(s, object)[pkcs11.CKA_DESTROYABLE]
		destroy := &wire.DestroyObject{Object: object}
		if s.Do(destroy); destroy.RV != want || (seen == "01") != (want == pkcs11.CKR_OK) {
			t.Errorf("object %d reads CKA_DESTROYABLE %s, and destroying it gives %v, want %v", object, seen, destroy.RV, want)
		}
	}
}

// G5: a key without its value, which SoftHSM takes and does not stand to wrap, ends
// no member process.
func TestEmptyPartsAreRefused(t *testing.T) {
	s := member(t, "a", 1)
	create := &wire.CreateObject{Template: join(number(pkcs11.CKA_CLASS, pkcs11.CKO_PRIVATE_KEY), number(pkcs11.CKA_KEY_TYPE, pkcs11.CKK_DH),
		text(pkcs11.CKA_PRIME, "a prime"), text(pkcs11.CKA_BASE, "\x02"), text(pkcs11.CKA_VALUE, ""), yes(pkcs11.CKA_DERIVE))}
	if s.Do(create); create.RV != pkcs11.CKR_TEMPLATE_INCOMPLETE {
		t.Errorf("C_CreateObject: %v", create.RV)
	}
	s.Must(&wire.Find{})
}

// K1, K6: a copy may be less extractable than the original; it is guarded from then on,
// here and where it is copied to, and the original stays what it is.
func TestCopyThatIsLessExtractable(t *testing.T) {
	a, b := member(t, "a", 1), member(t, "b", 1)
	for name, m := range map[string]func(*hosttest.Stream) []uint64{
		"AES": keyOf(pkcs11.CKM_AES_KEY_GEN, join(number(pkcs11.CKA_VALUE_LEN, 32), yes(pkcs11.CKA_EXTRACTABLE, pkcs11.CKA_ENCRYPT, pkcs11.CKA_SENSITIVE))),
		"EC":  pairOf(pkcs11.CKM_EC_KEY_PAIR_GEN, p256, yes(pkcs11.CKA_EXTRACTABLE, pkcs11.CKA_SIGN, pkcs11.CKA_SENSITIVE)),
	} {
		made := m(a)
		publish := &wire.Publish{Object: made[len(made)-1], Copies: 1}
		a.Must(publish)
		before := look(a, publish.Identity.Object)
		copied := &wire.CopyObject{Source: publish.Identity.Object, Template: join(no(pkcs11.CKA_EXTRACTABLE, pkcs11.CKA_TOKEN), text(pkcs11.CKA_LABEL, "closed"))}
		a.Must(copied)
		closed := look(a, copied.Object)
		if closed[pkcs11.CKA_EXTRACTABLE] != "00" || closed[pkcs11.CKA_LABEL] != hex.EncodeToString([]byte("closed")) || closed[pkcs11.CKA_NEVER_EXTRACTABLE] != "00" {
			t.Errorf("%s: the copy reads %v", name, closed)
		}
		compare(t, name+": the original", before, look(a, publish.Identity.Object))
		mustStay(t, name, a, copied.Object)
		in := &wire.Import{Blob: export(a, copied.Object), Token: true, Copies: 1}
		b.Must(in)
		compare(t, name+": the copy elsewhere", closed, look(b, in.Identity.Object))
		mustStay(t, name+" elsewhere", b, in.Identity.Object)
		out := &wire.Publish{Object: copied.Object, Copies: 2}
		a.Must(out)
		compare(t, name+": the copy on the token", closed, look(a, out.Identity.Object))
		compare(t, name+": the original beside it", before, look(a, publish.Identity.Object))
	}
}
