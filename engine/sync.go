// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"

	"oneslot.dev/oneslot/config"
	"oneslot.dev/oneslot/group"
	"oneslot.dev/oneslot/member"
	"oneslot.dev/oneslot/pkcs11"
)

// Look says what the members of a group hold and what a sync would do, and
// proves by use that copies are the same if that is asked for. It changes
// nothing.
func (e *Engine) Look(ctx context.Context, g *config.Group, pin pkcs11.PIN, prove bool) group.Survey {
	return group.Look(ctx, *g, e.membersOf(g), pin, prove)
}

// Sync brings the members of a group to hold the same. told gets a line for
// each thing that was done or could not be.
func (e *Engine) Sync(ctx context.Context, g *config.Group, pin pkcs11.PIN, told func(line string)) (pkcs11.RV, map[string]error) {
	return group.Sync(ctx, *g, e.membersOf(g), pin, func(ev group.Event) {
		if ev.Text == "" {
			return // changes of state
		}
		line := "member " + ev.Member + ": " + ev.Text
		if ev.Cause != nil {
			line += ": " + ev.Cause.Error()
		}
		told(line)
	})
}

// Forget gives up a token that left a group for good; see group.Forget.
func (e *Engine) Forget(ctx context.Context, g *config.Group, pin pkcs11.PIN, serial string, trust, dry bool) (group.Forgetting, error) {
	return group.Forget(ctx, *g, e.membersOf(g), pin, serial, trust, dry)
}

func (e *Engine) membersOf(g *config.Group) []member.Member {
	cfg := e.present()
	members := make([]member.Member, len(g.Members))
	for i, name := range g.Members {
		members[i] = e.connect(*cfg.Member(name))
	}
	return members
}
