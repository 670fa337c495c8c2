// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"sync"
	"syscall"
	"time"

	"oneslot.dev/oneslot/pkcs11"
)

// Heartbeat is how long a call runs before its first sign of life is sent, and
// the time between signs (rule F2).
const Heartbeat = 2 * time.Second

// frameTime is how long a peer may take to complete a frame it has begun.
const frameTime = 20 * time.Second

// keptBuffer is the size of buffer that a connection keeps between calls.
const keptBuffer = 64 << 10

// A Frames is the engine's side of a connection with a module: requests come
// in, one at a time, and replies go out. It is used by one goroutine, but for
// the signs of life that it sends by itself.
type Frames struct {
	conn  *socket
	in    []byte // received, not consumed: in[start:]
	start int
	out   Encoder
	oob   []byte // nil: descriptors are not expected beside frames
	fds   []int  // received beside frames, not taken
	lost  bool   // the last answer was not sent

	mu       sync.Mutex // guards writing, and working
	working  bool       // a call is being answered: signs of life are due
	pulse    Alarm
	interval time.Duration
}

// NewFrames serves the first connection of an application, on which others may
// be attached. It closes it with Close.
func NewFrames(conn *net.UnixConn) *Frames {
	f := newFrames(newSocket(conn))
	f.oob = make([]byte, syscall.CmsgSpace(4*4))
	return f
}

func newFrames(conn *socket) *Frames {
	f := &Frames{conn: conn, in: make([]byte, 0, 4096), interval: Heartbeat}
	f.pulse.Ring = f.beat
	return f
}

// Close ends the connection. Any goroutine may call it.
func (f *Frames) Close() {
	f.conn.Close() // first: a reply may be stuck in it
	f.mu.Lock()
	f.working = false
	f.mu.Unlock()
	f.pulse.Stop()
}

// release closes descriptors that nobody took. The reading goroutine calls it.
func (f *Frames) release() {
	for _, fd := range f.fds {
		syscall.Close(fd)
	}
	f.fds = nil
}

// Next waits for a request. What the call holds is valid until the next one.
// io.EOF is the regular end. From here to Reply signs of life are sent.
func (f *Frames) Next() (Call, error) {
	f.consume()
	return f.next()
}

// ReplyNext sends the answer to the call, as Reply, and waits for the next request,
// as Next. After a call that carried a secret what was received is overwritten.
func (f *Frames) ReplyNext(call Call, secret bool) (Call, error) {
	f.encode(call)
	if secret {
		clear(f.in[:f.start])
	}
	f.consume()
	if len(f.in) > 0 || f.oob != nil { // the next may be there, or bring descriptors
		if err := f.send(); err != nil {
			f.release()
			f.lost = true
			return nil, io.EOF
		}
		return f.next()
	}
	f.answered()
	got, sent, err := f.conn.exchange(f.out.Buf, f.in[:cap(f.in)])
	f.trim()
	if err != nil && !sent {
		f.lost = true
		err = io.EOF // the peer is gone without the answer
	}
	if err != nil {
		return nil, err
	}
	f.in = f.in[:got]
	return f.next()
}

// Lost says whether the last call of ReplyNext failed to send the answer: the peer had
// given up, and takes the call for failed.
func (f *Frames) Lost() bool { return f.lost }

// next returns the request that follows what was consumed.
func (f *Frames) next() (Call, error) {
	frame, err := f.read()
	if err != nil {
		f.release()
		return nil, err
	}
	number := Number(binary.LittleEndian.Uint32(frame))
	call := New(number)
	if call == nil {
		f.release()
		return nil, fmt.Errorf("%w: there is no call %d", ErrMalformed, uint32(number))
	}
	d := NewDecoder(frame[4:])
	call.decodeArgs(d)
	if d.End() != nil {
		f.release()
		return nil, fmt.Errorf("%w: arguments of %v", ErrMalformed, number)
	}
	f.mu.Lock()
	f.working = true
	f.mu.Unlock()
	f.pulse.Set(time.Now().Add(f.interval))
	return call, nil
}

// consume forgets the last request.
func (f *Frames) consume() {
	f.in = f.in[:copy(f.in, f.in[f.start:])]
	f.start = 0
	if len(f.in) == 0 && cap(f.in) > keptBuffer {
		f.in = make([]byte, 0, 4096)
	}
}

// read returns the next frame without its length.
func (f *Frames) read() ([]byte, error) {
	if err := f.fill(4, false); err != nil {
		return nil, err
	}
	n := int(binary.LittleEndian.Uint32(f.in))
	if n < 4 || n > MaxFrame {
		return nil, fmt.Errorf("%w: length %d", ErrMalformed, n)
	}
	if err := f.fill(4+n, true); err != nil {
		return nil, err
	}
	f.start = 4 + n
	return f.in[4 : 4+n], nil
}

// fill reads until n bytes are there. The time for the rest of a frame is bounded.
func (f *Frames) fill(n int, begun bool) error {
	timed := false
	for len(f.in) < n {
		if begun || len(f.in) > 0 {
			if !timed {
				f.conn.SetReadDeadline(time.Now().Add(frameTime))
				timed = true
			}
		}
		if len(f.in) == cap(f.in) {
			// Grow by what has really come, at most doubling: a length
			// that lies takes no memory.
			grown := make([]byte, len(f.in), min(max(n, 4096), 2*cap(f.in)+4096))
			copy(grown, f.in)
			f.in = grown
		}
		got, err := f.receive(f.in[len(f.in):cap(f.in)])
		if err != nil {
			if err == io.EOF && len(f.in) > 0 {
				err = io.ErrUnexpectedEOF
			}
			return err
		}
		f.in = f.in[:len(f.in)+got]
	}
	if timed {
		f.conn.SetReadDeadline(time.Time{})
	}
	return nil
}

// receive reads what is there.
func (f *Frames) receive(into []byte) (int, error) {
	if f.oob == nil {
		return f.conn.Read(into)
	}
	got, oobn, err := f.conn.readBeside(into, f.oob)
	if oobn > 0 {
		f.keep(f.oob[:oobn])
	}
	return got, err
}

// keep remembers descriptors received beside a frame.
func (f *Frames) keep(oob []byte) {
	messages, err := syscall.ParseSocketControlMessage(oob)
	if err != nil {
		return
	}
	for i := range messages {
		if fds, err := syscall.ParseUnixRights(&messages[i]); err == nil {
			f.fds = append(f.fds, fds...)
		}
	}
}

// Attached takes the descriptors that came beside an Attach, as a further
// connection of the application. It is closed with Close.
func (f *Frames) Attached() (*Frames, error) {
	fds := f.fds
	f.fds = nil
	conn, err := adopt(fds)
	if err != nil {
		return nil, fmt.Errorf("attach: %w", err)
	}
	return newFrames(conn), nil
}

// Reply sends the answer to the call.
func (f *Frames) Reply(call Call) error {
	f.encode(call)
	return f.send()
}

// encode makes the answer to the call.
func (f *Frames) encode(call Call) {
	f.out.Buf = f.out.Buf[:0]
	f.out.U32(0)
	f.out.U32(uint32(call.Number()))
	f.out.Ulong(uint64(call.Result()))
	if call.Result().HasReply() {
		call.encodeReply(&f.out)
	}
	if len(f.out.Buf)-4 > MaxFrame {
		// Too large to be carried: an answer must still come.
		f.out.Buf = f.out.Buf[:16]
		binary.LittleEndian.PutUint64(f.out.Buf[8:], uint64(pkcs11.CKR_DEVICE_MEMORY))
	}
	binary.LittleEndian.PutUint32(f.out.Buf, uint32(len(f.out.Buf)-4))
}

// send sends the answer.
func (f *Frames) send() error {
	f.answered()
	_, err := f.conn.Write(f.out.Buf)
	f.trim()
	return err
}

// answered ends the signs of life: the next that is written is the answer.
func (f *Frames) answered() {
	f.mu.Lock()
	f.working = false
	f.mu.Unlock()
	f.pulse.Clear()
}

// trim drops a buffer that grew beyond what a connection should hold on to.
func (f *Frames) trim() {
	if cap(f.out.Buf) > keptBuffer {
		f.out.Buf = nil
	}
}

// beat sends a sign of life while a call is being answered.
func (f *Frames) beat() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.working {
		return
	}
	f.conn.SetWriteDeadline(time.Now().Add(frameTime))
	f.conn.Write([]byte{4, 0, 0, 0, 0, 0, 0, 0})
	f.conn.SetWriteDeadline(time.Time{})
	f.pulse.Set(time.Now().Add(f.interval))
}
