// SPDX-License-Identifier: Apache-2.0

package appliance

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"runtime"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// startConfined starts a process that has given up the way to new privileges, and whose
// timers may be late (host/cryptoki/slack.c). A thread
// settles both for itself and what it starts, and a process has several before it runs a
// line of ours: so it is a thread of the listener, which ends then, that does it.
func startConfined(command *exec.Cmd) error {
	started := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlocks: the thread ends with this function
		err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
		if err == nil {
			err = unix.Prctl(unix.PR_SET_TIMERSLACK, uintptr(lateTimers), 0, 0, 0)
		}
		if err == nil {
			err = command.Start()
		}
		started <- err
	}()
	return <-started
}

// lateTimers is by how much the timers of a connection's process may be late: 1 ms, as
// those of an engine and its members.
const lateTimers = time.Millisecond

// becomeUser gives up the privileges of root, if a user is named. Who did not give up
// the way to new ones goes no further.
func becomeUser(name string) error {
	if name != "" && os.Getuid() == 0 {
		if err := switchUser(name); err != nil {
			return fmt.Errorf("user %s: %w", name, err)
		}
	}
	given, err := unix.PrctlRetInt(unix.PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0)
	if err == nil && given != 1 {
		err = errors.New("the listener has not started this process")
	}
	if err != nil {
		return fmt.Errorf("new privileges are not given up: %w", err)
	}
	return nil
}

func switchUser(name string) error {
	account, err := user.Lookup(name)
	if err != nil {
		return err
	}
	uid, err := strconv.Atoi(account.Uid)
	if err != nil {
		return err
	}
	gid, err := strconv.Atoi(account.Gid)
	if err != nil {
		return err
	}
	var groups []int // a vendor's device often belongs to a group
	ids, err := account.GroupIds()
	if err != nil {
		return err
	}
	for _, id := range ids {
		n, err := strconv.Atoi(id)
		if err != nil {
			return err
		}
		groups = append(groups, n)
	}
	if err := syscall.Setgroups(groups); err != nil {
		return err
	}
	if err := syscall.Setresgid(gid, gid, gid); err != nil {
		return err
	}
	return syscall.Setresuid(uid, uid, uid)
}
