// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"io"
	"net"
	"os"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A socket is a Unix socket on the path of every call, or two of them, one for
// each direction (pair.go). It does not block in
// the kernel, so it goes there without telling the Go scheduler: what that does
// around a system call wakes its monitor thread, which costs more than reading
// and writing together.
type socket struct {
	*net.UnixConn // read from; for all that is not reading or writing bytes

	out              *pair // written to; nil: what is read from
	raw              syscall.RawConn
	receive, send    func(fd uintptr) bool
	reading, writing transfer
}

// A transfer is one system call: what it is given, and how it ended.
type transfer struct {
	data    []byte
	control []byte // for descriptors beside the data; nil: none are taken
	n       int
	oobn    int
	errno   syscall.Errno
}

// order tells the race detector what the kernel sees to: who has received bytes
// sees what was written before they were sent. It does not look into raw calls.
var order atomic.Uint64

func newSocket(conn *net.UnixConn) *socket {
	raw, err := conn.SyscallConn()
	if err != nil {
		panic(err) // only of a nil connection
	}
	s := &socket{UnixConn: conn, raw: raw}
	s.receive = func(fd uintptr) bool { return s.reading.receive(fd) }
	s.send = func(fd uintptr) bool { return s.writing.send(fd) }
	return s
}

// Read reads what is there, as io.Reader. One goroutine reads at a time.
func (s *socket) Read(into []byte) (int, error) {
	n, _, err := s.readBeside(into, nil)
	return n, err
}

// readBeside reads what is there and the control messages beside it.
func (s *socket) readBeside(into, control []byte) (n, oobn int, err error) {
	if len(into) == 0 {
		return 0, 0, nil
	}
	s.reading = transfer{data: into, control: control}
	n, err = s.reading.result(s.raw.Read(s.receive))
	return n, s.reading.oobn, err
}

// result is how reading ended, given what the poller says.
func (t *transfer) result(err error) (int, error) {
	switch {
	case err != nil:
		return 0, err
	case t.errno != 0:
		return 0, t.errno
	case t.n == 0:
		return 0, io.EOF
	}
	return t.n, nil
}

// direct has the session answer on the socket by itself for a while. Meanwhile
// it is not the Go poller's, which would wake up for each request. After an
// error the socket is closed.
func (s *socket) direct(session DirectSession) (pending []byte, err error) {
	fd := -1
	if err := s.raw.Control(func(polled uintptr) { fd, err = unix.FcntlInt(polled, unix.F_DUPFD_CLOEXEC, 0) }); err != nil {
		return nil, err
	}
	if err != nil {
		return nil, err
	}
	s.UnixConn.Close()
	if s.out == nil {
		pending, err = session.Direct(uintptr(fd), uintptr(fd))
	} else if gone := s.out.raw.Control(func(out uintptr) { pending, err = session.Direct(uintptr(fd), out) }); gone != nil {
		err = gone
	}
	file := os.NewFile(uintptr(fd), "session")
	defer file.Close()
	if err != nil {
		return nil, err
	}
	conn, err := net.FileConn(file)
	if err != nil {
		return nil, err
	}
	s.UnixConn = conn.(*net.UnixConn)
	s.raw, err = s.UnixConn.SyscallConn()
	return pending, err
}

// Close closes the socket, and ends reading and writing that is under way.
func (s *socket) Close() error {
	if s.out != nil {
		s.out.close()
	}
	return s.UnixConn.Close()
}

// SetWriteDeadline bounds writing, as net.Conn. Who writes sets it.
func (s *socket) SetWriteDeadline(t time.Time) error {
	if s.out == nil {
		return s.UnixConn.SetWriteDeadline(t)
	}
	s.out.by = t
	return nil
}

// Write writes all, as io.Writer. One goroutine writes at a time.
func (s *socket) Write(data []byte) (int, error) {
	t := &s.writing
	for written := 0; written < len(data); written += t.n {
		*t = transfer{data: data[written:]}
		var err error
		if s.out == nil {
			err = s.raw.Write(s.send)
		} else {
			err = s.out.raw.Control(s.out.send)
		}
		if err != nil {
			return written, err
		}
		if t.errno != 0 {
			return written, t.errno
		}
	}
	return len(data), nil
}

// receive is false when there is nothing to read yet.
func (t *transfer) receive(fd uintptr) bool {
	for {
		var n uintptr
		if t.control == nil {
			n, _, t.errno = syscall.RawSyscall(syscall.SYS_READ, fd, uintptr(unsafe.Pointer(&t.data[0])), uintptr(len(t.data)))
		} else {
			v := syscall.Iovec{Base: &t.data[0], Len: uint64(len(t.data))}
			m := syscall.Msghdr{Iov: &v, Iovlen: 1, Control: &t.control[0], Controllen: uint64(len(t.control))}
			n, _, t.errno = syscall.RawSyscall(syscall.SYS_RECVMSG, fd, uintptr(unsafe.Pointer(&m)), syscall.MSG_CMSG_CLOEXEC)
			t.oobn = int(m.Controllen)
		}
		switch t.errno {
		case syscall.EINTR:
			continue
		case syscall.EAGAIN:
			t.errno = 0
			return false
		case 0:
			t.n = int(n)
			order.Load()
		}
		return true
	}
}

// send is false when nothing can be written yet.
func (t *transfer) send(fd uintptr) bool {
	order.Add(1)
	for {
		n, _, errno := syscall.RawSyscall6(syscall.SYS_SENDTO, fd, uintptr(unsafe.Pointer(&t.data[0])), uintptr(len(t.data)),
			syscall.MSG_NOSIGNAL|syscall.MSG_DONTWAIT, 0, 0)
		t.errno = errno
		switch errno {
		case syscall.EINTR:
			continue
		case syscall.EAGAIN:
			t.errno = 0
			return false
		case 0:
			t.n = int(n)
		}
		return true
	}
}
