// SPDX-License-Identifier: Apache-2.0

package host_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"oneslot.dev/oneslot/host/hosttest"
	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/wire"
)

func export(s *hosttest.Stream, object uint64) []byte {
	c := &wire.Export{Object: object}
	s.Must(c)
	return bytes.Clone(c.Blob)
}

func found(s *hosttest.Stream, t pkcs11.Template) []wire.Identity {
	c := &wire.Find{Template: t}
	s.Must(c)
	return c.Found
}

// TestTamperedBlob changes a blob in every byte: nothing comes of it.
func TestTamperedBlob(t *testing.T) {
	a, b := member(t, "a", 1), member(t, "b", 1)
	key := keyOf(pkcs11.CKM_AES_KEY_GEN, number(pkcs11.CKA_VALUE_LEN, 32))(a)[0]
	blob := export(a, key)
	for i := range blob {
		changed := bytes.Clone(blob)
		changed[i] ^= 1 << (i % 8)
		c := &wire.Import{Blob: changed, Token: true, Copies: 1}
		b.Do(c)
		switch c.RV {
		case pkcs11.CKR_DATA_INVALID, pkcs11.CKR_DOMAIN_PARAMS_INVALID, pkcs11.CKR_WRAPPED_KEY_INVALID:
		default:
			t.Fatalf("byte %d changed: %v", i, c.RV)
		}
	}
	for _, n := range []int{0, 1, len(blob) / 2, len(blob) - 1} {
		c := &wire.Import{Blob: blob[:n], Token: true, Copies: 1}
		b.Do(c)
		if c.RV != pkcs11.CKR_DATA_INVALID {
			t.Errorf("%d bytes of it: %v", n, c.RV)
		}
	}
	if left := found(b, nil); len(left) != 0 {
		t.Errorf("left behind: %+v", left)
	}
}

// TestOtherDomain brings a blob to a token of another domain, and of none.
func TestOtherDomain(t *testing.T) {
	a, b := member(t, "a", 1), member(t, "b", 2)
	none := hosttest.Open(t, hosttest.Start(t, hosttest.Token(t, "c")), wire.GroupView)
	none.Login()
	pair := pairOf(pkcs11.CKM_EC_KEY_PAIR_GEN, p256, yes(pkcs11.CKA_SIGN))(a)
	for _, object := range pair {
		blob := export(a, object)
		for _, s := range []*hosttest.Stream{b, none} {
			c := &wire.Import{Blob: blob, Token: true, Copies: 1}
			s.Do(c)
			if c.RV != pkcs11.CKR_DOMAIN_PARAMS_INVALID {
				t.Errorf("object %d: %v", object, c.RV)
			}
		}
	}
	// Without a domain nothing is rewritten, and keys stay where they are.
	native := pairOf(pkcs11.CKM_EC_KEY_PAIR_GEN, p256, yes(pkcs11.CKA_SIGN))(none)
	c := &wire.Export{Object: native[1]}
	none.Do(c)
	if c.RV != pkcs11.CKR_KEY_UNEXTRACTABLE {
		t.Errorf("exported without a domain: %v", c.RV)
	}
	if v := values(none, native[1], pkcs11.CKA_EXTRACTABLE)[0]; v[0] != 0 {
		t.Error("made extractable without a domain")
	}
	// Public objects need none.
	public := &wire.Import{Blob: export(none, native[0]), Token: true, Copies: 1}
	b.Must(public)
}

// TestTwins makes two equal objects on purpose (field report C8): copies says
// how many there should be.
func TestTwins(t *testing.T) {
	a := member(t, "a", 1)
	data := objectOf(number(pkcs11.CKA_CLASS, pkcs11.CKO_DATA), text(pkcs11.CKA_VALUE, "v"))(a)[0]
	key := keyOf(pkcs11.CKM_AES_KEY_GEN, number(pkcs11.CKA_VALUE_LEN, 32))(a)[0]
	for _, object := range []uint64{data, key} {
		for n := uint64(1); n <= 3; n++ {
			for range 2 {
				a.Must(&wire.Publish{Object: object, Copies: n})
				id := &wire.Identify{Object: object}
				a.Must(id)
				resolve := &wire.Resolve{Wanted: id.Identity}
				a.Must(resolve)
				if len(resolve.Found) != int(n)+1 { // and the session object
					t.Errorf("%d copies published, found %d", n, len(resolve.Found)-1)
				}
			}
		}
	}
}

// TestDestroy destroys a published key: its record goes with the last twin, and
// nothing else does.
func TestDestroy(t *testing.T) {
	a := member(t, "a", 1)
	key := keyOf(pkcs11.CKM_AES_KEY_GEN, number(pkcs11.CKA_VALUE_LEN, 32))(a)[0]
	first, second := &wire.Publish{Object: key, Copies: 1}, &wire.Publish{Object: key, Copies: 2}
	a.Must(first, second)
	a.Must(&wire.DestroyObject{Object: key})
	a.Must(&wire.DestroyObject{Object: first.Identity.Object})
	if v := values(a, second.Identity.Object, pkcs11.CKA_NEVER_EXTRACTABLE)[0]; len(v) != 1 || v[0] != 1 {
		t.Errorf("the twin's record is gone: %x", v)
	}
	a.Must(&wire.DestroyObject{Object: second.Identity.Object})
	if left := found(a, nil); len(left) != 0 {
		t.Errorf("left: %+v", left)
	}
	gone := &wire.DestroyObject{Object: second.Identity.Object}
	a.Do(gone)
	if gone.RV != pkcs11.CKR_OBJECT_HANDLE_INVALID {
		t.Errorf("destroyed twice: %v", gone.RV)
	}
}

// TestExtractable changes an extractable key: there is no way back, and what
// applications may do with it follows (rule K6).
func TestExtractable(t *testing.T) {
	client := hosttest.Start(t, hosttest.Token(t, "a"))
	a, b := joined(t, client, 1), member(t, "b", 1)
	wrapping := keyOf(pkcs11.CKM_AES_KEY_GEN, join(number(pkcs11.CKA_VALUE_LEN, 32), yes(pkcs11.CKA_WRAP)))(a)[0]
	wrap := func(key uint64, want pkcs11.RV) {
		t.Helper()
		c := &wire.WrapKey{Mechanism: mechanism(pkcs11.CKM_AES_KEY_WRAP_PAD, nil), Wrapping: wrapping, Key: key, WrappedRoom: wide}
		a.Do(c)
		if c.RV != want {
			t.Errorf("wrapped by the application: %v, want %v", c.RV, want)
		}
	}
	set := func(key uint64, attribute pkcs11.Template, want pkcs11.RV) {
		t.Helper()
		c := &wire.SetAttributeValue{Object: key, Template: attribute}
		a.Do(c)
		if c.RV != want {
			t.Errorf("set %v: %v, want %v", attribute[0].Type, c.RV, want)
		}
	}
	made := keyOf(pkcs11.CKM_AES_KEY_GEN, join(number(pkcs11.CKA_VALUE_LEN, 32), yes(pkcs11.CKA_EXTRACTABLE)))(a)[0]
	publish := &wire.Publish{Object: made, Copies: 1}
	a.Must(publish)
	key := publish.Identity.Object
	wrap(key, pkcs11.CKR_OK)
	if n := len(found(a, join(yes(pkcs11.CKA_EXTRACTABLE, pkcs11.CKA_TOKEN)))); n != 1 {
		t.Errorf("%d extractable keys", n)
	}
	set(key, no(pkcs11.CKA_EXTRACTABLE), pkcs11.CKR_OK)
	// SoftHSM can do this only with a new object, which has a new handle.
	resolve := &wire.Resolve{Wanted: publish.Identity}
	a.Must(resolve)
	for _, id := range resolve.Found {
		if id.Flags&wire.OnToken != 0 {
			key = id.Object
		}
	}
	if native := hosttest.Open(t, client, wire.TokenView); !bytes.Equal(values(native, key, pkcs11.CKA_WRAP_WITH_TRUSTED)[0], []byte{1}) {
		t.Error("the key can still be wrapped by any key")
	}
	wrap(key, pkcs11.CKR_KEY_UNEXTRACTABLE)
	set(key, yes(pkcs11.CKA_EXTRACTABLE), pkcs11.CKR_ATTRIBUTE_READ_ONLY)
	if n := len(found(a, join(yes(pkcs11.CKA_EXTRACTABLE, pkcs11.CKA_TOKEN)))); n != 0 {
		t.Errorf("%d extractable keys", n)
	}
	imported := &wire.Import{Blob: export(a, key), Token: true, Copies: 1}
	b.Must(imported)
	compare(t, "copy", look(a, key), look(b, imported.Identity.Object))

	secret := keyOf(pkcs11.CKM_AES_KEY_GEN, number(pkcs11.CKA_VALUE_LEN, 32))(a)[0]
	wrap(secret, pkcs11.CKR_KEY_UNEXTRACTABLE)
	set(secret, yes(pkcs11.CKA_EXTRACTABLE), pkcs11.CKR_ATTRIBUTE_READ_ONLY)
	set(secret, text(pkcs11.CKA_PUBLIC_KEY_INFO, "x"), pkcs11.CKR_ATTRIBUTE_READ_ONLY)
	fixed := keyOf(pkcs11.CKM_AES_KEY_GEN, join(number(pkcs11.CKA_VALUE_LEN, 32), no(pkcs11.CKA_MODIFIABLE)))(a)[0]
	set(fixed, text(pkcs11.CKA_LABEL, "x"), pkcs11.CKR_ACTION_PROHIBITED)
	set(secret, text(pkcs11.CKA_LABEL, "oneslot domain strict 1"), pkcs11.CKR_ATTRIBUTE_VALUE_INVALID)
}

// TestJournal keeps records over processes, hidden from applications.
func TestJournal(t *testing.T) {
	token := hosttest.Token(t, "a")
	open := func() *hosttest.Stream {
		s := hosttest.Open(t, hosttest.Start(t, token), wire.GroupView)
		return s
	}
	a := open()
	a.Must(&wire.Join{Officer: []byte(hosttest.OfficerPIN), Pin: []byte(hosttest.UserPIN), Secret: secretOf(1)})
	a.Login()
	for _, r := range []string{"one", "two", "two", ""} {
		a.Must(&wire.Record{Record: []byte(r)})
	}
	b := open()
	b.Login()
	list := func(want ...string) {
		t.Helper()
		c := &wire.Records{}
		b.Must(c)
		got := map[string]bool{}
		for _, r := range c.Records {
			got[string(r)] = true
		}
		if len(c.Records) != len(want) {
			t.Errorf("%d records, want %q", len(c.Records), want)
		}
		for _, r := range want {
			if !got[r] {
				t.Errorf("no record %q", r)
			}
		}
	}
	list("one", "two", "")
	a.Must(&wire.Unrecord{Record: []byte("two")})
	list("one", "")
	a.Must(&wire.Unrecord{Record: []byte("two")})
	forged := &wire.CreateObject{Template: join(number(pkcs11.CKA_CLASS, pkcs11.CKO_DATA), text(pkcs11.CKA_APPLICATION, "oneslot journal 1"))}
	a.Do(forged)
	if forged.RV != pkcs11.CKR_ATTRIBUTE_VALUE_INVALID {
		t.Errorf("an application made a record: %v", forged.RV)
	}
	// Somebody with the user's PIN and other tools leaves a record without a seal.
	var record wire.Encoder
	record.Blob([]byte("destroy everything"))
	record.Blob(nil)
	file := filepath.Join(t.TempDir(), "record")
	if err := os.WriteFile(file, record.Buf, 0o600); err != nil {
		t.Fatal(err)
	}
	tool := exec.Command("pkcs11-tool", "--module", hosttest.SoftHSM, "--login", "--pin", hosttest.UserPIN, "--private",
		"--write-object", file, "--type", "data", "--application-label", "oneslot journal 1", "--label", "x")
	tool.Env = append(os.Environ(), token.Env())
	if out, err := tool.CombinedOutput(); err != nil {
		t.Fatalf("pkcs11-tool: %v\n%s", err, out)
	}
	list("one", "")
	if n := found(b, nil); len(n) != 0 {
		t.Errorf("records are visible: %+v", n)
	}
}
