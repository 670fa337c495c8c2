// SPDX-License-Identifier: Apache-2.0

package group

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"oneslot.dev/oneslot/member/fake"
	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/wire"
)

// A deed is something a process may die in the middle of.
type deed struct {
	name string
	away bool // member b is away meanwhile
	do   func(b *bench, key []Created) pkcs11.RV
	// after looks at what became of it: done if the deed returned CKR_OK.
	after func(t *testing.T, m *fake.Member, done bool)
}

func setLabel(b *bench, key Created, label string) pkcs11.RV {
	return b.g.SetAttributes(key.Identity, pkcs11.Template{pkcs11.Bytes(pkcs11.CKA_LABEL, []byte(label))}, resolve(key.Identity))
}

// generatePair creates a pair of keys.
func (b *bench) generatePair(label string) ([]Created, pkcs11.RV) {
	return b.g.Create(func(h *Hold) ([]uint64, pkcs11.RV, error) {
		t := pkcs11.Template{pkcs11.Bytes(pkcs11.CKA_LABEL, []byte(label))}
		call := wire.GenerateKeyPair{Public: t, Private: t}
		_, err := h.Do(&call)
		return []uint64{call.PublicKey, call.PrivateKey}, call.RV, err
	})
}

// bring creates a key from a value that the application has.
func (b *bench) bring(value, label string) ([]Created, pkcs11.RV) {
	return b.g.Create(func(h *Hold) ([]uint64, pkcs11.RV, error) {
		call := wire.CreateObject{Template: pkcs11.Template{
			pkcs11.Bytes(pkcs11.CKA_LABEL, []byte(label)), pkcs11.Bytes(pkcs11.CKA_VALUE, []byte(value)),
		}}
		_, err := h.Do(&call)
		return []uint64{call.Object}, call.RV, err
	})
}

func labelled(m *fake.Member, label string) (n int) {
	for _, l := range m.Token.Labels() {
		if l == label {
			n++
		}
	}
	return n
}

func deeds() []deed {
	created := func(want int) func(t *testing.T, m *fake.Member, done bool) {
		return func(t *testing.T, m *fake.Member, done bool) {
			if n := labelled(m, "new"); n != want && (done || n != 0) {
				t.Errorf("member %s: %d of the %d new objects", m.Name(), n, want)
			}
		}
	}
	gone := func(t *testing.T, m *fake.Member, done bool) {
		if done && labelled(m, "old") > 0 {
			t.Errorf("member %s still has the destroyed key", m.Name())
		}
	}
	renamed := func(t *testing.T, m *fake.Member, done bool) {
		if done && labelled(m, "new") != 1 {
			t.Errorf("member %s: labels %v", m.Name(), m.Token.Labels())
		}
	}
	create := func(b *bench, _ []Created) pkcs11.RV { _, rv := b.generate("new"); return rv }
	pair := func(b *bench, _ []Created) pkcs11.RV { _, rv := b.generatePair("new"); return rv }
	bring := func(b *bench, _ []Created) pkcs11.RV { _, rv := b.bring("value", "new"); return rv }
	destroy := func(b *bench, key []Created) pkcs11.RV {
		return b.g.Destroy(key[0].Identity, resolve(key[0].Identity))
	}
	rename := func(b *bench, key []Created) pkcs11.RV { return setLabel(b, key[0], "new") }
	var all []deed
	for _, away := range []bool{false, true} {
		all = append(all,
			deed{"create", away, create, created(1)}, deed{"create a pair", away, pair, created(2)}, deed{"bring", away, bring, created(1)},
			deed{"destroy", away, destroy, gone}, deed{"change", away, rename, renamed})
	}
	return all
}

// K4, K5: a process that dies between any two calls of a creation, destruction
// or change leaves nothing half done: the next one finishes it or takes it back.
func TestKilledBetweenAnyTwoCalls(t *testing.T) {
	positions := 0
	for _, d := range deeds() {
		for n, finished := 0, false; !finished; n++ {
			t.Run(fmt.Sprintf("%s, away %v, call %d", d.name, d.away, n), func(t *testing.T) {
				inBubble(t, func(t *testing.T) { finished = dieIn(t, d, n) })
			})
			positions++
		}
	}
	t.Logf("%d positions", positions)
}

// dieIn kills a process after n calls of a deed and looks at what is left. It
// is true if the deed was over before.
func dieIn(t *testing.T, d deed, n int) (finished bool) {
	members := []*fake.Member{fake.New("a", pin), fake.New("b", pin), fake.New("c", pin)}
	p := launch(t, members, nil)
	b := p.bench(t, members)
	b.login()
	key, rv := b.generate("old")
	if rv != pkcs11.CKR_OK {
		t.Fatal(rv)
	}
	if d.away {
		b.down(1)
	}
	p.killAfter(n)
	rv = d.do(b, key)
	finished = !p.isDead()
	if finished && rv != pkcs11.CKR_OK {
		t.Errorf("nobody died: %v", rv)
	}
	p.end()
	afterwards(t, members)
	b.same()
	for _, m := range members {
		d.after(t, m, rv == pkcs11.CKR_OK)
		if records := m.Token.Journal(); len(records) > 0 {
			t.Errorf("member %s still has records: %v", m.Name(), records)
		}
	}
	return finished
}

// same checks that all members hold the same keys with the same labels, each once.
func (b *bench) same() {
	b.t.Helper()
	for _, m := range b.members {
		if keys, labels := m.Token.Keys(), m.Token.Labels(); !slices.Equal(keys, b.members[0].Token.Keys()) || !slices.Equal(labels, b.members[0].Token.Labels()) {
			b.t.Errorf("member %s holds %v %v, member %s %v %v", m.Name(), keys, labels,
				b.members[0].Name(), b.members[0].Token.Keys(), b.members[0].Token.Labels())
		}
		if keys := m.Token.Keys(); len(slices.Compact(keys)) != len(m.Token.Keys()) {
			b.t.Errorf("member %s has twins: %v", m.Name(), m.Token.Keys())
		}
	}
}

// The same for a sync: whoever fills a member that comes back may die, also when that
// was wiped meanwhile, and when two come back of which the last one left has been
// alone, and gives them what they missed.
func TestKilledDuringSync(t *testing.T) {
	for _, how := range []string{"one was away", "one was wiped", "two were away"} {
		for n, finished := 0, false; !finished; n++ {
			t.Run(fmt.Sprintf("%s, call %d", how, n), func(t *testing.T) {
				inBubble(t, func(t *testing.T) { finished = dieInSync(t, how, n) })
			})
		}
	}
}

func dieInSync(t *testing.T, how string, n int) (finished bool) {
	members := []*fake.Member{fake.New("a", pin), fake.New("b", pin), fake.New("c", pin)}
	p := launch(t, members, nil)
	b := p.bench(t, members)
	b.login()
	changed, _ := b.generate("old")
	gone, _ := b.generate("gone")
	away := []int{1}
	if how == "two were away" {
		away = []int{0, 2}
	}
	for _, i := range away {
		b.down(i)
	}
	for range 2 {
		b.generate("made")
	}
	setLabel(b, changed[0], "new")
	if rv := b.g.Destroy(gone[0].Identity, resolve(gone[0].Identity)); rv != pkcs11.CKR_OK {
		t.Fatal(rv)
	}
	if how == "one was wiped" {
		members[1].Token.Wipe()
	}
	for _, i := range away {
		members[i].Up()
	}
	p.killAfter(n)
	back := func() bool {
		return !slices.ContainsFunc(away, func(i int) bool { return p.g.seats[i].state != Ready })
	}
	if p.g.await(t.Context(), func() bool { return p.isDead() || back() }); !p.isDead() {
		finished = true
	}
	p.end()
	afterwards(t, members)
	b.same()
	if labels := members[1].Token.Labels(); !slices.Equal(labels, []string{"made", "made", "new"}) {
		t.Errorf("labels %v", labels)
	}
	for _, m := range members {
		if n := m.Token.JournalLength(); n != 0 {
			t.Errorf("member %s still has %d records", m.Name(), n)
		}
	}
	return finished
}

// K5, H3: a process that dies while it destroys or changes one of several objects of a key,
// equal in label too, leaves the others what they are.
func TestKilledWithTwins(t *testing.T) {
	for _, destroy := range []bool{true, false} {
		for _, away := range []int{-1, 0, 1} {
			for n, finished := 0, false; !finished; n++ {
				t.Run(fmt.Sprintf("destroy %v, member %d away, call %d", destroy, away, n), func(t *testing.T) {
					inBubble(t, func(t *testing.T) { finished = dieWithTwins(t, destroy, away, n) })
				})
			}
		}
	}
}

func dieWithTwins(t *testing.T, destroy bool, away, n int) (finished bool) {
	members := three()
	p := launch(t, members, nil)
	b := p.bench(t, members)
	b.login()
	b.twin("same", "20250101")
	one := b.twin("same", "20260101")
	b.twin("other", "20270101")
	if away >= 0 {
		b.down(away)
	}
	p.killAfter(n)
	var rv pkcs11.RV
	want := []string{"20250101", "20270101"}
	if destroy {
		rv = b.g.Destroy(one.Identity, placed(one))
	} else {
		want = []string{"20250101", "20270101", "20280101"}
		rv = b.g.SetAttributes(one.Identity, pkcs11.Template{pkcs11.Bytes(pkcs11.CKA_START_DATE, []byte("20280101"))}, placed(one))
	}
	finished = !p.isDead()
	p.end()
	afterwards(t, members)
	time.Sleep(3 * time.Minute)
	if got := members[0].Token.Dates(); rv != pkcs11.CKR_OK && slices.Equal(got, []string{"20250101", "20260101", "20270101"}) {
		want = got // it did not come to that
	}
	b.holdsOnly(members[0].Token.Labels(), want)
	return finished
}
