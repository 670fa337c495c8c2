// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"bytes"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// greetings are the first bytes of each version on a network connection. What is
// here of a version that was released never changes.
var greetings = map[int]struct {
	knock, welcome, refusal string
	codes                   []RefusalCode // operators look them up: they stay
}{
	1: {
		"oneslot 1 engine ca\n", "oneslot 1 welcome\n", "oneslot 1 refused token-not-granted not yours\n",
		[]RefusalCode{
			"appliance-out-of-order", "certificate-expired", "certificate-invalid", "certificate-revoked", "draining", "malformed",
			"role", "token-not-granted", "token-unavailable", "too-many-connections", "unknown-client", "version",
		},
	},
}

// talk reads what a peer sends, and keeps what is written.
type talk struct {
	io.Reader
	said bytes.Buffer
}

func (c *talk) Write(b []byte) (int, error) { return c.said.Write(b) }

func TestGoldenGreetings(t *testing.T) {
	g, known := greetings[Version]
	if !known {
		t.Fatalf("version %d has no golden greeting", Version)
	}
	c := &talk{Reader: strings.NewReader(g.welcome)}
	if err := Knock(c, "ca"); err != nil || c.said.String() != g.knock {
		t.Errorf("an engine says %q, %v", c.said.String(), err)
	}
	if name, err := ReadKnock(strings.NewReader(g.knock)); name != "ca" || err != nil {
		t.Errorf("an appliance reads %q, %v", name, err)
	}
	var out bytes.Buffer
	if Welcome(&out); out.String() != g.welcome {
		t.Errorf("an appliance says %q", &out)
	}
	out.Reset()
	if SendRefusal(&out, &Refusal{RefusedToken, "not yours"}); out.String() != g.refusal {
		t.Errorf("an appliance says %q", &out)
	}
	var refusal *Refusal
	if err := Knock(&talk{Reader: strings.NewReader(g.refusal)}, "ca"); !errors.As(err, &refusal) || *refusal != (Refusal{"token-not-granted", "not yours"}) {
		t.Errorf("an engine reads %v", err)
	}
	if ALPN != "oneslot" {
		t.Errorf("TLS is told %q", ALPN)
	}
}

// A code is what operators look up. So it stays, and docs/appliance.md has a line
// for each.
func TestGoldenRefusalCodes(t *testing.T) {
	source, err := parser.ParseFile(token.NewFileSet(), "greeting.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var codes []RefusalCode
	ast.Inspect(source, func(n ast.Node) bool {
		if spec, ok := n.(*ast.ValueSpec); ok && strings.HasPrefix(spec.Names[0].Name, "Refused") {
			code, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			codes = append(codes, RefusalCode(code))
		}
		return true
	})
	slices.Sort(codes)
	if !slices.Equal(codes, greetings[Version].codes) {
		t.Errorf("the codes of version %d are\n%q, not\n%q", Version, codes, greetings[Version].codes)
	}
	docs, err := os.ReadFile("../docs/appliance.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(docs), "\n## Codes\n")
	table, _, _ = strings.Cut(table, "\n## ")
	for _, code := range codes {
		if !strings.Contains(table, "`"+string(code)+"`") {
			t.Errorf("docs/appliance.md does not say what to do about %s", code)
		}
	}
}

// Each side refuses a version and a role that it does not know, and says so in a
// way that the other's operator can act on.
func TestUnknownVersionsAndRoles(t *testing.T) {
	for knock, want := range map[string]string{
		"oneslot 9 engine ca\n":        `refused: version: this appliance speaks version 1 of the protocol, and the client version "9": have both run releases that speak the same`,
		"oneslot -1 engine ca\n":       `the client version "-1"`,
		"oneslot  engine ca\n":         `the client version ""`,
		"oneslot 9 x y z\n":            `refused: version`, // a later version may say anything after it
		"oneslot 1 administrator ca\n": `refused: role: this appliance serves engines, each for one token, and not the role "administrator"`,
		"oneslot 1 engine\n":           `refused: role`,
	} {
		if _, err := ReadKnock(strings.NewReader(knock)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("appliance: %q: %v", knock, err)
		}
	}
	for answer, want := range map[string]string{
		"oneslot 9 welcome\n":                         `the appliance speaks version "9" of the protocol, and this client version 1: have both run`,
		"oneslot 9 refused version speak version 9\n": `refused: version: speak version 9`, // also a later appliance is understood
		"oneslot 1 come-in\n":                         "malformed",
	} {
		if err := Knock(&talk{Reader: strings.NewReader(answer)}, "ca"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("engine: %q: %v", answer, err)
		}
	}
}

// FuzzGreeting feeds both ends of the greeting. Nobody reads beyond the line,
// and whatever is let in or refused can be shown on a terminal.
func FuzzGreeting(f *testing.F) {
	for _, g := range greetings {
		f.Add([]byte(g.knock))
		f.Add([]byte(g.welcome))
		f.Add([]byte(g.refusal))
	}
	f.Add([]byte(greetings[Version].knock + "PRI"))
	f.Add([]byte("SSH-2.0-OpenSSH\r\n"))
	f.Add([]byte("oneslot 1 engine \x1b[2J\n"))
	printable := func(t *testing.T, text string) {
		if strings.ContainsFunc(text, func(c rune) bool { return c < ' ' || c == 0x7f }) {
			t.Fatalf("%q was let through", text)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		in := bytes.NewReader(data)
		token, err := ReadKnock(in)
		var refusal *Refusal
		switch {
		case err == nil:
			printable(t, token)
		case errors.As(err, &refusal):
			var out bytes.Buffer
			SendRefusal(&out, refusal)
			if err := Knock(&talk{Reader: &out}, "ca"); !errors.As(err, &refusal) {
				t.Fatalf("the refusal of %q is read as %v", data, err)
			}
		}
		if read := len(data) - in.Len(); read > maxKnock || read > 1+bytes.IndexByte(append(data, '\n'), '\n') {
			t.Fatalf("%d bytes of %q were read", read, data)
		}
		in = bytes.NewReader(data)
		if err := Knock(&talk{Reader: in}, "ca"); err != nil && !errors.Is(err, io.EOF) {
			printable(t, err.Error())
		}
		if read := len(data) - in.Len(); read > maxWelcome {
			t.Fatalf("%d bytes were read", read)
		}
	})
}
