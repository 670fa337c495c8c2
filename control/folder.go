// SPDX-License-Identifier: Apache-2.0

package control

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// Prepare makes the runtime folder, or checks the one that is there. The
// default may lie in /tmp, where anybody can have made it first; sockets in
// somebody else's folder could be somebody else's engine.
func Prepare(dir string) error {
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return fmt.Errorf("runtime folder: not made: %w", err)
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("runtime folder: not made: %w", err)
	}
	return trusted(dir)
}

// trusted refuses a folder in which others could place sockets. Lstat: a
// symbolic link may be anybody's too.
func trusted(dir string) error {
	info, err := os.Lstat(dir)
	if err != nil {
		return fmt.Errorf("runtime folder: %w", err)
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case !info.IsDir():
		return fmt.Errorf("runtime folder %s: is no folder: remove it or set runtime_dir", dir)
	case !ok || !mayTrust(stat.Uid):
		return fmt.Errorf("runtime folder %s: belongs to another user: remove it or set runtime_dir", dir)
	case info.Mode().Perm()&0o022 != 0:
		return fmt.Errorf("runtime folder %s: others may write to it: chmod 700 it or set runtime_dir", dir)
	}
	return nil
}

// mayTrust holds for one's own user and for root, who can do everything anyway.
func mayTrust(uid uint32) bool { return uid == 0 || int(uid) == os.Geteuid() }

// socketPath is where the engine with that process ID listens.
func socketPath(dir string, pid int) string {
	return filepath.Join(dir, fmt.Sprintf("control-%d.sock", pid))
}

// sockets lists the engines' sockets by process ID.
func sockets(dir string) (map[int]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("runtime folder: %w", err)
	}
	found := map[int]string{}
	for _, e := range entries {
		text, ok := strings.CutPrefix(e.Name(), "control-")
		text, sock := strings.CutSuffix(text, ".sock")
		pid, err := strconv.Atoi(text)
		if ok && sock && err == nil && pid > 0 && e.Type() == fs.ModeSocket {
			found[pid] = filepath.Join(dir, e.Name())
		}
	}
	return found, nil
}

// alive reports whether a process exists. A process ID that was given to
// another program keeps a stale socket a little longer, no more.
func alive(pid int) bool {
	err := syscall.Kill(pid, 0)
	return err == nil || errors.Is(err, syscall.EPERM)
}

// peerTrusted asks the kernel who is at the other end of a Unix socket.
func peerTrusted(c net.Conn) error {
	unix, ok := c.(*net.UnixConn)
	if !ok {
		return errors.New("control: not a Unix socket")
	}
	raw, err := unix.SyscallConn()
	if err != nil {
		return fmt.Errorf("control: peer not known: %w", err)
	}
	var cred *syscall.Ucred
	var failed error
	if err := raw.Control(func(fd uintptr) {
		cred, failed = syscall.GetsockoptUcred(int(fd), syscall.SOL_SOCKET, syscall.SO_PEERCRED)
	}); err != nil {
		return fmt.Errorf("control: peer not known: %w", err)
	}
	if failed != nil {
		return fmt.Errorf("control: peer not known: %w", failed)
	}
	return trustPeer(cred.Uid)
}

func trustPeer(uid uint32) error {
	if mayTrust(uid) {
		return nil
	}
	return fmt.Errorf("control: the process at the other end belongs to user %d: only the engine's own user and root may ask", uid)
}
