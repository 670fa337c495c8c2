// SPDX-License-Identifier: Apache-2.0

package group

import (
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"oneslot.dev/oneslot/member/fake"
	"oneslot.dev/oneslot/wire"
)

// K5: two processes carry out the same record. The one that is late must not undo
// what was changed after the other had done with it, nor put the record back.
func TestRecordThatAnotherProcessSettled(t *testing.T) {
	for name, late := range map[string]wire.Number{
		"late to look for the object": wire.NumberResolve,
		"late to change it":           wire.NumberSetAttributeValue,
		"late to confirm":             wire.NumberRecord,
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) { settledByAnother(t, late) })
		})
	}
}

func settledByAnother(t *testing.T, late wire.Number) {
	r := race(t, 0, 5*time.Minute, func(c wire.Call) bool { return c.Number() == late })
	r.overtake()
	close(r.release)
	r.members[0].Script(nil)
	time.Sleep(10 * time.Minute)
	r.haveNewer()
}

// An overtaking is two processes that change an object, of which one is held up.
type overtaking struct {
	t          *testing.T
	members    []*fake.Member
	late, fast *bench
	slow, next *process // theirs
	key        Created
	release    chan struct{}
	held       atomic.Bool
}

// two starts two processes on three members that hold an object.
func two(t *testing.T) *overtaking {
	t.Helper()
	r := &overtaking{t: t, members: three(), release: make(chan struct{})}
	r.slow, r.late = open(t, r.members)
	r.next, r.fast = open(t, r.members)
	key, _ := r.late.generate("first")
	r.key = key[0]
	return r
}

// open starts a process with a login, to which all members are ready.
func open(t *testing.T, members []*fake.Member) (*process, *bench) {
	t.Helper()
	p := launch(t, members, nil)
	b := p.bench(t, members)
	b.login()
	for i := range members {
		b.await(i, Ready)
	}
	return p, b
}

// hold holds up the first such call on a member.
func (r *overtaking) hold(at int, such func(wire.Call) bool) {
	r.members[at].Script(func(c wire.Call) fake.Outcome {
		if such(c) && r.held.CompareAndSwap(false, true) {
			<-r.release
		}
		return fake.Answered
	})
}

// race has two processes carry out a change that members a and b have missed, which come
// back one after the other. Whoever of the two is the first to make such a call on a member
// is held up there, and the other one goes on.
func race(t *testing.T, at int, pause time.Duration, such func(wire.Call) bool) *overtaking {
	t.Helper()
	r := two(t)
	r.late.down(0)
	r.late.down(1)
	setLabel(r.late, r.key, "older")
	r.hold(at, such)
	for _, i := range []int{0, 1} {
		r.members[i].Up()
		time.Sleep(pause)
	}
	if r.late.state(0) == Ready {
		r.late, r.fast, r.slow, r.next = r.fast, r.late, r.next, r.slow
	}
	return r
}

// overtake has the process that goes on make a later change.
func (r *overtaking) overtake() {
	r.t.Helper()
	if !r.held.Load() {
		r.t.Fatal("nobody was held up")
	}
	for i := range r.members {
		r.fast.await(i, Ready)
	}
	r.key.Identity.Label = []byte("older")
	if rv := setLabel(r.fast, r.key, "newer"); rv != 0 {
		r.t.Fatal(rv)
	}
}

// haveNewer wants the later change on every member, and no record of anything.
func (r *overtaking) haveNewer() {
	r.t.Helper()
	for _, m := range r.members {
		if labels := m.Token.Labels(); !slices.Equal(labels, []string{"newer"}) || m.Token.JournalLength() > 0 {
			r.t.Errorf("member %s: labels %v, journal %v", m.Name(), labels, m.Token.Journal())
		}
	}
}

// K4, K5: half of a creation is taken back also on a member that is away when the
// others take it back.
func TestHalfIsTakenBackFromWhoIsAway(t *testing.T) {
	for away := range 3 {
		for n, finished := 0, false; !finished; n++ {
			t.Run(fmt.Sprintf("member %d, call %d", away, n), func(t *testing.T) {
				inBubble(t, func(t *testing.T) { finished = halfWhileAway(t, away, n) })
			})
		}
	}
}

func halfWhileAway(t *testing.T, away, n int) (finished bool) {
	members := []*fake.Member{fake.New("a", pin), fake.New("b", pin), fake.New("c", pin)}
	p := launch(t, members, nil)
	b := p.bench(t, members)
	b.login()
	p.killAfter(n)
	b.generatePair("new")
	finished = !p.isDead()
	p.end()
	next := launch(t, members, nil)
	next.bench(t, members).login() // it copies what it finds
	time.Sleep(creationPatience / 2)
	members[away].Down()
	time.Sleep(time.Hour) // nobody waits for the dead creator any longer
	afterwards(t, members)
	b.same()
	if n := labelled(members[0], "new"); n != 0 && n != 2 {
		t.Errorf("%d of the 2 new objects", n)
	}
	for _, m := range members {
		if records := m.Token.Journal(); len(records) > 0 {
			t.Errorf("member %s still has records: %v", m.Name(), records)
		}
	}
	return finished
}

// K5; field-D1: two processes carry out one record at once while another member is
// still away. The one that is late takes back its own record and not the other's,
// and no healthy member is dropped since the object is gone already.
func TestRecordOutlivesWhoIsLate(t *testing.T) {
	for _, late := range []wire.Number{wire.NumberRecord, wire.NumberDestroyObject} {
		inBubble(t, func(t *testing.T) {
			members := []*fake.Member{fake.New("a", pin), fake.New("b", pin), fake.New("c", pin)}
			_, one := open(t, members)
			_, other := open(t, members)
			benches := []*bench{one, other}
			key, _ := benches[0].generate("gone")
			benches[0].down(1)
			benches[0].down(2)
			if rv := benches[0].g.Destroy(key[0].Identity, resolve(key[0].Identity)); rv != 0 {
				t.Fatal(rv)
			}
			release := make(chan struct{})
			var first atomic.Bool
			members[1].Script(func(c wire.Call) fake.Outcome {
				if c.Number() == late && first.CompareAndSwap(false, true) {
					<-release
				}
				return fake.Answered
			})
			members[1].Up()
			time.Sleep(time.Minute)
			close(release)
			time.Sleep(10 * time.Minute)
			members[1].Script(nil)
			for _, b := range benches {
				for i, m := range b.g.Snapshot().Members {
					if want := uint64(min(i, 1)); i < 2 && m.Failures != want {
						t.Errorf("%v was late: member %s has failed %d times, want %d", late, m.Name, m.Failures, want)
					}
				}
			}
			members[0].Down() // also who was away first can tell
			time.Sleep(time.Minute)
			members[2].Up()
			time.Sleep(10 * time.Minute)
			afterwards(t, members)
			for _, m := range members {
				if labels := m.Token.Labels(); !first.Load() || len(labels) > 0 || m.Token.JournalLength() > 0 {
					t.Errorf("%v was late: member %s: %v, journal %v", late, m.Name(), labels, m.Token.Journal())
				}
			}
		})
	}
}

// Field-C16: who settles a record does not always reach each member that has it. What
// one of them says is over is over, whatever the others still say.
func TestSettledWhereOneCouldNotBeReached(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		members := three()
		b := launch(t, members, nil).bench(t, members)
		b.login()
		for i := range members {
			b.await(i, Ready)
		}
		key, _ := b.generate("first")
		away := b.g.seats[2].link
		b.down(2)
		setLabel(b, key[0], "older")
		entries, err := b.g.journal(b.g.readyBut(nil))
		if err != nil || len(entries) != 1 || len(entries[0].at) != 2 {
			t.Fatal(entries, err)
		}
		e := entries[0]
		look := func() *sight { return b.g.look([]*job{{entry: e}}, away) }
		for _, at := range e.at {
			if now := look(); !now.stands(e, "") || !now.waitsFor(away, e) {
				t.Error("an event that waits is taken for settled")
			}
			b.g.eraseRaw(at.link, at.raw) // by somebody who reaches only this one
			if now := look(); now.stands(e, "") || now.waitsFor(away, e) {
				t.Error("an event that was settled is taken for one that waits")
			}
			if rv, err := b.g.writeRaw(at.link, at.raw); rv != 0 || err != nil {
				t.Fatal(rv, err)
			}
		}
	})
}

// K5: an object is destroyed while another process has it on its way to a member that
// lacks it, or whose search hides it. That has not done with the destruction before the
// copy was there, so the other process hears of it, also where the key had another name
// when it was exported.
func TestDestroyedOnItsWay(t *testing.T) {
	for _, way := range []struct {
		label string
		hides bool
	}{{"first", false}, {"renamed", false}, {"first", true}, {"renamed", true}} {
		inBubble(t, func(t *testing.T) {
			members := three()
			_, b := open(t, members)
			_, filler := open(t, members)
			key, _ := b.generate("first")
			if !way.hides {
				b.on(b.g.seats[2].link, &wire.DestroyObject{Object: key[0].Places[2].Object})
			}
			from, to := filler.g.seats[0].link, filler.g.seats[2].link
			before := filler.g.destroyed(to)
			mark, err := filler.g.claim(to)
			if err != nil {
				t.Fatal(err)
			}
			find := wire.Resolve{Wanted: key[0].Identity}
			filler.on(from, &find)
			out := wire.Export{Object: find.Found[0].Object}
			filler.on(from, &out)
			if way.label != "first" {
				setLabel(b, key[0], way.label)
				key[0].Identity.Label = []byte(way.label)
			}
			b.destroyKey(key)
			if _, err := b.g.settleAmong(b.g.readyBut(nil), nil, nil); err != nil {
				t.Fatal(err)
			}
			in := wire.Import{Blob: out.Blob, Token: true}
			filler.on(to, &in)
			if err := filler.g.takeBack(&comparison{link: to}, to, map[uint64]*wire.Identity{in.Identity.Object: &in.Identity}, before); err != nil {
				t.Fatal(err)
			}
			filler.g.release(mark)
			afterwards(t, members)
			for _, m := range members {
				if labels := m.Token.Labels(); len(labels) > 0 || m.Token.JournalLength() > 0 {
					t.Errorf("%v: member %s: %v, journal %v", way, m.Name(), labels, m.Token.Journal())
				}
			}
		})
	}
}

// K5: another process's record of what is left to do is relied on only when that process
// has had the time to find that it was too late, and to take its record back. Until then
// both stand; then one is enough.
func TestAFreshRecordIsNotReliedOn(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		members := three()
		b := launch(t, members, nil).bench(t, members)
		b.login()
		for i := range members {
			b.await(i, Ready)
		}
		links := b.g.readyBut(nil)
		event := record{Op: opDestroy, Time: after(time.Time{}), Identity: identityOf("gone")}
		theirs := event.pending([]string{"serial-c"})
		theirs.By = "ANOTHER"
		for _, r := range []record{event.pending([]string{"serial-b", "serial-c"}), theirs} {
			if rv, err := b.g.writeRecord(links[0], r); err != nil || rv != 0 {
				t.Fatal(rv, err)
			}
		}
		rewrite := func() map[string]int {
			t.Helper()
			entries, err := b.g.journal(links)
			if err != nil || len(entries) != 1 {
				t.Fatal(entries, err)
			}
			if err := b.g.rewrite([]*job{{entry: entries[0], left: []string{"serial-c"}}}, links); err != nil {
				t.Fatal(err)
			}
			has := make(map[string]int)
			for _, m := range members {
				for _, text := range m.Token.Journal() {
					if r, _ := decodeRecord([]byte(text)); !r.Sure {
						has[m.Name()+" "+r.By]++
					}
				}
			}
			return has
		}
		mine := b.g.by
		for i := range 2 {
			if has := rewrite(); len(has) != 4 || has["a ANOTHER"] != 1 || has["a "+mine] != 1 || has["b "+mine] != 1 || has["c "+mine] != 1 {
				t.Errorf("time %d: %v", i, has)
			}
		}
		b.g.mu.Lock()
		for where, since := range b.g.fresh {
			b.g.fresh[where] = since.Add(-claimPatience)
		}
		b.g.mu.Unlock()
		if has := rewrite(); len(has) != 3 || has["a ANOTHER"]+has["a "+mine] != 1 {
			t.Errorf("when it is firm: %v", has)
		}
	})
}
