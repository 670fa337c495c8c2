// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"oneslot.dev/oneslot/control"
	"oneslot.dev/oneslot/test/cluster"
)

const (
	// patience is for each single thing that is waited for. In an untroubled
	// demonstration all of them together take a fraction of it.
	patience = 30 * time.Second
	glance   = 50 * time.Millisecond
)

// await waits until something holds. An error of looking ends it.
func await(ctx context.Context, what string, holds func() (bool, error)) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	tick := time.NewTicker(glance)
	defer tick.Stop()
	for {
		if ok, err := holds(); ok || err != nil {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("waited in vain for %v: %s", patience, what)
		}
	}
}

// sign lets the application work through all that befalls the members.
func sign(ctx context.Context, out *screen, c *cluster.Cluster, program string, threads int) (err error) {
	view := &view{out: out, cluster: c, log: &log{path: c.Log}, states: map[string]string{}, struck: map[string]int{}}
	out.paint(faint, fmt.Sprintf("   %4s  %s%12s  %6s  %12s", "", view.heads(), "signatures/s", "failed", "longest call"))
	app, err := launch(c, program, threads, view.second)
	if err != nil {
		return err
	}
	watching, end := context.WithCancel(ctx)
	watched := make(chan struct{})
	go func() { defer close(watched); view.watch(watching) }()
	err = trouble(ctx, app, view)
	bad := app.stop()
	end()
	<-watched
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		out.verdict(false, err.Error())
		return errFailed
	}
	return judge(out, app, bad)
}

// trouble is the story: one member is killed and comes back, another stops.
func trouble(ctx context.Context, app *application, v *view) error {
	first, second := v.cluster.Members[1], v.cluster.Members[2]
	for _, step := range []func() error{
		func() error { return v.all(ctx, "ready") },
		func() error { return app.seconds(ctx, 3) },
		func() error { return v.strike(first, "is killed (SIGKILL)", v.cluster.Kill) },
		func() error { return v.recovers(ctx, first) },
		func() error { return app.seconds(ctx, 3) },
		func() error { return v.strike(second, "is stopped (SIGSTOP): there, but silent", v.cluster.Pause) },
		func() error { return v.recovers(ctx, second) },
		func() error { return app.seconds(ctx, 3) },
	} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// judge says how it went.
func judge(out *screen, app *application, bad error) error {
	t := app.total
	switch {
	case !app.counted:
		out.verdict(false, fmt.Sprintf("The application did not end well: %v", bad))
		out.item("%s", strings.TrimSpace(app.errors.String()))
	case bad != nil || t.failed+t.wrong > 0 || t.verified == 0:
		out.verdict(false, fmt.Sprintf("%d signatures verified, %d calls failed, %d signatures wrong.", t.verified, t.failed, t.wrong))
		out.item("%s", strings.TrimSpace(app.errors.String()))
	default:
		out.verdict(true, fmt.Sprintf("One member killed, one stopped, both back: 0 failed calls.\n        %d signatures, every one verified with the public key.\n        The longest call took %v: it was with the silent member,\n        and went elsewhere when probe_timeout (5 s) was over.", t.verified, t.longest))
		return nil
	}
	return errFailed
}

// states returns the members as the application's engine sees them. Nothing is
// no error: the engine may be starting.
func states(c *cluster.Cluster) []control.Member {
	groups, err := c.Groups()
	if err != nil || len(groups) == 0 {
		return nil
	}
	return groups[0].Members
}
