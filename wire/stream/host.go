// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"errors"
	"io"
	"math"
	"net"
	"strconv"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/wire"
)

// Serve answers a connection with an engine, over gRPC, until it ends.
func Serve(conn net.Conn, host wire.Host) error { return Service{Host: host}.Serve(conn) }

// A Service answers engines over gRPC.
type Service struct {
	Host wire.Host

	// Streams is how many streams a connection may have; 0: no limit. An
	// engine waits where it would have more, so the limit is for peers that
	// mean harm: the number of sessions is the Host's to refuse.
	Streams uint32

	// Memory is how many bytes of this process's heap may be in use while what came
	// on the connection is worked on; 0: no limit. Beyond it the connection ends.
	Memory uint64

	// Message is how long a request may take from its first byte to its last, and an
	// answer until the peer has taken it; 0: no limit. Beyond it the connection ends.
	Message time.Duration

	// Draining is closed when engines shall take their work elsewhere. They
	// are told, and served until they go. Nil: never.
	Draining <-chan struct{}
}

// Serve answers a connection until it ends. It is an error if this end ended it.
func (s Service) Serve(conn net.Conn) error {
	gone := make(chan struct{})
	var once sync.Once
	meter := newMeter(conn, s)
	watched := &watchedConn{Conn: meter, broken: func(error) { once.Do(func() { close(gone) }) }}
	limit := s.Streams
	if limit == 0 {
		limit = math.MaxUint32
	}
	server := grpc.NewServer(
		grpc.MaxConcurrentStreams(limit),
		// A peer that is gone without a word, or stopped in the middle of a
		// frame, does not answer these.
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: pingAfter, Timeout: pingTimeout}),
		grpc.ConnectionTimeout(pingTimeout), // to the end of HTTP/2's own greeting
		grpc.ForceServerCodecV2(codec{}),
		grpc.MaxRecvMsgSize(maxMessage), grpc.MaxSendMsgSize(maxMessage), grpc.MaxHeaderListSize(maxHeaders),
		grpc.InitialWindowSize(streamWindow), grpc.InitialConnWindowSize(connectionWindow))
	server.RegisterService(&grpc.ServiceDesc{
		ServiceName: serviceName,
		HandlerType: (*wire.Host)(nil),
		Streams: []grpc.StreamDesc{{
			StreamName: methodName, ClientStreams: true, ServerStreams: true,
			Handler: func(host any, stream grpc.ServerStream) error { return serveSession(host.(wire.Host), stream, meter) },
		}, {
			StreamName: noticesName, ServerStreams: true,
			Handler: func(_ any, stream grpc.ServerStream) error { return s.serveNotices(stream) },
		}},
	}, s.Host)
	go func() {
		<-gone
		server.Stop()
	}()
	err := server.Serve(&oneConn{conn: watched, gone: gone})
	if cause := meter.ended(); cause != nil {
		return cause
	}
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
func serveSession(host wire.Host, stream grpc.ServerStream, meter *meter) error {
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
	var in packet
	receive := func() ([]byte, error) {
		in.trim()
		err := stream.RecvMsg(&in)
		return in.data, err
	}
	err = wire.ServeMessages(stream.Context(), session, refusal, receive, func(message []byte) error {
		return meter.answer(stream, len(message), func() error { return stream.SendMsg(&packet{message}) })
	})
	if errors.Is(err, wire.ErrMalformed) {
		return status.Error(codes.InvalidArgument, err.Error())
	}
	return err
}

// accept reads the stream's header.
func accept(stream grpc.ServerStream) (wire.View, error) {
	header, _ := metadata.FromIncomingContext(stream.Context())
	if v := header.Get(headerVersion); len(v) != 1 || v[0] != strconv.Itoa(wire.Version) {
		return "", status.Errorf(codes.FailedPrecondition, "this member speaks version %d of the protocol, and the engine version %.16q: have both run the same release", wire.Version, v)
	}
	v := header.Get(headerView)
	if len(v) != 1 || !wire.View(v[0]).Known() {
		return "", status.Errorf(codes.InvalidArgument, "there is no view %v", v)
	}
	return wire.View(v[0]), nil
}
