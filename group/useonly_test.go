// SPDX-License-Identifier: Apache-2.0

package group

import (
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"oneslot.dev/oneslot/member/fake"
	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/wire"
)

// mayUse is what an appliance answers a client that may use keys, not manage them.
func mayUse(m *fake.Member) {
	m.Refuse(pkcs11.CKR_ACTION_PROHIBITED)
	m.Token.UseOnly(true)
	m.Script(func(c wire.Call) fake.Outcome {
		switch c.(type) {
		case *wire.DestroyObject, *wire.SetAttributeValue, *wire.GenerateKey, *wire.Export, *wire.Import, *wire.Publish, *wire.Record, *wire.Unrecord:
			return fake.Refused
		}
		return fake.Answered
	})
}

func mayAll(m *fake.Member) {
	m.Token.UseOnly(false)
	m.Script(nil)
}

// another is a process of another host, after the first has ended.
func (b *bench) another(report func(Event)) *bench {
	next := &bench{t: b.t, members: b.members}
	next.g = New(b.g.options, membersOf(b), wire.GroupView, report)
	next.g.Start()
	next.g.Settle(b.t.Context())
	next.login()
	return next
}

// K5: one member refuses to destroy a key, for want of a right or for whatever
// reason. It does not serve any more, and once it may, the key is gone there too
// and does not come back.
func TestRefusedDestructionIsNotForgotten(t *testing.T) {
	for _, flagged := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			b := start(t, 3, nil)
			b.login()
			gone, _ := b.generate("gone")
			m := b.members[1]
			m.Refuse(pkcs11.CKR_ACTION_PROHIBITED)
			m.Script(func(c wire.Call) fake.Outcome {
				if c.Number() == wire.NumberDestroyObject {
					return fake.Refused
				}
				return fake.Answered
			})
			if flagged {
				mayUse(m)
			}
			if rv := b.g.Destroy(gone[0].Identity, resolve(gone[0].Identity)); rv != pkcs11.CKR_OK {
				t.Fatalf("destroy: %v", rv)
			}
			time.Sleep(10 * time.Minute)
			if got := b.g.Snapshot().Members[1].State; got == Ready {
				t.Error("a member with a destroyed key serves")
			}
			for _, i := range []int{0, 2} {
				if b.g.Snapshot().Members[i].State != Ready || len(b.members[i].Token.Labels()) != 0 {
					t.Errorf("member %d is %v and holds %q", i, b.g.Snapshot().Members[i].State, b.members[i].Token.Labels())
				}
			}
			b.g.Close()
			mayAll(m)
			next := b.another(func(Event) {})
			defer next.g.Close()
			next.await(1, Ready)
			next.equal(0)
		})
	}
}

// K5, N1: a client that may only use keys meets a journal that others left. It can
// settle nothing. Members serve it unless they hold what was destroyed, and what it
// cannot confirm stays for who can.
func TestUseOnlyMeetsAJournal(t *testing.T) {
	rename := pkcs11.Template{pkcs11.Bytes(pkcs11.CKA_LABEL, []byte("new"))}
	for what, c := range map[string]struct {
		change func(b *bench, id wire.Identity) pkcs11.RV
		serves bool
		labels []string
	}{
		"destruction": {func(b *bench, id wire.Identity) pkcs11.RV { return b.g.Destroy(id, resolve(id)) }, false, nil},
		"change":      {func(b *bench, id wire.Identity) pkcs11.RV { return b.g.SetAttributes(id, rename, resolve(id)) }, true, []string{"new"}},
	} {
		synctest.Test(t, func(t *testing.T) {
			b := start(t, 3, nil)
			b.login()
			key, _ := b.generate("old")
			b.down(1)
			if rv := c.change(b, key[0].Identity); rv != pkcs11.CKR_OK {
				t.Fatal(what, rv)
			}
			b.g.Close()
			for _, m := range b.members {
				mayUse(m)
			}
			b.members[1].Up()
			var down atomic.Int64
			user := b.another(func(e Event) {
				if e.Code == MemberDown && e.Member != "b" {
					down.Add(1)
				}
			})
			time.Sleep(10 * time.Minute)
			for i, want := range []bool{true, c.serves, true} {
				if got := user.g.Snapshot().Members[i].State; (got == Ready) != want {
					t.Errorf("%s: member %d is %v", what, i, got)
				}
			}
			if n := down.Load(); n > 0 {
				t.Errorf("%s: members that hold what they should were dropped %d times", what, n)
			}
			user.g.Close()
			for _, m := range b.members {
				mayAll(m)
			}
			manager := b.another(func(Event) {})
			defer manager.g.Close()
			manager.await(1, Ready)
			for i, m := range b.members {
				if got := m.Token.Labels(); !slices.Equal(got, c.labels) {
					t.Errorf("%s: member %d holds %q", what, i, got)
				}
				if n := m.Token.JournalLength(); n != 0 {
					t.Errorf("%s: member %d still has %d records", what, i, n)
				}
			}
		})
	}
}
