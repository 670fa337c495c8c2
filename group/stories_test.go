// SPDX-License-Identifier: Apache-2.0

package group

import (
	"testing"
	"testing/synctest"

	"oneslot.dev/oneslot/member/fake"
	"oneslot.dev/oneslot/pkcs11"
)

// stories are histories that random ones once failed with, told again by every run.
var stories = []struct {
	name, rule  string
	steady, far bool
	steps       []step
}{
	{name: "what only a returning member had reaches a far standby though it had to be looked at twice", rule: "K2", steady: true, far: true, steps: []step{
		{Deed: "bring", Process: 1, Key: 2, With: true},
		{Deed: "login", Process: 1},
		{Deed: "fault", Outcome: fake.LostBefore, RV: pkcs11.CKR_FUNCTION_FAILED},
		{Deed: "down", Member: 1},
		{Deed: "fault", Outcome: fake.LostAfter, RV: pkcs11.CKR_VENDOR_DEFINED + 0x1a},
		{Deed: "generate", Process: 1},
		{Deed: "kill", Process: 1, N: 2},
		{Deed: "kill", N: 4},
	}},
	{name: "a copy that was made while its original was renamed", rule: "K2", steady: true, far: true, steps: []step{
		{Deed: "twin", Key: 4},
		{Deed: "fault", N: 8, Outcome: fake.LostAfter, RV: pkcs11.CKR_SESSION_HANDLE_INVALID},
		{Deed: "bring", Key: 2},
		{Deed: "bring", Process: 1, Key: 1},
		{Deed: "label", Process: 1, With: true},
		{Deed: "twin", Process: 1, Key: 2},
	}},
	{name: "news for two members at once, one of them far", rule: "K2", steady: true, far: true, steps: []step{
		{Deed: "pair", Process: 1},
		{Deed: "fault", Outcome: fake.LostBefore, RV: pkcs11.CKR_KEY_HANDLE_INVALID},
		{Deed: "generate", Process: 1},
		{Deed: "bring", Process: 1, Key: 3},
		{Deed: "twin", Process: 1, With: true},
		{Deed: "kill", N: 4},
		{Deed: "generate"},
		{Deed: "generate", Process: 1},
		{Deed: "generate", Process: 1, With: true},
		{Deed: "bring", Process: 1, Key: 2},
		{Deed: "destroy", With: true},
		{Deed: "pair", With: true},
		{Deed: "twin", Key: 2, With: true},
		{Deed: "kill", N: 5},
		{Deed: "down", Member: 1},
		{Deed: "login", Process: 1},
	}},
	{name: "a copy to a frozen member whose original was destroyed meanwhile", rule: "K5", far: true, steps: []step{
		{Deed: "generate", Process: 1},
		{Deed: "freeze"},
		{Deed: "wipe", Member: 2},
		{Deed: "bring", Process: 1, Key: 5, With: true},
		{Deed: "destroy", Key: 3, With: true},
		{Deed: "generate"},
	}},
	{name: "a member without a login shows less", rule: "K2", steady: true, steps: []step{
		{Deed: "destroy", Key: 4},
		{Deed: "generate"},
		{Deed: "bring", Key: 4},
		{Deed: "generate", Process: 1},
		{Deed: "freeze"},
		{Deed: "generate", Process: 1},
		{Deed: "random"},
		{Deed: "pair", With: true},
		{Deed: "destroy", Process: 1, Key: 2},
		{Deed: "twin", Key: 1, With: true},
		{Deed: "login"},
		{Deed: "destroy", Process: 1, Key: 5, With: true},
		{Deed: "twin", Key: 4},
		{Deed: "fault", Member: 1, Outcome: fake.Hang, RV: pkcs11.CKR_DEVICE_MEMORY},
		{Deed: "fault", Member: 1, Outcome: fake.Beat, RV: pkcs11.CKR_OBJECT_HANDLE_INVALID},
		{Deed: "login"},
		{Deed: "generate"},
		{Deed: "bring", Process: 1, Key: 1, With: true},
		{Deed: "freeze"},
		{Deed: "generate", With: true},
		{Deed: "generate", With: true},
	}},
	{name: "a frozen search hides one of two equal keys", rule: "field-G8", steady: true, steps: []step{
		{Deed: "bring", Process: 1},
		{Deed: "freeze", Member: 1},
		{Deed: "use", Key: 2},
		{Deed: "pair", Process: 1, With: true},
		{Deed: "label", Process: 1, Key: 4, With: true},
		{Deed: "generate", Process: 1},
		{Deed: "bring", Key: 1},
		{Deed: "use", Process: 1, Key: 5},
		{Deed: "twin", With: true},
		{Deed: "login"},
		{Deed: "generate", Process: 1},
		{Deed: "bring", Process: 1, Key: 5, With: true},
		{Deed: "generate"},
		{Deed: "login", Process: 1},
	}},
	{name: "a record read before a member hung, carried out after it", rule: "field-C16", steady: true, far: true, steps: []step{
		{Deed: "bring", Key: 5, With: true},
		{Deed: "generate", With: true},
		{Deed: "label", Key: 1, With: true},
		{Deed: "fault", N: 1, Outcome: fake.Beat, RV: pkcs11.CKR_SESSION_HANDLE_INVALID},
		{Deed: "bring", Process: 1, With: true},
		{Deed: "random"},
		{Deed: "bring", Process: 1, Key: 4, With: true},
		{Deed: "pair", Process: 1, With: true},
		{Deed: "fault", Member: 1, N: 2, Outcome: fake.LostBefore, RV: pkcs11.CKR_FUNCTION_FAILED},
		{Deed: "generate"},
		{Deed: "generate", With: true},
		{Deed: "twin", Key: 2, With: true},
		{Deed: "generate", Process: 1, With: true},
		{Deed: "destroy", Process: 1, Key: 4, With: true},
		{Deed: "twin", Process: 1},
		{Deed: "fault", N: 9, Outcome: fake.Hang, RV: pkcs11.CKR_FUNCTION_FAILED},
		{Deed: "pair", Process: 1, With: true},
		{Deed: "use", Key: 1, With: true},
		{Deed: "generate", Process: 1, With: true},
		{Deed: "wipe", Member: 1},
		{Deed: "label", Process: 1, Key: 1, With: true},
		{Deed: "kill", Process: 1, N: 25},
		{Deed: "pair"},
		{Deed: "bring", Key: 2},
		{Deed: "label", Process: 1, Key: 3, With: true},
	}},
	{name: "a new object of a key gets no name of one that was destroyed before", rule: "K5", steady: true, steps: []step{
		{Deed: "freeze"},
		{Deed: "fault", N: 2, Outcome: fake.Beat, RV: pkcs11.CKR_OBJECT_HANDLE_INVALID},
		{Deed: "twin", Key: 4, With: true},
		{Deed: "bring", Process: 1, Key: 2, With: true},
		{Deed: "destroy", Key: 3, With: true},
		{Deed: "freeze", Process: 1},
		{Deed: "bring", Key: 4, With: true},
		{Deed: "label", Process: 1, Key: 5},
		{Deed: "generate", Process: 1},
		{Deed: "destroy", Key: 1, With: true},
		{Deed: "down", Process: 1, Member: 1},
		{Deed: "generate", Process: 1, With: true},
		{Deed: "bring", Process: 1, Key: 2, With: true},
		{Deed: "generate", With: true},
		{Deed: "generate", Process: 1},
		{Deed: "bring", Key: 4, With: true},
	}},
	{name: "a copy gets no name of its equal that was destroyed before", rule: "K5", far: true, steps: []step{
		{Deed: "up", Process: 1, Member: 1},
		{Deed: "bring", Key: 1},
		{Deed: "label", Key: 5},
		{Deed: "twin", Key: 1},
		{Deed: "freeze", Process: 1},
		{Deed: "generate", With: true},
		{Deed: "destroy", Process: 1},
		{Deed: "wait", Process: 1, N: 10},
	}},
	{name: "a creation waits for a member though only one that is away has it", rule: "K2", far: true, steps: []step{
		{Deed: "label", Process: 1, Key: 1, With: true},
		{Deed: "kill", Process: 1, N: 4},
		{Deed: "bring", Key: 5},
		{Deed: "freeze", Member: 1},
		{Deed: "twin", Process: 1, Key: 4, With: true},
		{Deed: "generate", Process: 1, With: true},
		{Deed: "generate", Process: 1, With: true},
		{Deed: "generate", Process: 1},
		{Deed: "kill", Process: 1, N: 13},
		{Deed: "fault", Outcome: fake.LostBefore, RV: pkcs11.CKR_FUNCTION_FAILED},
		{Deed: "generate"},
		{Deed: "generate"},
		{Deed: "bring", Process: 1, Key: 1, With: true},
		{Deed: "pin"},
		{Deed: "bring", Process: 1, With: true},
		{Deed: "label", Process: 1, Key: 3, With: true},
		{Deed: "down", Process: 1, Member: 2},
		{Deed: "wait", Process: 1, N: 1},
		{Deed: "generate", With: true},
		{Deed: "label", Process: 1, Key: 3, With: true},
		{Deed: "twin", With: true},
		{Deed: "generate", Process: 1, With: true},
		{Deed: "generate", Process: 1, With: true},
		{Deed: "generate", Process: 1, With: true},
		{Deed: "wait", N: 100},
	}},
	{name: "a key that is destroyed on a frozen member while that is being filled", rule: "K5", far: true, steps: []step{
		{Deed: "generate", With: true},
		{Deed: "generate", Process: 1, With: true},
		{Deed: "login", Process: 1},
		{Deed: "freeze"},
		{Deed: "generate", Process: 1, With: true},
		{Deed: "destroy", With: true},
		{Deed: "kill", N: 14},
		{Deed: "pair", Process: 1},
		{Deed: "twin", Key: 5, With: true},
		{Deed: "random", Process: 1},
		{Deed: "twin", Key: 4},
		{Deed: "destroy", Key: 3},
		{Deed: "generate", With: true},
		{Deed: "bring", Key: 5},
		{Deed: "kill", N: 1},
		{Deed: "bring", Key: 2},
	}},
	{name: "a key that is destroyed while only the frozen member is ready that is being filled", rule: "K5", far: true, steps: []step{
		{Deed: "freeze"},
		{Deed: "pair", Process: 1, With: true},
		{Deed: "label", Key: 3, With: true},
		{Deed: "destroy", Key: 5},
		{Deed: "generate", Process: 1, With: true},
		{Deed: "label", Process: 1, Key: 2},
		{Deed: "label", Key: 5, With: true},
		{Deed: "up", Member: 1},
		{Deed: "generate"},
		{Deed: "kill", N: 25},
		{Deed: "pin"},
		{Deed: "kill", Process: 1, N: 14},
		{Deed: "bring", Process: 1, Key: 5},
		{Deed: "bring", Key: 4},
		{Deed: "random"},
		{Deed: "generate", Process: 1, With: true},
		{Deed: "generate", Process: 1, With: true},
		{Deed: "fault", Member: 1, N: 5, Outcome: fake.Beat, RV: pkcs11.CKR_USER_NOT_LOGGED_IN},
		{Deed: "destroy", Process: 1},
	}},
	{name: "a copy from who does not know of a change either, while another compares", rule: "R3", far: true, steps: []step{
		{Deed: "label", Process: 1},
		{Deed: "generate"},
		{Deed: "destroy", Process: 1, Key: 1},
		{Deed: "twin", Process: 1, Key: 3},
		{Deed: "kill", N: 17},
		{Deed: "bring", Key: 1, With: true},
		{Deed: "generate", Process: 1, With: true},
		{Deed: "down"},
		{Deed: "destroy", Process: 1, Key: 1, With: true},
		{Deed: "generate", Process: 1},
		{Deed: "down", Member: 2},
		{Deed: "kill", Process: 1, N: 20},
		{Deed: "destroy", Process: 1, Key: 1},
		{Deed: "label", Process: 1, Key: 3},
		{Deed: "destroy", Key: 2},
		{Deed: "down"},
		{Deed: "kill", N: 1},
		{Deed: "destroy", Process: 1, Key: 2},
		{Deed: "down", Process: 1},
	}},
}

// TestStories tells each of the stories a few times, since the order of goroutines is
// part of them.
func TestStories(t *testing.T) {
	for _, story := range stories {
		t.Run(story.name, func(t *testing.T) {
			for range 5 {
				var w *world
				synctest.Test(t, func(t *testing.T) {
					w = newWorld(t, story.steady, story.far)
					w.live(story.steps)
					w.judge()
				})
				if len(w.wrong) > 0 {
					t.Fatalf("%s: %s\n%s", story.rule, w.wrong[0], w.story())
				}
			}
		})
	}
}
