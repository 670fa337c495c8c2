// SPDX-License-Identifier: Apache-2.0

package certificate

import (
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestFingerprintsAreReadAsPeopleWriteThem(t *testing.T) {
	_, _, cert, err := New(Wish{Name: "a", Valid: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	f := Of(cert)
	digits := hex.EncodeToString(f[:])
	var colons []string
	for i := 0; i < len(digits); i += 2 {
		colons = append(colons, digits[i:i+2])
	}
	for _, text := range []string{
		f.String(), strings.ToLower(f.String()), strings.ReplaceAll(f.String(), "-", " "), strings.TrimPrefix(f.String(), prefix),
		digits, "sha256:" + digits, "SHA256:" + strings.ToUpper(strings.Join(colons, ":")), " " + f.String() + "\n",
	} {
		if got, err := Parse(text); err != nil || got != f {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "sha256:", f.Short(), f.String() + "A", strings.Replace(f.String(), f.String()[8:9], "1", 1), "md5:" + digits} {
		if _, err := Parse(text); err == nil {
			t.Errorf("%q was taken for a fingerprint", text)
		}
	}
}

func TestAKeyIsNeverOverwritten(t *testing.T) {
	folder := t.TempDir()
	cert, key := filepath.Join(folder, "a.crt"), filepath.Join(folder, "a.key")
	made, err := WriteNew(Wish{Name: "a", Valid: time.Hour}, cert, key)
	if err != nil {
		t.Fatal(err)
	}
	if read, err := Read(cert); err != nil || Of(read) != Of(made) {
		t.Errorf("read back %v, %v", read, err)
	}
	before, _ := os.ReadFile(key)
	if _, err := WriteNew(Wish{Name: "a", Valid: time.Hour}, filepath.Join(folder, "b.crt"), key); err == nil {
		t.Error("a second certificate took the same key file")
	}
	// Without its certificate a new key is of no use, and is not left behind.
	if _, err := WriteNew(Wish{Name: "a", Valid: time.Hour}, cert, filepath.Join(folder, "b.key")); err == nil {
		t.Error("a second certificate took the same file")
	}
	if _, err := os.Stat(filepath.Join(folder, "b.key")); err == nil {
		t.Error("a key without certificate was left behind")
	}
	if after, _ := os.ReadFile(key); string(after) != string(before) {
		t.Error("the key changed")
	}
	if info, _ := os.Stat(key); info.Mode().Perm() != 0o600 {
		t.Errorf("the key file has mode %v", info.Mode())
	}
}

func TestExpiryIsWarnedOfAhead(t *testing.T) {
	now := time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		end  time.Time
		want string
	}{
		{time.Time{}, ""},
		{now.Add(30*24*time.Hour + time.Second), ""},
		{now.Add(30 * 24 * time.Hour), "expires on 2026-12-30, in 30 days"},
		{now.Add(10 * 24 * time.Hour), "expires on 2026-12-10, in 10 days"},
		{now.Add(-time.Hour), "expired on 2026-11-29"},
	} {
		if got := Warning(c.end, now); got != c.want {
			t.Errorf("%v: %q, not %q", c.end, got, c.want)
		}
	}
	_, _, cert, err := New(Wish{Name: "a", Valid: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	for at, want := range map[time.Duration]bool{0: true, 2 * time.Hour: false, -3 * time.Hour: false} {
		if got := Valid(cert, time.Now().Add(at)) == nil; got != want {
			t.Errorf("in %v: valid is %v", at, got)
		}
	}
}
