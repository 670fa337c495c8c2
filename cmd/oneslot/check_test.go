// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"oneslot.dev/oneslot/member"
	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/wire"
)

func TestCheckSaysWhatIsWrong(t *testing.T) {
	flag := func(set, cleared uint64) func(*bench) {
		return func(b *bench) {
			f := &b.tokens["b"].Token.Flags
			*f = *f&^cleared | set
		}
	}
	for _, c := range []struct {
		name  string
		spoil func(*bench)
		code  int
		want  []string // parts of what is printed
	}{
		{"nothing", func(*bench) {}, 0, []string{"member a: right: token \"ta\", serial 1a", "group g: right: label \"g\"", "all is right"}},
		{"unreachable", func(b *bench) { b.tokens["b"].unreachable = errors.New(`no token "tb": there are "x" and "y"`) }, 1,
			[]string{"member a: right", "member b: WRONG\n  wrong: no token \"tb\": there are \"x\" and \"y\"\n", "member c: right", "1 of 3 members were not reached"}},
		{"other label", func(b *bench) { b.tokens["b"].Description = good("other", "1b").Description }, 1, []string{`the token's label is "other", the configuration says "tb"`}},
		{"not initialised", flag(0, pkcs11.CKF_TOKEN_INITIALIZED), 1, []string{"the token is not initialised"}},
		{"no user PIN", flag(0, pkcs11.CKF_USER_PIN_INITIALIZED), 1, []string{"the token has no user PIN"}},
		{"locked", flag(pkcs11.CKF_USER_PIN_LOCKED|pkcs11.CKF_USER_PIN_FINAL_TRY, 0), 1, []string{"the user PIN is locked"}},
		{"final try", flag(pkcs11.CKF_USER_PIN_FINAL_TRY|pkcs11.CKF_USER_PIN_COUNT_LOW, 0), 1, []string{"one more wrong user PIN locks the token"}},
		{"count low", flag(pkcs11.CKF_USER_PIN_COUNT_LOW, 0), 0, []string{"note: a wrong user PIN was given", "all is right"}},
		{"to be changed", flag(pkcs11.CKF_USER_PIN_TO_BE_CHANGED, 0), 1, []string{"the user PIN has to be changed"}},
		{"write-protected", flag(pkcs11.CKF_WRITE_PROTECTED, 0), 1, []string{"write-protected"}},
		{"SO locked", flag(pkcs11.CKF_SO_PIN_LOCKED, 0), 0, []string{"cannot join another domain"}},
		{"no domain", func(b *bench) { b.tokens["b"].Domain = nil; b.tokens["c"].Domain = nil }, 1,
			[]string{"group g: WRONG", "b, c are in no domain, so no key can be copied there: oneslot domain join b c --secret-file FILE"}},
		{"two domains", func(b *bench) { b.tokens["b"].Domain = []byte{1, 2, 3, 4, 5, 6, 7, 8, 9} }, 1,
			[]string{"members are in different domains (a and c in 0707070707070707, b in 0102030405060708)"}},
		{"no cloning", func(b *bench) { b.tokens["b"].Cloning = false }, 1, []string{"b is not able to mark the domain key as trusted"}},
		{"use of keys only", func(b *bench) {
			for _, t := range b.tokens {
				t.UseOnly = true
				t.Cloning = false // nothing is copied by this client, so that is no fault
			}
		}, 0, []string{"domain 0707070707070707, where this client may use keys and not manage them\n", "group g: right",
			"note: applications here use the keys of the group; they create, copy, change and destroy none. A host that may has to fill the members", "all is right"}},
		{"use of keys only on one", func(b *bench) { b.tokens["b"].UseOnly = true }, 1,
			[]string{"member b: right", "group g: WRONG", "may manage keys on a, c, and not on b: a key made here is not copied there", "grant the same on all"}},
		{"mechanisms", func(b *bench) { b.tokens["b"].Mechanisms = b.tokens["b"].Mechanisms[:1] }, 0,
			[]string{"note: not offered by the group, since missing on b: CKM_RSA_PKCS"}},
		{"no common mechanism", func(b *bench) { b.tokens["b"].Mechanisms = nil }, 1, []string{"no mechanism that all members offer"}},
		{"firmware", func(b *bench) { b.tokens["c"].Token.Firmware.Major = 9 }, 0, []string{"note: c differs from a", "firmware 9.0"}},
		{"certificate ends", func(b *bench) {
			b.tokens["b"].deadlines = []member.Deadline{{What: "certificate of this client"}, {What: "certificate of the appliance", Warning: "it ends soon"}}
		}, 0, []string{"member b: right", "\n  note: it ends soon\nmember c", "all is right"}},
		{"certificate ended", func(b *bench) {
			b.tokens["b"].deadlines = []member.Deadline{{What: "certificate of this client", Warning: "it ended"}}
			b.tokens["b"].unreachable = errors.New("refused")
		}, 1, []string{"member b: WRONG\n  wrong: refused\n  note: it ended\n"}},
		{"key that everybody reads", func(b *bench) { b.tokens["b"].dangers = []string{"the key: chmod"} }, 0,
			[]string{"member b: right", "\n  note: the key: chmod\nmember c", "all is right"}},
		{"a member's label begins with the group's", func(b *bench) {
			b.tokens["b"].Token.Label = good("g-two", "1b").Token.Label
		}, 1, []string{`an application that asks for a token labelled "g" may get member b ("g-two") alone`}},
		{"module missing", func(b *bench) {}, 1, []string{"wrong: module: stat", "install it or correct module"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t)
			conf := b.three()
			c.spoil(b)
			if c.name == "module missing" {
				removeModule(t, conf)
			}
			if code := b.run("check", "--config", conf); code != c.code {
				t.Errorf("code %d, want %d", code, c.code)
			}
			for _, part := range c.want {
				if !strings.Contains(b.out.String(), part) {
					t.Errorf("%q is missing in\n%s", part, b.out.String())
				}
			}
			if len(b.calls) > 0 || b.err.Len() > 0 {
				t.Errorf("calls %v, standard error %q", b.calls, b.err.String())
			}
		})
	}
}

// removeModule deletes the library that a configuration of three names.
func removeModule(t *testing.T, conf string) {
	t.Helper()
	text, err := os.ReadFile(conf)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), `module = "`)
	path, _, _ := strings.Cut(rest, `"`)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
}

func TestCheckPointsAtVariablesThatNameNothing(t *testing.T) {
	b := newBench(t)
	module := write(t, "m.so", "")
	conf := write(t, "o.toml", "[[member]]\nname = \"a\"\nmodule = \""+module+"\"\ntoken = \"t\"\n[member.env]\nA = \"/nonexistent/conf\"\nB = \""+module+"\"\nC = \"text\"\n")
	b.tokens["a"] = &token{unreachable: pkcs11.CKR_GENERAL_ERROR}
	want := "  wrong: CKR_GENERAL_ERROR\n  note: A in env: stat /nonexistent/conf: no such file or directory\n"
	if code := b.run("check", "--config", conf); code != 1 || !strings.HasSuffix(b.out.String(), want) {
		t.Errorf("code %d, %s", code, b.out.String())
	}
}

func TestOneTokenAsTwoMembersIsWrong(t *testing.T) {
	twin := good("t", "1").Description
	f := finding{}
	judgeTwins(&f, []string{"a", "b"}, map[string]*wire.Description{"a": &twin, "b": &twin})
	if want := []string{"members a and b are the same token: leave one out"}; !slices.Equal(f.Wrong, want) {
		t.Errorf("got %q", f.Wrong)
	}
}

func TestCheckTriesAPINOnlyWhenTold(t *testing.T) {
	for _, c := range []struct {
		name  string
		spoil func(*bench)
		code  int
		calls []string
		want  string
	}{
		{"right", func(*bench) {}, 0, []string{"login a", "login b", "login c"}, "note: the PIN is right"},
		{"refused by the first", func(b *bench) { b.tokens["a"].login = pkcs11.CKR_PIN_INCORRECT }, 1, []string{"login a"},
			"note: the PIN was not tried, since member a refused it"},
		{"few tries left", func(b *bench) { b.tokens["a"].Token.Flags |= pkcs11.CKF_USER_PIN_COUNT_LOW }, 0, []string{"login b", "login c"},
			"note: the PIN was not tried: see above"},
		{"unreachable", func(b *bench) { b.tokens["a"].unreachable = errors.New("gone") }, 1, []string{"login b", "login c"}, "wrong: gone"},
	} {
		b := newBench(t)
		conf := b.three()
		c.spoil(b)
		b.env["P"] = "1234"
		if code := b.run("check", "--config", conf, "--pin-from", "env:P"); code != c.code || !strings.Contains(b.out.String(), c.want) {
			t.Errorf("%s: code %d, %s%s", c.name, code, b.out.String(), b.err.String())
		}
		if !slices.Equal(b.calls, c.calls) {
			t.Errorf("%s: calls %v, want %v", c.name, b.calls, c.calls)
		}
		if strings.Contains(b.out.String()+b.err.String(), "1234") {
			t.Errorf("%s: the PIN is printed", c.name)
		}
	}
}

func TestCheckPrintsAllProblemsOfTheFile(t *testing.T) {
	b := newBench(t)
	conf := write(t, "o.toml", "x = 1\ny = 2\n")
	if code := b.run("check", "--config", conf); code != 1 || strings.Count(b.out.String(), conf+":") != 3 {
		t.Errorf("code %d, %s", code, b.out.String())
	}
}

func TestCheckJSON(t *testing.T) {
	b := newBench(t)
	conf := b.three()
	b.tokens["b"].Domain = nil
	var got struct {
		Right   bool
		Members []struct{ Name string }
		Groups  []struct{ Wrong []string }
	}
	if code := b.run("check", "--json", "--config", conf); code != 1 {
		t.Errorf("code %d", code)
	}
	if err := json.Unmarshal(b.out.Bytes(), &got); err != nil || got.Right || len(got.Members) != 3 || len(got.Groups[0].Wrong) != 1 {
		t.Errorf("%v, %+v", err, got)
	}
	var broken struct {
		Right    bool
		Problems []struct{ Line int }
	}
	if code := b.run("check", "--json", "--config", write(t, "o.toml", "\nx = 1\n")); code != 1 {
		t.Errorf("code %d", code)
	}
	if err := json.Unmarshal(b.out.Bytes(), &broken); err != nil || broken.Right || len(broken.Problems) != 2 || broken.Problems[1].Line != 2 {
		t.Errorf("%v, %s", err, b.out.String())
	}
}
