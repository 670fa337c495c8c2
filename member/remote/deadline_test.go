// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"os"
	"strings"
	"testing"
	"time"

	"oneslot.dev/oneslot/certificate"
)

// field-L9: both certificates are warned of ahead, this client's until its file
// holds the next one.
func TestDeadlines(t *testing.T) {
	p := pretend(t, 10*24*time.Hour, refuse)
	c := p.config(t)
	replace := func(valid time.Duration) {
		t.Helper()
		os.Remove(c.Certificate)
		os.Remove(c.Key)
		if _, err := certificate.WriteNew(certificate.Wish{Name: "client", Valid: valid}, c.Certificate, c.Key); err != nil {
			t.Fatal(err)
		}
	}
	replace(5 * 24 * time.Hour)
	m := New(c)
	if d := m.Deadlines(); len(d) != 1 || d[0].What != "certificate of this client" || !strings.Contains(d[0].Warning, c.Certificate+" expires on") {
		t.Errorf("before it was connected: %+v", d)
	}
	if _, err := m.Connect(t.Context()); err == nil {
		t.Fatal("connected")
	}
	if d := m.Deadlines(); len(d) != 2 || !strings.Contains(d[1].Warning, "the certificate of the appliance "+p.address+" expires on") || time.Until(d[1].End) < 9*24*time.Hour {
		t.Errorf("once it was: %+v", d)
	}
	replace(90 * 24 * time.Hour)
	if d := m.Deadlines(); d[0].Warning != "" || time.Until(d[0].End) < 89*24*time.Hour {
		t.Errorf("with the next certificate: %+v", d[0])
	}
}

// A key that everybody on the host may read is told of; one that a group shares is not.
func TestAKeyThatEverybodyReadsIsADanger(t *testing.T) {
	c := pretend(t, time.Hour, refuse).config(t)
	for mode, want := range map[os.FileMode]int{0o600: 0, 0o640: 0, 0o644: 1, 0o604: 1} {
		if err := os.Chmod(c.Key, mode); err != nil {
			t.Fatal(err)
		}
		if d := New(c).Dangers(); len(d) != want || want > 0 && !strings.Contains(d[0], "chmod o-rwx "+c.Key) {
			t.Errorf("mode %v: %q", mode, d)
		}
	}
	os.Remove(c.Key)
	if d := New(c).Dangers(); d != nil { // connecting says so
		t.Errorf("no key: %q", d)
	}
}
