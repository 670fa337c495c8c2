// SPDX-License-Identifier: Apache-2.0

// Demo shows the main job of oneslot from end to end: three SoftHSM tokens
// become one slot, a key pair made through it is on each of them, and an
// application signs with many threads while one member is killed and another
// one stopped. It says what happens as it happens, and ends with a verdict.
// It works in a temporary folder, which it removes.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"oneslot.dev/oneslot/test/cluster"
)

// errFailed is the error of a demonstration that said already what went wrong.
var errFailed = errors.New("failed")

const keyLabel = "demo"

func main() {
	keep := flag.String("dir", "", "work in this `folder` and keep it")
	threads := flag.Int("threads", 16, "threads of the application")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	out := newScreen(os.Stdout)
	switch err := run(ctx, out, *keep, *threads); {
	case err == nil:
		return
	case ctx.Err() != nil:
		out.line("")
		out.line("Interrupted; everything is cleaned up.")
	case !errors.Is(err, errFailed):
		out.verdict(false, err.Error())
	}
	os.Exit(1)
}

func run(ctx context.Context, out *screen, dir string, threads int) (err error) {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	bin := filepath.Dir(self)
	if dir == "" {
		if dir, err = os.MkdirTemp("", "oneslot-demo-"); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	}
	out.line("oneslot: several HSMs behind one PKCS#11 slot")

	out.step("Three SoftHSM tokens, joined to one domain and one group")
	c, err := cluster.New(bin, dir, 3, "--label=demo-group")
	if err != nil {
		return err
	}
	defer c.Close()
	if err := showTokens(ctx, out, c); err != nil {
		return err
	}

	out.step("A key pair made through the group is on each member")
	if err := makeKey(ctx, out, c); err != nil {
		return err
	}

	out.step(fmt.Sprintf("An application signs with %d threads; each signature is verified", threads))
	return sign(ctx, out, c, filepath.Join(bin, "p11stress"), threads)
}
