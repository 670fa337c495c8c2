// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"oneslot.dev/oneslot/config"
	"oneslot.dev/oneslot/member"
)

// late is a member that takes a while to connect.
type late struct {
	member.Member
	takes time.Duration
}

func (l late) Connect(ctx context.Context) (member.Conn, error) {
	select {
	case <-time.After(l.takes):
	case <-ctx.Done():
	}
	return l.Member.Connect(ctx)
}

// An application is served by the first member that is ready. Objects that only
// one has which is still starting are found all the same, by search and by handle.
func TestObjectsOfAMemberThatIsStillStarting(t *testing.T) {
	for name, use := range map[string]func(w *world, a *application, s, key uint64){
		"search": func(w *world, a *application, s, key uint64) {
			if found := w.find(a, s); len(found) != 1 || found[0] != key {
				w.Errorf("found %v, want %v", found, key)
			}
		},
		"handle": func(w *world, a *application, s, key uint64) { w.sign(a, s, key) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := begin(t, 2)
				w.members["a"].Down()
				before := w.application()
				key := w.generate(before, w.loggedIn(before), "only on b", true)
				before.close()
				w.members["a"].Up()

				connect := w.engine.connect
				w.engine.connect = func(m config.Member) member.Member {
					if m.Name == "b" {
						return late{connect(m), time.Second}
					}
					return connect(m)
				}
				begun := time.Now()
				a := w.application()
				if took := time.Since(begun); took > 0 {
					t.Errorf("C_Initialize took %v", took)
				}
				use(w, a, w.loggedIn(a), key)
			})
		})
	}
}
