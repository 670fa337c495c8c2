// SPDX-License-Identifier: Apache-2.0

package host

import (
	"fmt"
	"net"
	"os"
	"os/signal"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// What a process does in which a vendor's module is to be loaded.

// ShareProcessors keeps this process from looking for work on every processor of
// the machine: while it runs, so do the engine and other members, and what the
// vendor's module computes is not limited by it. $GOMAXPROCS overrides it.
func ShareProcessors() {
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(max(1, runtime.NumCPU()/2))
	}
}

// Seal keeps PINs that pass through out of core files and away from debuggers,
// and the terminal's signals away from a process that the engine ends.
func Seal() error {
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("no protection against core files: %w", err)
	}
	if err := unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{}); err != nil {
		return fmt.Errorf("no protection against core files: %w", err)
	}
	signal.Ignore(syscall.SIGINT, syscall.SIGHUP, syscall.SIGPIPE)
	// Vendor modules print. What they say belongs into the log.
	return unix.Dup2(int(os.Stderr.Fd()), int(os.Stdout.Fd()))
}

// Inherited is the connection that the parent left open.
func Inherited(fd int) (*net.UnixConn, error) {
	unix.CloseOnExec(fd)
	file := os.NewFile(uintptr(fd), "engine")
	if file == nil {
		return nil, fmt.Errorf("descriptor %d is not open", fd)
	}
	conn, err := net.FileConn(file)
	if err != nil {
		return nil, fmt.Errorf("descriptor %d is no socket: %w", fd, err)
	}
	socket, ok := conn.(*net.UnixConn)
	if !ok {
		return nil, fmt.Errorf("descriptor %d is no Unix socket", fd)
	}
	return socket, file.Close()
}
