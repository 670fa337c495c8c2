// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"
	"time"

	"oneslot.dev/oneslot/pkcs11"
)

// ServeSockets answers an engine on the same host until its first connection
// ends. Each message on it brings the socket of a new session. What the vendor's module
// is at then it finishes first, within LastCalls.
func ServeSockets(control *net.UnixConn, host Host) error {
	return serveSockets(control, host, LastCalls)
}

func serveSockets(control *net.UnixConn, host Host, patience time.Duration) error {
	underway := new(Underway)
	defer underway.Finish(patience)
	defer control.Close()
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	view := make([]byte, 1)
	oob := make([]byte, syscall.CmsgSpace(2*4))
	for {
		n, oobn, _, _, err := control.ReadMsgUnix(view, oob)
		if n == 0 && err == nil || errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		conn, err := passed(oob[:oobn])
		if err != nil {
			return err
		}
		go serveSocket(ctx, conn, host, view[0], underway)
	}
}

// passed takes the session's socket that came beside a message.
func passed(oob []byte) (*socket, error) {
	messages, err := syscall.ParseSocketControlMessage(oob)
	if err != nil || len(messages) != 1 {
		return nil, fmt.Errorf("%w: a session without a socket", ErrMalformed)
	}
	fds, err := syscall.ParseUnixRights(&messages[0])
	if err != nil {
		return nil, fmt.Errorf("%w: a session without a socket", ErrMalformed)
	}
	return adopt(fds)
}

// serveSocket answers the messages of one session. A frame that breaks the
// protocol ends the session, and nothing else.
func serveSocket(ctx context.Context, conn *socket, host Host, viewByte byte, underway *Underway) {
	defer conn.Close()
	view := View("")
	for v, b := range viewBytes {
		if b == viewByte {
			view = v
		}
	}
	if view == "" {
		return
	}
	in := make([]byte, 0, 4096)
	if !underway.Begin() {
		return
	}
	session, err := host.Open(view)
	underway.End()
	var refusal pkcs11.RV
	switch {
	case err == nil:
		defer session.Close()
	case !errors.As(err, &refusal):
		unavailable(&in, conn, err)
		return
	}
	answerSocket(ctx, &in, conn, session, refusal, underway)
}

// answerSocket answers the messages of one session until there are no more, and then wipes
// the memory that they came in: whichever way it ends, that may hold a PIN. Without a
// session the first is answered by the refusal.
func answerSocket(ctx context.Context, in *[]byte, conn *socket, session HostSession, refusal pkcs11.RV, underway *Underway) {
	defer wipe(in)
	a := newAnswers(func(p *packet) error {
		_, err := conn.Write(p.data)
		return err
	}, appendFramed)
	defer a.stop()
	direct, _ := session.(DirectSession)
	for {
		frame, err := readFrame(in, conn)
		if err != nil {
			return
		}
		calls, err := parseRequest(frame)
		if err != nil {
			return
		}
		if session == nil {
			a.send(func(buf []byte) []byte { return appendRefusal(buf, refusal) })
			return
		}
		if !underway.Begin() {
			return // nobody waits for its answer any more
		}
		a.begin()
		n, err := run(ctx, session, calls)
		underway.End()
		if err != nil {
			return
		}
		if a.send(func(buf []byte) []byte { return appendAnswers(buf, calls[:n]) }) != nil {
			return
		}
		clear(frame) // it may have held a PIN
		if cap(*in) > keptBuffer {
			*in = make([]byte, 0, 4096)
		}
		*in = (*in)[:0]
		if direct != nil && plain(calls) && underway.Begin() { // without an engine it returns when it has answered
			pending, err := conn.direct(direct)
			underway.End()
			if err != nil {
				return
			}
			*in = append(*in, pending...)
			clear(pending)
		}
	}
}

// unavailable answers the first message with why there is no token. It is read
// first: a socket that closes with something unread loses what was written.
func unavailable(in *[]byte, conn net.Conn, why error) {
	defer wipe(in)
	if _, err := readFrame(in, conn); err == nil {
		conn.Write(appendFramed(nil, func(buf []byte) []byte { return appendUnavailable(buf, why) }))
	}
}

// wipe wipes a buffer, also where it is not in use.
func wipe(buf *[]byte) { clear((*buf)[:cap(*buf)]) }

// readFrame reads a frame into the buffer, where its beginning may be already,
// and returns it without its length. It is valid until the next.
func readFrame(in *[]byte, conn net.Conn) ([]byte, error) {
	n, err := frameLength(in, conn)
	if err != nil {
		return nil, err
	}
	have := len(*in)
	if have > 4+n {
		return nil, fmt.Errorf("%w: a message before the last was answered", ErrMalformed)
	}
	if have == 4+n {
		return (*in)[4:], nil
	}
	conn.SetReadDeadline(time.Now().Add(frameTime))
	for have < 4+n {
		// Memory is taken as bytes come: a length that lies takes none.
		if have == cap(*in) {
			grown := make([]byte, have, min(4+n, 2*cap(*in)))
			copy(grown, *in)
			wipe(in)
			*in = grown
		}
		got, err := conn.Read((*in)[have:min(cap(*in), 4+n)])
		if err != nil {
			return nil, err
		}
		have += got
		*in = (*in)[:have]
	}
	conn.SetReadDeadline(time.Time{})
	return (*in)[4:], nil
}
