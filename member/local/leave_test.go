// SPDX-License-Identifier: Apache-2.0

package local_test

import (
	"context"
	"errors"
	"os"
	"syscall"
	"testing"
	"time"

	"oneslot.dev/oneslot/host/hosttest"
	"oneslot.dev/oneslot/member"
	"oneslot.dev/oneslot/member/local"
	"oneslot.dev/oneslot/wire"
)

// patience is far longer than anything here takes.
const patience = 90 * time.Second

// A process whose connection is left finishes what its module is at and ends; one whose
// connection is closed is killed. Neither is taken for a module that crashed.
func TestLeave(t *testing.T) {
	const function = "C_GenerateRandom"
	token := hosttest.Token(t, "leave")
	slow := hosttest.NewSlow(t)
	for name, c := range map[string]struct {
		end      func(member.Conn)
		finished int
	}{
		"left":   {member.Leave, 1},
		"closed": {member.Conn.Close, 0},
	} {
		before := slow.Ended(function)
		conn, err := local.New(local.Config{
			Name: "a", Program: hosttest.Program(t), Module: slow.Path, Token: token.Label,
			Env: append(os.Environ(), token.Env(), "SLOW="+slow.Folder),
		}).Connect(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		session, err := conn.Open(wire.GroupView)
		if err != nil {
			t.Fatal(err)
		}
		undo := slow.Make(function, "3600")
		asked := make(chan error, 1)
		go func() {
			_, err := session.Do(context.Background(), member.Limits{Silence: patience, Stuck: patience},
				&wire.GenerateRandom{RandomRoom: wire.Room{Capacity: 8}})
			asked <- err
		}()
		await(t, "the call", func() bool { return len(slow.Callers(function)) > 0 })
		c.end(conn)
		var fault *member.Fault
		if err := <-asked; !errors.As(err, &fault) || !fault.Sent || fault.Crashed {
			t.Errorf("%s: the call ended with %v", name, err)
		}
		ended := func() bool { return syscall.Kill(conn.(interface{ PID() int }).PID(), 0) == syscall.ESRCH }
		if c.finished == 0 {
			await(t, "the process to end in the middle", ended)
		}
		undo()
		await(t, "the process to end", ended)
		if finished := slow.Ended(function) - before; finished != c.finished {
			t.Errorf("%s: %d calls were finished", name, finished)
		}
	}
}

// Where the group is closed in the middle of a connect the process is left as well: it may
// be in C_Initialize.
func TestLeaveWhileConnecting(t *testing.T) {
	const function = "C_Initialize"
	token := hosttest.Token(t, "leave")
	slow := hosttest.NewSlow(t)
	undo := slow.Make(function, "3600")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	gone := make(chan error, 1)
	go func() {
		_, err := local.New(local.Config{
			Name: "a", Program: hosttest.Program(t), Module: slow.Path, Token: token.Label,
			Env: append(os.Environ(), token.Env(), "SLOW="+slow.Folder),
		}).Connect(ctx)
		gone <- err
	}()
	await(t, "the call", func() bool { return len(slow.Callers(function)) > 0 })
	cancel()
	if err := <-gone; !errors.Is(err, context.Canceled) {
		t.Errorf("it ended with %v", err)
	}
	process := slow.Callers(function)[0]
	undo()
	await(t, "the process to end", func() bool { return syscall.Kill(process, 0) == syscall.ESRCH })
	if finished := slow.Ended(function); finished != 1 {
		t.Errorf("%d calls were finished", finished)
	}
}

func await(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("waited in vain: " + what)
		}
	}
}
