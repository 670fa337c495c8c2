// SPDX-License-Identifier: Apache-2.0

package host_test

import (
	"bytes"
	_ "embed"
	"os"
	"path/filepath"
	"testing"

	"oneslot.dev/oneslot/host/hosttest"
	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/wire"
)

//go:embed testdata/counting.c
var countingSource string

// counting is a token whose module counts what it is asked.
type counting struct {
	t      *testing.T
	folder string
	client wire.Client
}

func newCounting(t *testing.T) *counting {
	t.Helper()
	c := &counting{t: t, folder: t.TempDir()}
	so := hosttest.Module(t, countingSource, "-Wall", "-Wextra", "-Werror", `-DSOFTHSM="`+hosttest.SoftHSM+`"`)
	soft := hosttest.Token(t, "counting")
	c.client = hosttest.StartModule(t, []string{soft.Env(), "COUNT=" + c.folder}, "--module", so, "--token", soft.Label)
	return c
}

// during is how often a function of the module is called meanwhile.
func (c *counting) during(function string, do func()) int {
	c.t.Helper()
	path := filepath.Join(c.folder, function)
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		c.t.Fatal(err)
	}
	do()
	calls, err := os.ReadFile(path)
	if err != nil {
		c.t.Fatal(err)
	}
	return len(calls)
}

// H3: an object is identified with two calls of the module, what it is and what it is
// made of; on a network HSM each is a round trip, for each object of the token. Only
// what is longer than usual costs more: its lengths, then its values.
func TestCallsToIdentifyAnObject(t *testing.T) {
	c := newCounting(t)
	s := hosttest.Open(t, c.client, wire.GroupView)
	s.Login()
	long := bytes.Repeat([]byte("long"), 1000)
	for _, test := range []struct {
		name  string
		make  wire.Call
		class uint64
		label []byte
		calls int
	}{
		{"an RSA key", pair([]byte("rsa")), pkcs11.CKO_PUBLIC_KEY, []byte("rsa"), 2},
		{"a private RSA key", nil, pkcs11.CKO_PRIVATE_KEY, []byte("rsa"), 2},
		{"a data object", data([]byte("short"), nil, nil), pkcs11.CKO_DATA, []byte("short"), 2},
		{"a long label", data(long, nil, nil), pkcs11.CKO_DATA, long, 4},
		{"a long application", data([]byte("application"), long, nil), pkcs11.CKO_DATA, []byte("application"), 4},
		{"a value as long as a certificate", data([]byte("value"), nil, long), pkcs11.CKO_DATA, []byte("value"), 2},
		{"a longer value", data([]byte("longer"), nil, append(long, long...)), pkcs11.CKO_DATA, []byte("longer"), 5},
	} {
		t.Run(test.name, func(t *testing.T) {
			if test.make != nil {
				s.Must(test.make)
			}
			find := wire.Find{Template: pkcs11.Template{pkcs11.Ulong(pkcs11.CKA_CLASS, test.class),
				pkcs11.Bytes(pkcs11.CKA_LABEL, test.label)}}
			calls := c.during("C_GetAttributeValue", func() { s.Must(&find) })
			if len(find.Found) != 1 || !bytes.Equal(find.Found[0].Label, test.label) || len(find.Found[0].Fingerprint) == 0 {
				t.Fatalf("found %+v", find.Found)
			}
			if calls != test.calls {
				t.Errorf("%d calls of C_GetAttributeValue, not %d", calls, test.calls)
			}
		})
	}
}

// H4, K6: what domain a token is in costs one search before the login, and two after it:
// the open and the seal key are private, and a search takes SoftHSM 33 µs for each object.
func TestSearchesForTheDomain(t *testing.T) {
	c := newCounting(t)
	s := hosttest.Open(t, c.client, wire.GroupView)
	s.Must(&wire.Join{Officer: []byte(hosttest.OfficerPIN), Pin: []byte(hosttest.UserPIN), Secret: bytes.Repeat([]byte{1}, 32)})
	describe := func(most int) {
		t.Helper()
		var d wire.Describe
		if n := c.during("C_FindObjectsInit", func() { s.Must(&d) }); n != most || len(d.Token.Domain) == 0 || !d.Token.Cloning {
			t.Errorf("%d searches, not %d, for domain %x", n, most, d.Token.Domain)
		}
	}
	describe(1)
	s.Login()
	describe(2)
	// Both of the others were found: a key that is made now can leave the token.
	key := wire.GenerateKey{Mechanism: pkcs11.Mechanism{Type: pkcs11.CKM_AES_KEY_GEN}, Template: pkcs11.Template{
		pkcs11.Ulong(pkcs11.CKA_VALUE_LEN, 32), pkcs11.Bool(pkcs11.CKA_PRIVATE, true), pkcs11.Bool(pkcs11.CKA_SENSITIVE, true)}}
	s.Must(&key)
	s.Must(&wire.Export{Object: key.Key})
}

func data(label, application, value []byte) *wire.CreateObject {
	return &wire.CreateObject{Template: pkcs11.Template{pkcs11.Ulong(pkcs11.CKA_CLASS, pkcs11.CKO_DATA),
		pkcs11.Bool(pkcs11.CKA_TOKEN, true), pkcs11.Bytes(pkcs11.CKA_LABEL, label),
		pkcs11.Bytes(pkcs11.CKA_APPLICATION, application), pkcs11.Bytes(pkcs11.CKA_VALUE, append(value, 1))}}
}

func pair(label []byte) *wire.GenerateKeyPair {
	t := pkcs11.Template{pkcs11.Bool(pkcs11.CKA_TOKEN, true), pkcs11.Bytes(pkcs11.CKA_LABEL, label)}
	return &wire.GenerateKeyPair{Mechanism: pkcs11.Mechanism{Type: pkcs11.CKM_RSA_PKCS_KEY_PAIR_GEN},
		Public: t.With(pkcs11.Ulong(pkcs11.CKA_MODULUS_BITS, 1024)), Private: t}
}

// One long value that is asked for a thousand times is no thousand values in memory: an
// answer that could not be carried is not made. One request could fill an appliance's.
func TestALongValueThatIsAskedForVeryOften(t *testing.T) {
	s := hosttest.Open(t, hosttest.Start(t, hosttest.Token(t, "often")), wire.TokenView)
	const size = 1 << 20
	made := data([]byte("often"), nil, make([]byte, size-1))
	made.Template = made.Template.With(pkcs11.Bool(pkcs11.CKA_TOKEN, false), pkcs11.Bool(pkcs11.CKA_PRIVATE, false))
	s.Must(made)
	for _, test := range []struct {
		times int
		want  pkcs11.RV
	}{{8, pkcs11.CKR_OK}, {wire.MaxFrame / size, pkcs11.CKR_DEVICE_MEMORY}, {wire.MaxFrame/size + 1, pkcs11.CKR_DEVICE_MEMORY}, {wire.MaxAttributes, pkcs11.CKR_DEVICE_MEMORY}, {1, pkcs11.CKR_OK}} {
		c := &wire.GetAttributeValue{Object: made.Object}
		for range test.times {
			c.Query = append(c.Query, wire.Question{Type: pkcs11.CKA_VALUE, Form: wire.AskRoom, Capacity: size})
		}
		if s.Do(c); c.RV != test.want {
			t.Errorf("%d times: %v, not %v", test.times, c.RV, test.want)
		}
		if test.want == pkcs11.CKR_OK && (len(c.Values) != test.times || len(c.Values[0].Data) != size) {
			t.Errorf("%d times: %d values", test.times, len(c.Values))
		}
	}
}
