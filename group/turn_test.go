// SPDX-License-Identifier: Apache-2.0

package group

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"oneslot.dev/oneslot/member/fake"
	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/wire"
)

// K5, H5; field-C16: of two changes at the same time one wins on every member,
// whether they are made by two processes with different primaries (G6) or by
// two threads of one; and it is one that returned CKR_OK.
func TestTwoChangesAtTheSameTime(t *testing.T) {
	for _, processes := range []int{1, 2} {
		inBubble(t, func(t *testing.T) {
			var mu sync.Mutex
			delays := rand.New(rand.NewPCG(1, 2))
			var members []*fake.Member
			for _, name := range []string{"a", "b", "c"} {
				m := fake.New(name, pin)
				m.Script(func(wire.Call) fake.Outcome {
					mu.Lock()
					delay := time.Duration(delays.Int64N(int64(3 * time.Millisecond)))
					mu.Unlock()
					time.Sleep(delay)
					return fake.Answered
				})
				members = append(members, m)
			}
			var benches []*bench
			for i := range 2 {
				if i < processes {
					p := launch(t, slices.Concat(members[i:], members[:i]), nil)
					benches = append(benches, p.bench(t, members))
					benches[i].login()
					for k := range members {
						benches[i].await(k, Ready)
					}
				}
			}
			key, rv := benches[0].generate("k")
			if rv != pkcs11.CKR_OK {
				t.Fatal(rv)
			}
			for round := range 100 {
				var both sync.WaitGroup
				for i := range 2 {
					both.Go(func() {
						if rv := setLabel(benches[i%processes], key[0], fmt.Sprint(round, i)); rv != pkcs11.CKR_OK {
							t.Errorf("round %d, change %d: %v", round, i, rv)
						}
					})
				}
				both.Wait()
				first := members[0].Token.Labels()
				for _, m := range members {
					if labels := m.Token.Labels(); !slices.Equal(labels, first) || m.Token.JournalLength() > 0 {
						t.Fatalf("%d processes, round %d: member %s says %v and keeps %v, member a says %v", processes, round, m.Name(), labels, m.Token.Journal(), first)
					}
				}
				if first[0] != fmt.Sprint(round, 0) && first[0] != fmt.Sprint(round, 1) {
					t.Fatalf("%d processes, round %d: %v", processes, round, first)
				}
			}
		})
	}
}

// K5, R3: what only one member had leaves the others, who have never had it, to
// follow a record; nobody waits for that as for a change under way. What nothing can
// be recognised by leaves no record at all; else there is one, and one that vouches for it.
func TestWhatOnlyOneHadIsDestroyedAtOnce(t *testing.T) {
	for value, records := range map[string]int{"": 0, "value": 2} {
		synctest.Test(t, func(t *testing.T) {
			b := start(t, 3, nil)
			b.login()
			l := b.g.seats[0].link
			made := wire.CreateObject{Template: pkcs11.Template{pkcs11.Bytes(pkcs11.CKA_VALUE, []byte(value))}}
			b.on(l, &made)
			out := wire.Export{Object: made.Object}
			b.on(l, &out)
			b.on(l, &wire.Import{Blob: out.Blob, Token: true})
			found, err := b.g.list(l)
			if err != nil || len(found) != 1 {
				t.Fatal(found, err)
			}
			if rv := b.g.Destroy(found[0], func(p *Place, _ uint64) (uint64, pkcs11.RV, error) {
				if p.seat != l.seat {
					return 0, 0, ErrElsewhere
				}
				return found[0].Object, pkcs11.CKR_OK, nil
			}); rv != pkcs11.CKR_OK {
				t.Fatal(rv)
			}
			if n := b.members[0].Token.JournalLength(); n != records {
				t.Errorf("%q: %d records", value, n)
			}
			if rv := b.g.Logout(); rv != pkcs11.CKR_OK {
				t.Fatal(rv)
			}
			begin := time.Now()
			b.login()
			if took := time.Since(begin); took >= turnPatience/2 {
				t.Errorf("%q: the members follow a login in %v", value, took)
			}
			for _, m := range b.members {
				if len(m.Token.Keys()) > 0 || m.Token.JournalLength() > 0 {
					t.Errorf("%q: member %s has %v and keeps %v", value, m.Name(), m.Token.Keys(), m.Token.Journal())
				}
			}
		})
	}
}

// Field-C16: a change is made while an older one still waits for a member that lacked the
// object, and gets it just then. The older one, which is carried out there later, does
// not stay.
func TestChangeOvertakesAnOlderOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, 3, nil)
		b.login()
		for i := range 2 {
			b.plant(i, "older", "", wire.Private|wire.Copyable)
		}
		id := identityOf("twin")
		id.Label = []byte("first")
		older := record{Op: opChange, Time: after(time.Time{}), Identity: id, Changes: pkcs11.Template{pkcs11.Bytes(pkcs11.CKA_LABEL, []byte("older"))}}.pending([]string{b.g.seats[2].serialNow(b.g)})
		for _, s := range b.g.seats {
			if rv, err := b.g.writeRecord(s.link, older); err != nil || rv != pkcs11.CKR_OK {
				t.Fatal(rv, err)
			}
		}
		b.members[0].Script(func(c wire.Call) fake.Outcome {
			if c.Number() == wire.NumberSetAttributeValue {
				b.plant(2, "older", "", wire.Private|wire.Copyable) // another process fills it
			}
			return fake.Answered
		})
		id.Label = []byte("older")
		if rv := setLabel(b, Created{Identity: id}, "newer"); rv != pkcs11.CKR_OK {
			t.Fatal(rv)
		}
		afterwards(t, b.members)
		for _, m := range b.members {
			if labels := m.Token.Labels(); !slices.Equal(labels, []string{"newer"}) || m.Token.JournalLength() > 0 {
				t.Errorf("member %s: labels %v, journal %v", m.Name(), labels, m.Token.Journal())
			}
		}
	})
}

// on makes a call on one member, past the group.
func (b *bench) on(l *link, call wire.Call) {
	b.t.Helper()
	if _, err := l.background(b.t.Context(), b.g.limits(nil), call); err != nil || call.Result() != pkcs11.CKR_OK {
		b.t.Fatalf("%v: %v %v", call.Number(), call.Result(), err)
	}
}
