// SPDX-License-Identifier: Apache-2.0

package module_test

import (
	"encoding/binary"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"oneslot.dev/oneslot/wire"
)

// The calls that the tests answer (wire/calls.def).
const (
	getInfo        = 3
	getSlotList    = 5
	getSessionInfo = 16
	sign           = 44
	loginUser      = 69
	sessionCancel  = 70
	hello          = 1000
	attach         = 1001
)

const (
	ok             = 0
	sessionClosed  = 0xb0
	sessionInvalid = 0xb3
)

// A testEngine is the other side of the module, in raw bytes, so that it can
// say what no engine should.
type testEngine struct {
	// answer gives the whole reply to a request, header included. What it
	// leaves unanswered (nil) ends the connection.
	answer func(call uint32, args []byte) []byte

	frames  bool            // answers with package wire instead
	framed  func(wire.Call) // fills in what it answers then
	closing uint32          // the call after whose answer the connection ends
	slow    uint32          // the call that is answered after signs of life only

	mu    sync.Mutex // guards what follows
	calls map[uint32]int
	ends  []func() // of the connections
}

// A line is a connection as two sockets, or one that is both.
type line struct{ in, out *net.UnixConn }

func (l line) close() {
	l.in.Close()
	l.out.Close()
}

// serve speaks on one connection, and on those attached to it, until its end.
func (e *testEngine) serve(conn *net.UnixConn) {
	if e.frames {
		e.serveFrames(wire.NewFrames(conn))
		return
	}
	e.speak(line{conn, conn})
}

func (e *testEngine) speak(conn line) {
	defer conn.close()
	e.mu.Lock()
	e.ends = append(e.ends, conn.close)
	e.mu.Unlock()
	for {
		call, args, attached, err := readRequest(conn.in)
		if err != nil {
			return
		}
		e.note(call)
		if call == attach {
			if len(attached) != 2 {
				return
			}
			go e.speak(line{attached[0], attached[1]})
		}
		out := e.answer(call, args)
		if call == e.slow {
			beat(conn.out)
		}
		if out == nil {
			return
		}
		if _, err := conn.out.Write(out); err != nil || call == e.closing {
			return
		}
	}
}

// serveFrames answers as engines do.
func (e *testEngine) serveFrames(f *wire.Frames) {
	defer f.Close()
	e.mu.Lock()
	e.ends = append(e.ends, f.Close)
	e.mu.Unlock()
	for {
		call, err := f.Next()
		if err != nil {
			return
		}
		switch c := call.(type) {
		case *wire.Hello:
			c.Accepted, c.Frame = wire.Version, wire.MaxFrame
		case *wire.Attach:
			attached, err := f.Attached()
			if err != nil {
				return
			}
			go e.serveFrames(attached)
		case *wire.GetSessionInfo:
			c.Info.Slot = 7
		}
		if e.framed != nil {
			e.framed(call)
		}
		if f.Reply(call) != nil {
			return
		}
	}
}

// beat keeps the module waiting for longer than the impatient build would.
func beat(conn *net.UnixConn) {
	for range 6 {
		conn.Write(alive)
		time.Sleep(500 * time.Millisecond)
	}
}

func (e *testEngine) note(call uint32) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.calls == nil {
		e.calls = map[uint32]int{}
	}
	e.calls[call]++
}

// hangUp ends all connections at once.
func (e *testEngine) hangUp() {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, end := range e.ends {
		end()
	}
	e.ends = nil
}

// count tells how often a call came.
func (e *testEngine) count(call uint32) int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.calls[call]
}

// readRequest returns one frame, and the sockets that came with it.
func readRequest(conn *net.UnixConn) (call uint32, args []byte, attached []*net.UnixConn, err error) {
	var head [8]byte
	oob := make([]byte, 64)
	n, oobn, _, _, err := conn.ReadMsgUnix(head[:], oob)
	if err == nil && n == 0 {
		err = io.EOF
	}
	if err == nil {
		_, err = io.ReadFull(conn, head[n:])
	}
	if err != nil {
		return 0, nil, nil, err
	}
	if messages, _ := syscall.ParseSocketControlMessage(oob[:oobn]); len(messages) == 1 {
		fds, _ := syscall.ParseUnixRights(&messages[0])
		for _, fd := range fds {
			file := os.NewFile(uintptr(fd), "attached")
			socket, err := net.FileConn(file)
			file.Close()
			if err != nil {
				return 0, nil, nil, err
			}
			attached = append(attached, socket.(*net.UnixConn))
		}
	}
	args = make([]byte, binary.LittleEndian.Uint32(head[:])-4)
	_, err = io.ReadFull(conn, args)
	return binary.LittleEndian.Uint32(head[4:]), args, attached, err
}

// reply builds a frame from a body of integers and bytes.
func reply(call uint32, rv uint64, body ...any) []byte {
	out := binary.LittleEndian.AppendUint32(make([]byte, 4), call)
	out = binary.LittleEndian.AppendUint64(out, rv)
	for _, v := range body {
		switch v := v.(type) {
		case int:
			out = binary.LittleEndian.AppendUint64(out, uint64(v))
		case byte:
			out = append(out, v)
		case []byte:
			out = append(out, v...)
		}
	}
	binary.LittleEndian.PutUint32(out, uint32(len(out)-4))
	return out
}

var alive = []byte{4, 0, 0, 0, 0, 0, 0, 0}

// polite answers like an engine with one session, whose info tells the process
// that the engine runs in.
func polite(call uint32, args []byte) []byte {
	switch call {
	case hello:
		return reply(call, ok, 1, 16<<20)
	case attach:
		return reply(call, ok)
	case getSessionInfo:
		return reply(call, ok, 7, 0, 4, os.Getpid())
	case sign:
		return reply(call, ok, byte(1), 3, []byte("sig"))
	}
	return reply(call, sessionClosed)
}

// listen serves the test engine on a socket and returns its path.
func (e *testEngine) listen(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "oneslot") // t.TempDir can be too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	path := filepath.Join(dir, "engine.sock")
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.AcceptUnix()
			if err != nil {
				return
			}
			go e.serve(conn)
		}
	}()
	return path
}

// privateEngine is the test binary in the role of `oneslot engine --fd 3`. It
// writes down how it was started, if asked to, before it answers.
func privateEngine() {
	if path := os.Getenv("ONESLOT_TEST_REPORT"); path != "" {
		writeReport(path)
	}
	fd, err := strconv.Atoi(os.Args[3])
	if err != nil {
		os.Exit(2)
	}
	conn, err := net.FileConn(os.NewFile(uintptr(fd), "module"))
	if err != nil {
		os.Exit(2)
	}
	(&testEngine{answer: polite}).serve(conn.(*net.UnixConn))
}
