// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"oneslot.dev/oneslot/pkcs11"
)

// A Host is the token behind a connection.
type Host interface {
	// Open opens a session on the token. A pkcs11.RV as error is what the
	// token answered, and the answer to the first call of the session. Any
	// other error says in words why there is no token; it ends the stream.
	Open(view View) (HostSession, error)
}

// A HostSession answers the calls of one session, one at a time. What a call
// holds is valid until the method returns; a reply must stay valid until the
// next call.
type HostSession interface {
	Cryptoki
	Token
	Close()
}

// Serve answers a connection with an engine until it ends.
func Serve(conn net.Conn, host Host) error {
	gone := make(chan struct{})
	var once sync.Once
	watched := &watchedConn{Conn: conn, broken: func(error) { once.Do(func() { close(gone) }) }}
	server := grpc.NewServer(
		grpc.ForceServerCodecV2(codec{}),
		grpc.MaxRecvMsgSize(maxMessage), grpc.MaxSendMsgSize(maxMessage),
		grpc.InitialWindowSize(streamWindow), grpc.InitialConnWindowSize(connectionWindow))
	server.RegisterService(&grpc.ServiceDesc{
		ServiceName: serviceName,
		HandlerType: (*Host)(nil),
		Streams: []grpc.StreamDesc{{
			StreamName: methodName, ClientStreams: true, ServerStreams: true,
			Handler: func(host any, stream grpc.ServerStream) error { return serveSession(host.(Host), stream) },
		}},
	}, host)
	go func() {
		<-gone
		server.Stop()
	}()
	err := server.Serve(&oneConn{conn: watched, gone: gone})
	select {
	case <-gone:
		return nil
	default:
		return err
	}
}

// oneConn is a listener that accepts one connection and ends with it.
type oneConn struct {
	conn net.Conn
	gone <-chan struct{}
}

func (l *oneConn) Accept() (net.Conn, error) {
	if conn := l.conn; conn != nil {
		l.conn = nil
		return conn, nil
	}
	<-l.gone
	return nil, io.EOF
}

func (l *oneConn) Close() error   { return nil }
func (l *oneConn) Addr() net.Addr { return &net.UnixAddr{Name: "member", Net: "unix"} }

// serveSession answers the messages of one stream.
func serveSession(host Host, stream grpc.ServerStream) error {
	view, err := accept(stream)
	if err != nil {
		return err
	}
	session, err := host.Open(view)
	var refusal pkcs11.RV
	switch {
	case err == nil:
		defer session.Close()
	case !errors.As(err, &refusal):
		return status.Error(codes.Unavailable, err.Error())
	}
	answers := newAnswers(stream)
	defer answers.stop()
	var in packet
	for {
		if err := stream.RecvMsg(&in); err != nil {
			return nil // the engine closed the session, or is gone
		}
		calls, err := parseRequest(in.data)
		if err != nil {
			return status.Error(codes.InvalidArgument, err.Error())
		}
		if session == nil {
			return answers.send(func(buf []byte) []byte { return appendRefusal(buf, refusal) })
		}
		answers.begin()
		n, err := run(stream, session, calls)
		if err != nil {
			return err
		}
		err = answers.send(func(buf []byte) []byte { return appendAnswers(buf, calls[:n]) })
		if err != nil {
			return err
		}
		clear(in.data) // it may have held a PIN
		in.trim()
	}
}

// accept reads the stream's header.
func accept(stream grpc.ServerStream) (View, error) {
	header, _ := metadata.FromIncomingContext(stream.Context())
	if v := header.Get(headerVersion); len(v) != 1 || v[0] != strconv.Itoa(Version) {
		return "", status.Errorf(codes.FailedPrecondition, "this member speaks version %d of the protocol, not %v", Version, v)
	}
	v := header.Get(headerView)
	if len(v) != 1 || (View(v[0]) != GroupView && View(v[0]) != TokenView) {
		return "", status.Errorf(codes.InvalidArgument, "there is no view %v", v)
	}
	return View(v[0]), nil
}

// run has the session answer the calls in order until one fails.
func run(stream grpc.ServerStream, session HostSession, calls []Call) (int, error) {
	for i, c := range calls {
		if !DispatchCryptoki(stream.Context(), session, c) && !DispatchToken(stream.Context(), session, c) {
			return 0, status.Error(codes.InvalidArgument, fmt.Sprintf("a member does not answer %v", c.Number()))
		}
		if c.Result() != pkcs11.CKR_OK {
			return i + 1, nil
		}
	}
	return len(calls), nil
}

// answers sends what goes back on a stream: replies, and signs of life while
// one is worked on.
type answers struct {
	stream grpc.ServerStream
	out    packet
	alive  packet

	mu      sync.Mutex // guards sending, and working
	working bool
	pulse   *time.Timer
}

func newAnswers(stream grpc.ServerStream) *answers {
	a := &answers{stream: stream, alive: packet{[]byte{messageAlive}}}
	a.pulse = time.AfterFunc(time.Hour, a.beat)
	a.pulse.Stop()
	return a
}

func (a *answers) begin() {
	a.mu.Lock()
	a.working = true
	a.pulse.Reset(Heartbeat)
	a.mu.Unlock()
}

func (a *answers) stop() {
	a.mu.Lock()
	a.working = false
	a.mu.Unlock()
	a.pulse.Stop()
}

func (a *answers) send(write func([]byte) []byte) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.working = false
	a.pulse.Stop()
	a.out.data = write(a.out.data[:0])
	err := a.stream.SendMsg(&a.out)
	// gRPC may still be sending these bytes when the next reply is written:
	// the engine answers only after it has them, so the buffer is free then.
	a.out.trim()
	return err
}

func (a *answers) beat() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.working {
		a.stream.SendMsg(&a.alive)
		a.pulse.Reset(Heartbeat)
	}
}
