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
