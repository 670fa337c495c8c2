// SPDX-License-Identifier: Apache-2.0

package group

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"oneslot.dev/oneslot/config"
	"oneslot.dev/oneslot/member/fake"
	"oneslot.dev/oneslot/pkcs11"
)

// without makes a fresh process whose configuration lacks some of the members.
func without(t *testing.T, members []*fake.Member, absent ...int) *bench {
	var rest []*fake.Member
	for i, m := range members {
		if !slices.Contains(absent, i) {
			rest = append(rest, m)
		}
	}
	b := launch(t, rest, nil).bench(t, rest)
	b.login()
	return b
}

// K5: a key that is destroyed after its member was taken out of the
// configuration, by a process that never knew the member, does not come back
// with it; a label that was changed follows. Nothing waits then.
func TestRemovedMemberBringsNothingBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		members := three()
		p := launch(t, members, nil)
		b := p.bench(t, members)
		b.login()
		gone, _ := b.generate("gone")
		kept, _ := b.generate("kept")
		p.end()

		b = without(t, members, 1)
		b.destroyKey(gone)
		setLabel(b, kept[0], "renamed")
		b.g.Close()

		back := launch(t, members, nil).bench(t, members)
		back.login()
		for i := range members {
			back.await(i, Ready)
		}
		time.Sleep(3 * time.Minute)
		for _, m := range members {
			if labels := m.Token.Labels(); !slices.Equal(labels, []string{"renamed"}) || m.Token.JournalLength() > 0 {
				t.Errorf("member %s: %v, journal %v", m.Name(), labels, m.Token.Journal())
			}
		}
	})
}

// K5: the same when only one member is left in the configuration.
func TestLastMemberRemembersTheOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		members := three()[:2]
		p := launch(t, members, nil)
		b := p.bench(t, members)
		b.login()
		gone, _ := b.generate("gone")
		p.end()
		b = without(t, members, 1)
		b.destroyKey(gone)
		b.g.Close()
		back := launch(t, members, nil).bench(t, members)
		back.login()
		back.await(0, Ready)
		back.await(1, Ready)
		back.equal(0)
	})
}

// K5; field-G8: a member that shows nothing of what it holds, and says so with CKR_OK,
// has not confirmed a destruction by that: when it sees again the key is destroyed
// there, and did not come back before.
func TestABlindMemberConfirmsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		members := three()
		b := launch(t, members, nil).bench(t, members)
		b.login()
		for i := range members {
			b.await(i, Ready)
		}
		gone, _ := b.generate("gone")
		b.generate("kept")
		b.down(1)
		b.destroyKey(gone)
		members[1].Token.Blind(true)
		members[1].Up()
		time.Sleep(10 * time.Minute)
		members[1].Token.Blind(false)
		time.Sleep(10 * time.Minute)
		b.await(1, Ready)
		b.equal(1)
		for _, m := range members {
			if m.Token.JournalLength() > 0 {
				t.Errorf("member %s still has %v", m.Name(), m.Token.Journal())
			}
		}
	})
}

// named is a group of that name on members, whose process is logged in.
func named(t *testing.T, name string, members ...*fake.Member) *bench {
	b := launch(t, members, func(o *config.Group) { o.Name = name }).bench(t, members)
	b.login()
	for i := range members {
		b.await(i, Ready)
	}
	return b
}

// K5, G2: what was destroyed in a group while a member was not of it does not come back
// with that, though the group has another name by then, or the configuration of another
// host calls it otherwise.
func TestRenamedGroupRemembersItsTokens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		members := three()
		b := named(t, "old", members...)
		gone, _ := b.generate("gone")
		b.g.Close()
		b = named(t, "new", members[0], members[2])
		b.destroyKey(gone)
		b.g.Close()
		b = named(t, "new", members...)
		b.equal(0)
	})
}

// K5, G1: a key that is destroyed in one group does not come back by another one that
// shares a token with it, has another name and no process at that time; nor does a label
// from before. When both have looked into the journals nothing is left there.
func TestGroupsThatShareAToken(t *testing.T) {
	for _, name := range []string{"same", "other"} {
		synctest.Test(t, func(t *testing.T) {
			members := three()
			a, b, c := members[0], members[1], members[2]
			left := named(t, "same", a, b)
			gone, _ := left.generate("gone")
			kept, _ := left.generate("kept")
			right := named(t, name, a, c)
			right.g.Close()
			time.Sleep(3 * time.Minute) // until the first knows of it
			left.destroyKey(gone)
			setLabel(left, kept[0], "renamed")
			left.g.Close()

			named(t, name, a, c)
			named(t, "same", a, b)
			time.Sleep(time.Hour)
			for _, m := range members {
				if labels := m.Token.Labels(); !slices.Equal(labels, []string{"renamed"}) || m.Token.JournalLength() > 0 {
					t.Errorf("group %s: member %s: %v, journal %v", name, m.Name(), labels, m.Token.Journal())
				}
			}
		})
	}
}

// forget gives the order of `oneslot group forget`.
func forget(t *testing.T, b *bench, serial string, trust bool) Forgetting {
	t.Helper()
	options := config.DefaultGroup("g")
	f, err := Forget(t.Context(), options, membersOf(b), pkcs11.PIN(pin), serial, trust, false)
	if err != nil {
		t.Error(err)
	}
	return f
}

// K5, R6: once a token is forgotten no record waits for it; should it return all
// the same it is quarantined, whoever connects first, until it is wiped or
// trusted.
func TestForgottenToken(t *testing.T) {
	for _, how := range []string{"wiped", "trusted", "first"} {
		synctest.Test(t, func(t *testing.T) {
			members := three()
			p := launch(t, members, nil)
			b := p.bench(t, members)
			b.login()
			gone, _ := b.generate("gone")
			b.generate("kept")
			p.end()
			lost := 1
			if how == "first" {
				lost = 0
			}
			b = without(t, members, lost)
			b.destroyKey(gone)
			f := forget(t, b, "serial-"+members[lost].Name(), false)
			if f.Records != 1 || len(f.Members) != 2 {
				t.Errorf("forgotten: %+v", f)
			}
			time.Sleep(3 * time.Minute)
			for _, m := range b.members {
				if n := m.Token.JournalLength(); n != 1 || !strings.Contains(m.Token.Journal()[0], opForgotten) {
					t.Errorf("member %s has %v", m.Name(), m.Token.Journal())
				}
			}
			b.g.Close()

			if how == "wiped" {
				members[lost].Token.Wipe()
			}
			p = launch(t, members, nil)
			back := p.bench(t, members)
			back.login()
			if how == "wiped" {
				back.await(lost, Ready)
				back.equal(1)
				return
			}
			back.await(lost, Quarantined)
			if cause := p.g.Snapshot().Members[lost].Cause; !strings.Contains(cause.Error(), "given up") {
				t.Errorf("quarantined: %v", cause)
			}
			for i, m := range members {
				if i != lost && len(m.Token.Keys()) != 1 {
					t.Errorf("%s: member %s holds %v", how, m.Name(), m.Token.Labels())
				}
			}
			if how == "trusted" {
				forget(t, back, "serial-"+members[lost].Name(), true)
				p.g.Recover()
				back.await(lost, Ready)
				back.equal(2)
			}
		})
	}
}

// K5: the same on a token that needs no login, for a process that never logs in.
func TestLastMemberRemembersTheOthersWithoutALogin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		members := three()[:2]
		for _, m := range members {
			m.Token.NeedsNoLogin()
		}
		p := launch(t, members, nil)
		b := p.bench(t, members)
		b.login()
		gone, _ := b.generate("gone")
		p.end()

		alone := launch(t, members[:1], nil)
		alone.bench(t, members[:1]).destroyKey(gone)
		alone.end()

		b = launch(t, members, nil).bench(t, members)
		b.login()
		for i := range members {
			b.await(i, Ready)
		}
		time.Sleep(3 * time.Minute)
		b.equal(0)
		for _, m := range members {
			if m.Token.JournalLength() > 0 {
				t.Errorf("member %s: journal %v", m.Name(), m.Token.Journal())
			}
		}
	})
}
