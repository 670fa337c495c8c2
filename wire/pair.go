// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"fmt"
	"net"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// A pair is what turns a socket into two: one that is only read from, and this
// one, that is only written to and that the Go poller does not know. The poller asks
// of each socket whether it can be written, too, and the kernel says so whenever the
// peer has read something: who waits for an answer on the socket of the question
// wakes up once more than needed, at both ends of every call.
type pair struct {
	file *os.File
	raw  syscall.RawConn
	by   time.Time // when writing has to end; zero: when the peer closes
	send func(fd uintptr)

	exchange func(fd uintptr) bool // on the socket that is read from
	question []byte                // of the exchange; nil: it has been written
	err      error                 // of writing it
}

// newPair makes a socket of one to read from and one to write to, whose descriptor
// must block.
func newPair(in *net.UnixConn, out *os.File) (*socket, error) {
	s := newSocket(in)
	raw, err := out.SyscallConn()
	if err != nil {
		return nil, err
	}
	p := &pair{file: out, raw: raw}
	p.send = func(fd uintptr) {
		for !s.writing.send(fd) {
			if s.writing.errno = writable(fd, p.by); s.writing.errno != 0 {
				return
			}
		}
	}
	p.exchange = func(fd uintptr) bool {
		if p.question == nil {
			return s.reading.receive(fd)
		}
		_, p.err = s.Write(p.question)
		p.question = nil
		return p.err != nil
	}
	s.out = p
	return s, nil
}

// exchange writes all of a message and reads what comes in answer to it, where
// nothing may have been left unread. It is not sent if writing failed. A pair does
// not look for the answer before there can be one.
func (s *socket) exchange(question, into []byte) (n int, sent bool, err error) {
	p := s.out
	if p == nil {
		if _, err := s.Write(question); err != nil {
			return 0, false, err
		}
		n, err := s.Read(into)
		return n, true, err
	}
	p.question, p.err = question, nil
	s.reading = transfer{data: into}
	// The poller forgets what it knew of the socket, then the question goes out:
	// so the answer cannot be missed.
	err = s.raw.Read(p.exchange)
	if p.err != nil {
		return 0, false, p.err
	}
	n, err = s.reading.result(err)
	return n, p.question == nil, err
}

// close ends writing that is under way, and waits for nothing.
func (p *pair) close() {
	p.raw.Control(func(fd uintptr) { unix.Shutdown(int(fd), unix.SHUT_RDWR) })
	p.file.Close()
}

// writable waits until the socket takes something, its peer is gone, or the time
// is over. It is for messages larger than the kernel's buffer.
func writable(fd uintptr, by time.Time) syscall.Errno {
	wanted := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLOUT}}
	for {
		ms := -1
		if !by.IsZero() {
			ms = max(0, int(time.Until(by).Milliseconds()))
		}
		switch n, err := unix.Poll(wanted, ms); {
		case n > 0:
			return 0
		case err == nil:
			return syscall.ETIMEDOUT
		case err != unix.EINTR:
			return err.(syscall.Errno)
		}
	}
}

// adopt makes a socket of descriptors that another process passed: one, or one to
// read from and one to write to. They are its own from now on, also after an error.
func adopt(fds []int) (*socket, error) {
	if len(fds) != 1 && len(fds) != 2 {
		for _, fd := range fds {
			syscall.Close(fd)
		}
		return nil, fmt.Errorf("%w: %d descriptors in place of one or two", ErrMalformed, len(fds))
	}
	for _, fd := range fds {
		syscall.CloseOnExec(fd)
	}
	var out *os.File
	if len(fds) == 2 {
		syscall.SetNonblock(fds[1], false)
		out = os.NewFile(uintptr(fds[1]), "session")
	}
	file := os.NewFile(uintptr(fds[0]), "session")
	defer file.Close()
	conn, err := net.FileConn(file)
	if in, ok := conn.(*net.UnixConn); ok {
		if out == nil {
			return newSocket(in), nil
		}
		return newPair(in, out)
	}
	if out != nil {
		out.Close()
	}
	if err == nil {
		conn.Close()
		err = fmt.Errorf("%w: a descriptor is no Unix socket", ErrMalformed)
	}
	return nil, err
}
