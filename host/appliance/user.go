// SPDX-License-Identifier: Apache-2.0

package appliance

import (
	"fmt"
	"os"
	"os/user"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// becomeUser gives up all privileges: those of root, if a user is named, and in
// any case the way to new ones.
func becomeUser(name string) error {
	if name != "" && os.Getuid() == 0 {
		if err := switchUser(name); err != nil {
			return fmt.Errorf("user %s: %w", name, err)
		}
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
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
