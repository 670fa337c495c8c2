// SPDX-License-Identifier: Apache-2.0

package host_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"oneslot.dev/oneslot/host/hosttest"
	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/wire"
)

// TestFinding says what is wrong when the token is not the one meant (field
// report E2).
func TestFinding(t *testing.T) {
	token := hosttest.Token(t, "one")
	token.Add(t, "two")
	token.Add(t, "two")
	text := filepath.Join(t.TempDir(), "text.so")
	if err := os.WriteFile(text, []byte("not a library"), 0o600); err != nil {
		t.Fatal(err)
	}
	serial := func() string {
		s := hosttest.Open(t, hosttest.Start(t, token), wire.TokenView)
		c := &wire.Describe{}
		s.Must(c)
		return pkcs11.Unpad(c.Token.Token.Serial[:])
	}()
	soft := func(more ...string) []string { return append([]string{"--module", hosttest.SoftHSM}, more...) }
	for _, c := range []struct {
		arguments []string
		want      []string
	}{
		{[]string{"--module", "/nowhere.so", "--token", "one"}, []string{"/nowhere.so"}},
		{[]string{"--module", text, "--token", "one"}, []string{text}},
		{[]string{"--module", "libc.so.6", "--token", "one"}, []string{"not a PKCS#11 module"}},
		{soft("--token", "three"), []string{`token "three" is not there`, `"one" (serial ` + serial + `)`, `"two"`}},
		{soft("--token", "two"), []string{"2 tokens", "name one with serial"}},
		{soft("--token", "one", "--serial", "4711"), []string{serial, "not 4711"}},
		{soft("--token", "two", "--serial", serial), []string{`labelled "one", not "two"`}},
		{soft("--serial", "4711"), []string{"a token with serial 4711 is not there"}},
		{soft("--serial", serial), nil},
		{soft("--token", "one", "--serial", serial), nil},
	} {
		t.Run(strings.Join(c.arguments[1:], " "), func(t *testing.T) {
			t.Parallel()
			s := hosttest.Open(t, hosttest.StartModule(t, []string{token.Env()}, c.arguments...), wire.TokenView)
			_, _, err := s.Stream.Do(t.Context(), hosttest.Patience, hosttest.Patience, &wire.Probe{})
			if (err == nil) != (c.want == nil) {
				t.Error(err)
			}
			for _, want := range c.want {
				if err != nil && !strings.Contains(err.Error(), want) {
					t.Errorf("%q does not say %q", err, want)
				}
			}
		})
	}
}

// TestWrongPIN leaves the session usable.
func TestWrongPIN(t *testing.T) {
	s := hosttest.Open(t, hosttest.Start(t, hosttest.Token(t, "one")), wire.GroupView)
	c := &wire.Login{User: pkcs11.CKU_USER, Pin: []byte("wrong")}
	s.Do(c)
	if c.RV != pkcs11.CKR_PIN_INCORRECT {
		t.Errorf("wrong PIN: %v", c.RV)
	}
	s.Login()
	s.Login() // already logged in, which the engine wants to hear as success
}
