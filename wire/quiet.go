// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"io"
	"net"
	"os"
	"syscall"
	"unsafe"
)

// A QuietConn is a TCP connection that is read and written by raw system calls, as the
// sockets on one host are (socket.go). The socket does not block, so Go need not be told
// of the calls: each would wake its monitor thread when the process was idle before,
// which took a third of the processor's time of a call over a network. Waiting is left
// to Go's poller, with the deadlines of the connection.
type QuietConn struct {
	*net.TCPConn
	raw syscall.RawConn
}

// Quiet makes a connection quiet.
func Quiet(conn *net.TCPConn) (*QuietConn, error) {
	raw, err := conn.SyscallConn()
	return &QuietConn{conn, raw}, err
}

func (c *QuietConn) Read(b []byte) (n int, err error) {
	if len(b) == 0 {
		return 0, nil
	}
	var failed error
	err = c.raw.Read(func(fd uintptr) (done bool) {
		n, done, failed = once(syscall.SYS_READ, fd, b)
		return done
	})
	switch {
	case err != nil:
		return 0, err
	case failed != nil:
		return 0, &net.OpError{Op: "read", Net: "tcp", Source: c.LocalAddr(), Addr: c.RemoteAddr(), Err: os.NewSyscallError("read", failed)}
	case n == 0:
		return 0, io.EOF
	}
	return n, nil
}

func (c *QuietConn) Write(b []byte) (written int, err error) {
	for written < len(b) {
		var n int
		var failed error
		err = c.raw.Write(func(fd uintptr) (done bool) {
			n, done, failed = once(syscall.SYS_WRITE, fd, b[written:])
			return done
		})
		if err == nil && failed != nil {
			err = c.because(failed)
		}
		if err != nil {
			return written, err
		}
		written += n
	}
	return written, nil
}

// TryWrite writes what the kernel takes at once, which may be nothing.
func (c *QuietConn) TryWrite(b []byte) (n int, err error) {
	var failed error
	err = c.raw.Control(func(fd uintptr) { n, _, failed = once(syscall.SYS_WRITE, fd, b) })
	if err == nil && failed != nil {
		err = c.because(failed)
	}
	return n, err
}

func (c *QuietConn) because(err error) error {
	return &net.OpError{Op: "write", Net: "tcp", Source: c.LocalAddr(), Addr: c.RemoteAddr(), Err: os.NewSyscallError("write", err)}
}

// once reads or writes once. It is not done when it would have to wait. Go ignores
// SIGPIPE on sockets.
func once(call, fd uintptr, b []byte) (n int, done bool, err error) {
	if call == syscall.SYS_WRITE {
		order.Add(1)
	} else {
		defer order.Load()
	}
	for {
		r, _, errno := syscall.RawSyscall(call, fd, uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)))
		switch errno {
		case 0:
			return int(r), true, nil
		case syscall.EINTR:
		case syscall.EAGAIN:
			return 0, false, nil
		default:
			return 0, true, errno
		}
	}
}
