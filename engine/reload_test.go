// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"
	"strings"
	"testing"

	"oneslot.dev/oneslot/config"
	"oneslot.dev/oneslot/group"
	"oneslot.dev/oneslot/member/fake"
	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/wire"
)

// reload puts a configuration in force with these members, in groups of this
// form: name, then its members.
func (w *world) reload(groups ...string) {
	w.Helper()
	var text strings.Builder
	text.WriteString("group_only = true\n")
	for name := range w.members {
		fmt.Fprintf(&text, "[[member]]\nname = %q\nmodule = \"/none.so\"\ntoken = %q\n", name, name)
	}
	for _, g := range groups {
		words := strings.Fields(g)
		fmt.Fprintf(&text, "[[group]]\nname = %q\nmembers = [\"%s\"]\n", words[0], strings.Join(words[1:], "\", \""))
	}
	c, err := config.Parse("test.toml", []byte(text.String()))
	if err != nil {
		w.Fatal(err)
	}
	w.engine.Reload(c)
}

// R5: a member that failed for good is replaced while an application has a key
// open: session, handle and login stay, and so does the slot's identity.
func TestMemberIsReplaced(t *testing.T) {
	w := begin(t, 2)
	a := w.application()
	w.engine.track(a, true)
	s := w.loggedIn(a)
	w.allReady(a)
	key := w.generate(a, s, "k", true)
	whose := w.sign(a, s, key)
	before := wire.GetTokenInfo{Slot: w.slot}
	w.call(a, &before, pkcs11.CKR_OK)

	w.members["b"].Down()
	w.members["c"] = fake.New("c", pin)
	w.reload("g a c")
	w.allReady(a)
	w.members["a"].Down() // only the new member is left
	w.until("a is down", func() bool { return a.slots[0].group.Snapshot().Members[0].State != group.Ready })
	if got := w.sign(a, s, key); got != whose {
		t.Error("the new member signs with another key")
	}
	after := wire.GetTokenInfo{Slot: w.slot}
	w.call(a, &after, pkcs11.CKR_OK)
	if after.Info.Label != before.Info.Label || after.Info.Serial != before.Info.Serial {
		t.Errorf("the slot's identity changed: %q %q", after.Info.Label, after.Info.Serial)
	}
}

// Groups come as further slots; one that is gone has no token, and comes back as
// the same slot.
func TestGroupsComeAndGo(t *testing.T) {
	w := begin(t, 2)
	a := w.application()
	w.engine.track(a, true)
	w.reload("g a", "h b")
	if n := len(a.allSlots()); n != 2 || a.allSlots()[0].id != w.slot {
		t.Fatalf("%d slots", n)
	}
	h := a.allSlots()[1].id
	w.until("the new slot serves", func() bool { return a.allSlots()[1].group.Serving() })
	w.reload("g a b")
	c := wire.GetTokenInfo{Slot: h}
	w.call(a, &c, pkcs11.CKR_TOKEN_NOT_PRESENT)
	list := wire.GetSlotList{Present: true, SlotsRoom: wire.Room{Capacity: 8}}
	w.call(a, &list, pkcs11.CKR_OK)
	if len(list.Slots.Values) != 1 {
		t.Errorf("slots with a token: %v", list.Slots.Values)
	}
	w.reload("g a", "h b")
	w.until("the slot serves again", func() bool { return a.allSlots()[1].group.Serving() })
	if a.allSlots()[1].id != h || len(a.allSlots()) != 2 {
		t.Error("it is another slot")
	}
}

// An application that starts while the configuration changes has the new one.
func TestLateApplicationCatchesUp(t *testing.T) {
	w := begin(t, 2)
	a := w.application()
	w.reload("g b") // it is not known to the engine yet
	w.engine.track(a, true)
	w.engine.catchUp(a)
	if got := a.slots[0].group.Snapshot().Members; len(got) != 1 || got[0].Name != "b" {
		t.Errorf("members: %+v", got)
	}
}
