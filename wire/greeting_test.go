// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"bytes"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"
)

// What follows the greeting is not its own, even if it comes with the same packet.
func TestAGreetingLetsIn(t *testing.T) {
	const more = "PRI * HTTP/2.0"
	var said bytes.Buffer
	Welcome(&said)
	appliance := &talk{Reader: strings.NewReader(said.String() + more)}
	if err := Knock(appliance, "ca"); err != nil {
		t.Fatal(err)
	}
	if rest, _ := io.ReadAll(appliance); string(rest) != more {
		t.Errorf("an engine left %q of what follows the greeting", rest)
	}
	engine := strings.NewReader(appliance.said.String() + more)
	if token, err := ReadKnock(engine); err != nil || token != "ca" {
		t.Errorf("knock for %q, %v", token, err)
	}
	if rest, _ := io.ReadAll(engine); string(rest) != more {
		t.Errorf("an appliance left %q of what follows the greeting", rest)
	}
}

func TestARefusalSaysWhy(t *testing.T) {
	ours, theirs := net.Pipe()
	go func() {
		ReadKnock(theirs)
		SendRefusal(theirs, &Refusal{RefusedToken, "first line\nsecond\t" + strings.Repeat("x", 2*maxWelcome)})
		theirs.Close()
	}()
	var refusal *Refusal
	if err := Knock(ours, "ca"); !errors.As(err, &refusal) || refusal.Code != RefusedToken || !strings.HasPrefix(refusal.Text, "first line second ") {
		t.Fatalf("got %v", err)
	}
	// An appliance that means harm sends what a terminal acts on, and no control characters.
	said := struct {
		io.Reader
		io.Writer
	}{strings.NewReader("oneslot 1 refused \u009b31m\u202e why\u009b2J\u202e\x9b\n"), io.Discard}
	if err := Knock(said, "ca"); !errors.As(err, &refusal) || strings.ContainsAny(err.Error(), "\u009b\u202e") || !utf8.ValidString(err.Error()) {
		t.Errorf("got %q", err)
	}
}

// Whatever a peer sends instead of a greeting, it is told what is wrong, or
// nothing at all, and never more than a line is read.
func TestBadGreetings(t *testing.T) {
	for text, want := range map[string]RefusalCode{
		"GET / HTTP/1.1\n":               RefusedMalformed,
		"\n":                             RefusedMalformed,
		"oneslot\n":                      RefusedMalformed,
		"oneslot 2 engine ca\n":          RefusedVersion,
		"oneslot 1 browser ca\n":         RefusedRole,
		"oneslot 1 engine\n":             RefusedRole,
		"oneslot 1 engine ca and more\n": RefusedRole,
		"oneslot 1 engine \x1b[2J\n":     "",
		"oneslot 1 engine ca":            "",
		strings.Repeat("x", 1<<20):       "",
	} {
		in := strings.NewReader(text)
		_, err := ReadKnock(iotest.OneByteReader(in))
		var refusal *Refusal
		switch {
		case err == nil:
			t.Errorf("%.40q was let in", text)
		case errors.As(err, &refusal) != (want != "") || refusal != nil && refusal.Code != want:
			t.Errorf("%.40q: %v, not %q", text, err, want)
		case len(text)-in.Len() > maxKnock:
			t.Errorf("%.40q: %d bytes were read", text, len(text)-in.Len())
		}
	}
	for _, text := range []string{"", "x\n", "oneslot 2 welcome\n", "oneslot 1 refused\n", "oneslot 1 refused x\n", "SSH-2.0-OpenSSH\n", strings.Repeat("y", 1<<20)} {
		if err := Knock(struct {
			io.Reader
			io.Writer
		}{strings.NewReader(text), io.Discard}, "ca"); err == nil {
			t.Errorf("%.40q was taken for a welcome", text)
		}
	}
}
