// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestASecretCanBeTypedFromPaper(t *testing.T) {
	secret := newSecret()
	text := printable(secret)
	for name, typed := range map[string][]byte{
		"as printed":   text,
		"lower case":   bytes.ToLower(text),
		"without dash": bytes.ReplaceAll(text, []byte("-"), nil),
		"in two lines": append(append(bytes.Clone(text[:20]), "\r\n  "...), text[20:]...),
		"with remarks": append([]byte("# a remark\n\n"), text...),
	} {
		if got, err := parseSecret(typed); err != nil || !bytes.Equal(got, secret) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestASlipOfTheFingerIsNoticed(t *testing.T) {
	text := printable(newSecret())
	for i := range text {
		if text[i] == '-' {
			continue
		}
		wrong := bytes.Clone(text)
		if wrong[i] = 'A'; text[i] == 'A' {
			wrong[i] = 'B'
		}
		// The last letter has bits to spare: not every change there is one.
		if _, err := parseSecret(wrong); err == nil && i < len(text)-1 {
			t.Errorf("letter %d changed: no error", i)
		}
		if _, err := parseSecret(append(bytes.Clone(text[:i]), text[i+1:]...)); err == nil {
			t.Errorf("letter %d lost: no error", i)
		}
	}
	for _, other := range []string{"", "hello", "1234", strings.Repeat("A", 58)} {
		if _, err := parseSecret([]byte(other)); err == nil {
			t.Errorf("%q is taken for a secret", other)
		}
	}
}

func TestDomainCreateNeverOverwritesAndHidesTheSecret(t *testing.T) {
	b, path := newBench(t), filepath.Join(t.TempDir(), "secret")
	if code := b.run("domain", "create", "--out", path); code != 0 {
		t.Fatal(b.err.String())
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode() != fs.FileMode(0o600) {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	secret, err := readSecretFile(path)
	if err != nil || len(secret) != secretLen {
		t.Fatal(err)
	}
	if shown := b.out.String() + b.err.String(); strings.Contains(shown, string(printable(secret))) || !strings.Contains(shown, "keep it as safe as the keys") {
		t.Errorf("printed: %s", shown)
	}
	if code := b.run("domain", "create", "--out", path); code != 1 || !strings.Contains(b.err.String(), "is already there") {
		t.Errorf("code %d, %s", code, b.err.String())
	}
	if again, err := readSecretFile(path); err != nil || !bytes.Equal(again, secret) {
		t.Errorf("the secret has changed: %v", err)
	}
}

func TestReadPIN(t *testing.T) {
	none, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer none.Close()
	d := &desk{in: none, getenv: func(name string) string { return map[string]string{"P": "1234"}[name] }}
	for _, c := range []struct{ source, want, err string }{
		{"env:P", "1234", ""},
		{"env:Q", "", "PIN: env:Q gives an empty one"},
		{write(t, "pin", "12 34 \nsecond line\n"), "12 34 ", ""},
		{write(t, "pin", "1234\r\n"), "1234", ""},
		{write(t, "pin", "1234"), "1234", ""},
		{write(t, "pin", "\n"), "", "gives an empty one"},
		{write(t, "pin", strings.Repeat("1", maxSecretFile+1)), "", "is larger than"},
		{"/nonexistent/pin", "", "no such file"},
		{"prompt", "", "there is no terminal to ask"},
	} {
		got, err := d.readPIN(c.source, "PIN")
		if string(got) != c.want || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%s: err = %v", c.source, err)
		}
	}
}
