// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"oneslot.dev/oneslot/pkcs11"
)

func joinArgs(t *testing.T, b *bench, conf string, members ...string) []string {
	t.Helper()
	b.env["SO"], b.env["P"] = "12345678", "1234"
	secret := newSecret()
	secret[0] = 0xab
	file := write(t, "secret", string(printable(secret)))
	return append([]string{"domain", "join", "--config", conf, "--secret-file", file, "--so-pin-from", "env:SO", "--pin-from", "env:P"}, members...)
}

func TestDomainJoin(t *testing.T) {
	b := newBench(t)
	if code := b.run(joinArgs(t, b, b.three(), "a", "c")...); code != 0 {
		t.Fatal(b.err.String())
	}
	if got, want := b.out.String(), "a\tabababababababab\nc\tabababababababab\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestAWrongPINIsNotTriedOnTheNextToken(t *testing.T) {
	b := newBench(t)
	conf := b.three()
	b.tokens["b"].join = pkcs11.CKR_PIN_INVALID
	if code := b.run(joinArgs(t, b, conf, "a", "b", "c")...); code != 1 {
		t.Errorf("code %d", code)
	}
	if want := []string{"join a", "join b"}; !slices.Equal(b.calls, want) {
		t.Errorf("calls %v, want %v", b.calls, want)
	}
	if got := b.err.String(); !strings.Contains(got, "member b: did not join: CKR_PIN_INVALID: the user PIN was wrong") || strings.Contains(got, "1234") {
		t.Errorf("standard error %q", got)
	}
}

func TestDomainJoinChecksEverythingBeforeATokenIsTouched(t *testing.T) {
	b := newBench(t)
	conf := b.three()
	fine := joinArgs(t, b, conf, "a")
	for name, spoil := range map[string]func(args []string){
		`member "x": is not defined`: func(args []string) { args[len(args)-1] = "x" },
		"is no domain secret":        func(args []string) { args[5] = write(t, "s", "nothing") },
		"env:NONE gives an empty":    func(args []string) { args[7] = "env:NONE" },
	} {
		args := slices.Clone(fine)
		spoil(args)
		if code := b.run(args...); code != 1 || !strings.Contains(b.err.String(), name) {
			t.Errorf("%s: code %d, %s", name, code, b.err.String())
		}
	}
	if len(b.calls) > 0 {
		t.Errorf("calls %v", b.calls)
	}
}

func TestDomainShow(t *testing.T) {
	b := newBench(t)
	conf := b.three()
	b.tokens["b"].Domain = nil
	b.tokens["c"].Cloning = false
	if code := b.run("domain", "show", "--config", conf); code != 0 || b.out.String() != "a\t0707070707070707\tcloning\nb\tnone\nc\t0707070707070707\tkey export\n" {
		t.Errorf("code %d, %q", code, b.out.String())
	}
	b.tokens["c"].unreachable = errors.New("no such token")
	if code := b.run("domain", "show", "--json", "--config", conf); code != 1 || !strings.Contains(b.out.String(), `"error": "no such token"`) {
		t.Errorf("code %d, %q", code, b.out.String())
	}
}
