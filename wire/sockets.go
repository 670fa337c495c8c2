// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// socketClient is a Client on the same host: the carrier for member processes.
// Every session has a socket of its own, so the goroutine that asks is the one
// that reads the answer, and closing the socket ends any wait. The first
// connection passes the sockets on and shows by its end that the process is gone.
type socketClient struct {
	control *net.UnixConn
	Life

	mu       sync.Mutex // guards sessions
	sessions map[*socketStream]struct{}
}

// The views as the first connection carries them: one byte beside the socket.
var viewBytes = map[View]byte{GroupView: 'g', ExportView: 'x', TokenView: 't'}

// Known says whether there is such a view.
func (v View) Known() bool { return viewBytes[v] != 0 }

// NewSockets speaks on the connection, which must keep the boundaries of
// messages (SOCK_SEQPACKET), and closes it with Close.
func NewSockets(control *net.UnixConn) Client {
	c := &socketClient{control: control, Life: NewLife(), sessions: make(map[*socketStream]struct{})}
	go c.watch()
	return c
}

// watch waits for the end of the first connection. The member says nothing on it.
func (c *socketClient) watch() {
	_, err := c.control.Read(make([]byte, 1))
	if err == nil || errors.Is(err, io.EOF) {
		err = ErrProcessEnded
	}
	c.fail(fmt.Errorf("connection lost: %w", err))
}

func (c *socketClient) fail(cause error) {
	if !c.End(cause) {
		return
	}
	c.control.Close()
	c.mu.Lock()
	defer c.mu.Unlock()
	for s := range c.sessions {
		s.conn.Close()
	}
	c.sessions = nil
}

// Close ends the connection and every session on it, at once.
func (c *socketClient) Close() { c.fail(ErrClosed) }

// Open passes the member a socket for a session.
func (c *socketClient) Open(view View) (Stream, error) {
	if err := c.Err(); err != nil {
		return nil, err
	}
	conn, theirs, err := newSession()
	if err != nil {
		return nil, err
	}
	defer closeAll(theirs)
	s := &socketStream{client: c, conn: conn, in: make([]byte, 0, 4096)}
	s.late.Ring = s.expire
	c.mu.Lock()
	if c.sessions == nil {
		c.mu.Unlock()
		conn.Close()
		return nil, c.Err()
	}
	c.sessions[s] = struct{}{}
	c.mu.Unlock()
	rights := syscall.UnixRights(int(theirs[0].Fd()), int(theirs[1].Fd()))
	if _, _, err := c.control.WriteMsgUnix([]byte{viewBytes[view]}, rights, nil); err != nil {
		s.Close()
		c.fail(fmt.Errorf("connection lost: %w", err))
		return nil, c.Err()
	}
	return s, nil
}

// newSession returns the engine's end of a session's socket, and what the member
// reads from and writes to.
func newSession() (*socket, []*os.File, error) {
	replies, theirOut, err := SocketPair(syscall.SOCK_STREAM)
	if err != nil {
		return nil, nil, err
	}
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		replies.Close()
		theirOut.Close()
		return nil, nil, fmt.Errorf("no socket pair: %w", err)
	}
	theirs := []*os.File{os.NewFile(uintptr(fds[1]), "member"), theirOut}
	conn, err := newPair(replies, os.NewFile(uintptr(fds[0]), "member"))
	if err != nil {
		closeAll(theirs)
		return nil, nil, err
	}
	return conn, theirs, nil
}

func closeAll(files []*os.File) {
	for _, f := range files {
		f.Close()
	}
}

// SocketPair returns both ends of a new connection: ours, and one to pass to
// another process. Both are closed on exec.
func SocketPair(kind int) (ours *net.UnixConn, theirs *os.File, err error) {
	fds, err := syscall.Socketpair(syscall.AF_UNIX, kind|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("no socket pair: %w", err)
	}
	file := os.NewFile(uintptr(fds[0]), "member")
	conn, err := net.FileConn(file)
	file.Close()
	if err != nil {
		syscall.Close(fds[1])
		return nil, nil, fmt.Errorf("no socket pair: %w", err)
	}
	return conn.(*net.UnixConn), os.NewFile(uintptr(fds[1]), "member"), nil
}

// socketStream is a session over a socket of its own.
type socketStream struct {
	client *socketClient
	conn   *socket
	out    []byte
	in     []byte // received, not consumed
	late   Alarm
	silent atomic.Bool // the alarm rang
	limit  Limit       // that it rings for
}

// expire ends a call that has waited too long.
func (s *socketStream) expire() {
	s.silent.Store(true)
	s.conn.Close()
}

// Close ends the session.
func (s *socketStream) Close() {
	s.client.mu.Lock()
	delete(s.client.sessions, s)
	s.client.mu.Unlock()
	s.late.Stop()
	s.conn.Close()
}

// Do sends calls as one message and waits for the answer.
func (s *socketStream) Do(ctx context.Context, silence, stuck time.Duration, calls ...Call) (n int, sent bool, err error) {
	if ctx.Done() != nil {
		if err := ctx.Err(); err != nil {
			return 0, false, err
		}
		stop := context.AfterFunc(ctx, func() { s.conn.Close() })
		defer stop()
	}
	begin := time.Now()
	s.limit.Begin()
	s.late.Set(begin.Add(min(silence, stuck)))
	defer s.late.Clear()
	s.out = appendFramed(s.out[:0], func(buf []byte) []byte { return AppendRequest(buf, calls) })
	// A frame that was written in part is not executed: the member acts on
	// whole ones.
	got, sent, err := s.conn.exchange(s.out, s.in[:cap(s.in)])
	if err != nil {
		return 0, sent, s.fail(ctx, err)
	}
	s.in = s.in[:got]
	if cap(s.out) > keptBuffer {
		s.out = nil
	}
	for {
		frame, err := s.read()
		if err != nil {
			return 0, true, s.fail(ctx, err)
		}
		now := time.Now()
		s.client.Heard(now)
		if IsAlive(frame) {
			s.late.Set(now.Add(s.limit.Next(silence, stuck-now.Sub(begin), stuck)))
			continue
		}
		n, err := ParseAnswers(frame, calls)
		if err != nil {
			return 0, true, s.fail(ctx, err)
		}
		return n, true, nil
	}
}

// fail closes the session and returns the best explanation.
func (s *socketStream) fail(ctx context.Context, err error) error {
	s.Close()
	switch {
	case s.client.Err() != nil:
		return s.client.Err()
	case ctx.Err() != nil:
		return ctx.Err()
	case s.silent.Load():
		return s.limit.Exceeded()
	case errors.Is(err, io.EOF):
		return ErrEnded
	}
	return err
}

// read returns the next frame without its length, in memory of its own: the
// reply is the caller's.
func (s *socketStream) read() ([]byte, error) {
	n, err := frameLength(&s.in, s.conn)
	if err != nil {
		return nil, err
	}
	frame := make([]byte, n)
	have := copy(frame, s.in[4:])
	s.in = s.in[:copy(s.in, s.in[4+have:])]
	_, err = io.ReadFull(s.conn, frame[have:])
	return frame, err
}

// frameLength reads until the length of a frame is in the buffer, and checks it.
func frameLength(in *[]byte, conn net.Conn) (int, error) {
	for len(*in) < 4 {
		got, err := conn.Read((*in)[len(*in):cap(*in)])
		if err != nil {
			return 0, err
		}
		*in = (*in)[:len(*in)+got]
	}
	n := binary.LittleEndian.Uint32(*in)
	if n == 0 || n > MaxFrame {
		return 0, fmt.Errorf("%w: length %d", ErrMalformed, n)
	}
	return int(n), nil
}

// appendFramed appends what write appends, with its length as u32 before it.
func appendFramed(buf []byte, write func([]byte) []byte) []byte {
	at := len(buf)
	buf = write(append(buf, 0, 0, 0, 0))
	binary.LittleEndian.PutUint32(buf[at:], uint32(len(buf)-at-4))
	return buf
}
