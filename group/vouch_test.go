// SPDX-License-Identifier: Apache-2.0

package group

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/wire"
)

// K5: a process stalls in the middle of a destruction, of its own or one that it carries
// out. Others take it for dead, have it settled, and the key comes back from its value, with
// the same label or another one. Then the process goes on and dies, after so many calls that
// it made. The new key stays, on every member; where nobody brings it back, the old one
// stays destroyed. Only the record with which its own destruction begins may come so late that
// it counts anew: unless the process dies then it notices, and takes it back.
func TestKilledAfterALateDestruction(t *testing.T) {
	for _, c := range []struct {
		how    string
		calls  []int
		labels []string
	}{
		{"destroys", []int{1, 2, 3, 5}, []string{"", "first", "other"}},
		{"carries out", []int{1, 2, 4}, []string{"", "first"}},
		{"carries out for two", []int{1, 3}, []string{"first"}},
	} {
		for _, label := range c.labels {
			for n, finished := 0, false; !finished; n++ {
				for _, more := range c.calls {
					if c.how == "destroys" && n == 1 && label != "" {
						more = 100
					}
					if finished {
						continue
					}
					t.Run(fmt.Sprintf("%s, then %q, call %d, %d more", c.how, label, n, more), func(t *testing.T) {
						inBubble(t, func(t *testing.T) { finished = lateDestruction(t, c.how, label, n, more) })
					})
				}
			}
		}
	}
}

// lateDestruction has a process stall before call n, and die after so many more. It is true
// if it was over before.
func lateDestruction(t *testing.T, how, label string, n, more int) (finished bool) {
	members := three()
	slow, late := open(t, members)
	_, fast := open(t, members)
	bring := func(label string) wire.Identity {
		key, rv := fast.bring("value", label)
		if rv != pkcs11.CKR_OK {
			t.Fatal(rv)
		}
		return key[0].Identity
	}
	key := bring("first")
	destroy := func() {
		if rv := fast.g.Destroy(key, resolve(key)); rv != pkcs11.CKR_OK {
			t.Fatal(rv)
		}
	}
	fast.down(1)
	late.await(1, Down)
	if how == "destroys" {
		mine := Created{Identity: key}
		for _, s := range late.g.seats {
			if s.state == Ready {
				find := wire.Resolve{Wanted: key}
				late.on(s.link, &find)
				mine.Places = append(mine.Places, At{s.index, s.link.epoch, find.Found[0].Object})
			}
		}
		slow.stallAfter(n)
		go late.g.Destroy(key, placed(mine))
		time.Sleep(time.Minute)
	} else {
		if how != "carries out" {
			fast.down(2)
			late.await(2, Down)
		}
		destroy()
		slow.stallAfter(n)
		members[1].Up()
		time.Sleep(5 * time.Minute)
	}
	if finished = !slow.isStopped(); finished {
		slow.resume(1 << 30)
	}
	for i, m := range members {
		m.Up()
		fast.await(i, Ready)
	}
	time.Sleep(5 * time.Minute)
	if _, there := slices.BinarySearch(members[0].Token.Labels(), "first"); there {
		destroy()
	}
	for _, m := range members {
		if len(m.Token.Labels()) > 0 {
			t.Errorf("member %s still has %v", m.Name(), m.Token.Labels())
		}
	}
	var want []string
	if label != "" {
		bring(label)
		want = []string{label}
	}
	if !finished {
		slow.resume(more)
		time.Sleep(time.Minute)
	}
	slow.end()
	fast.g.Close() // nobody is left who knows
	afterwards(t, members)
	time.Sleep(5 * time.Minute)
	for _, m := range members {
		if labels := m.Token.Labels(); !slices.Equal(labels, want) || m.Token.JournalLength() > 0 {
			t.Errorf("member %s has %v, want %v; journal %v", m.Name(), labels, want, m.Token.Journal())
		}
	}
	return finished
}
