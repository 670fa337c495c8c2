// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"oneslot.dev/oneslot/group"
)

// O1, K8: a member that holds what no other one does is not removed by mistake.
func TestAMemberWithKeysOfItsOwnStays(t *testing.T) {
	members := func(errors ...string) (all []group.SurveyMember) {
		for i, text := range errors {
			all = append(all, group.SurveyMember{Name: string(rune('a' + i)), Error: text})
		}
		return all
	}
	on := func(names ...string) map[string]int {
		m := map[string]int{}
		for _, name := range names {
			m[name] = 1
		}
		return m
	}
	many := []group.SurveyObject{}
	for n := range 15 {
		many = append(many, group.SurveyObject{What: fmt.Sprint("key ", n), On: on("b")})
	}
	for what, c := range map[string]struct {
		v    group.Survey
		want []string // parts of the refusal; none: it may go
		not  string
	}{
		"equal": {group.Survey{Members: members("", ""), Objects: []group.SurveyObject{{What: "k", On: on("a", "b")}, {What: "l", On: on("a")}}}, nil, ""},
		"a key of its own": {group.Survey{Members: members("", ""), Objects: []group.SurveyObject{
			{What: "k", On: on("a", "b")}, {What: "l", On: on("b"), NotCopied: "made so"}, {What: "m", On: on("b"), CopyTo: []string{"a"}}}},
			[]string{"member b: not removed", "holds 2 objects", "\n  l, which stays there: made so\n  m", "--force"}, "\n  k"},
		"destroyed elsewhere":  {group.Survey{Members: members("", ""), Objects: []group.SurveyObject{{What: "k", On: on("b"), DestroyOn: []string{"b"}}}}, nil, ""},
		"it is not reached":    {group.Survey{Members: members("", "gone")}, []string{"cannot be told what it holds: gone", "--force"}, ""},
		"another is not":       {group.Survey{Members: members("gone", ""), Objects: []group.SurveyObject{{What: "k", On: on("b")}}}, []string{"holds 1 objects", "\nnot looked at: a"}, ""},
		"very many of its own": {group.Survey{Members: members("", ""), Objects: many}, []string{"holds 15 objects", "\n  key 9", "\n  and 5 more"}, "key 10"},
	} {
		err := mayLeave(c.v, "b")
		if (err != nil) != (c.want != nil) || err != nil && c.not != "" && strings.Contains(err.Error(), c.not) {
			t.Errorf("%s: %v", what, err)
		}
		for _, part := range c.want {
			if err != nil && !strings.Contains(err.Error(), part) {
				t.Errorf("%s: no %q in %v", what, part, err)
			}
		}
	}
}

// Without a PIN nothing is seen, and that is said; who wants it so is told nothing.
func TestRemovingAMemberUnseen(t *testing.T) {
	for option, want := range map[string]bool{"--force": false, "--config": true} {
		b := newBench(t)
		conf := b.three()
		if code := b.run("group", "remove-member", "--config="+conf, "g", "b", strings.Replace(option, "--config", "--config="+conf, 1)); code != 0 {
			t.Fatalf("%s: %s", option, b.err.String())
		}
		if got := strings.Contains(b.err.String(), "was not looked whether member b holds keys"); got != want {
			t.Errorf("%s: %s", option, b.err.String())
		}
		if text, err := os.ReadFile(conf); err != nil || !strings.Contains(string(text), `members = ["a", "c"]`) {
			t.Errorf("%s: %v, %s", option, err, text)
		}
	}
	b := newBench(t)
	b.env["P"] = "1234"
	conf := b.three()
	if code := b.run("group", "remove-member", "--config="+conf, "g", "b", "--pin-from=env:P"); code != 1 || !strings.Contains(b.err.String(), "cannot be told what it holds") {
		t.Errorf("a member that says nothing: code %d, %s", code, b.err.String())
	}
}
