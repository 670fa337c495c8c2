// SPDX-License-Identifier: Apache-2.0

package group

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"oneslot.dev/oneslot/config"
	"oneslot.dev/oneslot/member"
	"oneslot.dev/oneslot/member/fake"
	"oneslot.dev/oneslot/wire"
)

// ending is a member whose certificate ends soon.
type ending struct{ *fake.Member }

func (ending) Deadlines() []member.Deadline {
	return []member.Deadline{{What: "certificate", Warning: "ends soon"}, {What: "another"}}
}

func (ending) Dangers() []string { return []string{"everybody reads its key"} }

// O3, field-L9: the log warns when the member is connected, also when it cannot
// be, and daily, however often it is connected anew.
func TestEndsAreWarnedOfDaily(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := fake.New("a", pin)
		var mu sync.Mutex
		warnings, dangers := 0, 0
		options := config.DefaultGroup("g")
		options.Members = []string{"a"}
		g := New(options, []member.Member{ending{m}}, wire.GroupView, func(e Event) {
			mu.Lock()
			defer mu.Unlock()
			if e.Code == MemberExpires {
				warnings++
				if e.Text != "ends soon" || e.Member != "a" {
					t.Errorf("%+v", e)
				}
			}
			if e.Code == MemberExposed && e.Text == "everybody reads its key" {
				dangers++
			}
		})
		defer g.Close()
		g.Start()
		time.Sleep(time.Minute)
		m.Down()
		time.Sleep(time.Minute)
		m.Up()
		time.Sleep(50 * time.Hour)
		mu.Lock()
		defer mu.Unlock()
		if warnings != 3 || dangers != 3 {
			t.Errorf("%d warnings and %d of what is unsafe in 50 hours", warnings, dangers)
		}
		if d := g.Deadlines()["a"]; len(d) != 2 {
			t.Errorf("%+v", d)
		}
	})
}
