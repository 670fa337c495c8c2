// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"errors"
	"io"
	"math"
	"net"
	"strconv"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"oneslot.dev/oneslot/pkcs11"
)

// ServeStreams answers a connection with an engine, over gRPC, until it ends.
func ServeStreams(conn net.Conn, host Host) error { return Service{Host: host}.Serve(conn) }

// A Service answers engines over gRPC.
type Service struct {
	Host Host

	// Streams is how many streams a connection may have; 0: no limit. An
	// engine waits where it would have more, so the limit is for peers that
	// mean harm: the number of sessions is the Host's to refuse.
	Streams uint32

	// Draining is closed when engines shall take their work elsewhere. They
	// are told, and served until they go. Nil: never.
	Draining <-chan struct{}
}

// Serve answers a connection until it ends.
func (s Service) Serve(conn net.Conn) error {
	gone := make(chan struct{})
	var once sync.Once
	watched := &watchedConn{Conn: conn, broken: func(error) { once.Do(func() { close(gone) }) }}
	limit := s.Streams
	if limit == 0 {
		limit = math.MaxUint32
	}
	server := grpc.NewServer(
		grpc.MaxConcurrentStreams(limit),
		// A peer that is gone without a word, or stopped in the middle of a
		// frame, does not answer these.
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: pingAfter, Timeout: pingTimeout}),
		grpc.ForceServerCodecV2(codec{}),
		grpc.MaxRecvMsgSize(maxMessage), grpc.MaxSendMsgSize(maxMessage),
		grpc.InitialWindowSize(streamWindow), grpc.InitialConnWindowSize(connectionWindow))
	server.RegisterService(&grpc.ServiceDesc{
		ServiceName: serviceName,
		HandlerType: (*Host)(nil),
		Streams: []grpc.StreamDesc{{
			StreamName: methodName, ClientStreams: true, ServerStreams: true,
			Handler: func(host any, stream grpc.ServerStream) error { return serveSession(host.(Host), stream) },
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
	answers := newAnswers(func(p *packet) error { return stream.SendMsg(p) }, unframed)
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
		n, err := run(stream.Context(), session, calls)
		if err != nil {
			return status.Error(codes.InvalidArgument, err.Error())
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
		return "", status.Errorf(codes.FailedPrecondition, "this member speaks version %d of the protocol, and the engine version %.16q: have both run the same release", Version, v)
	}
	v := header.Get(headerView)
	if len(v) != 1 || viewBytes[View(v[0])] == 0 {
		return "", status.Errorf(codes.InvalidArgument, "there is no view %v", v)
	}
	return View(v[0]), nil
}

// unframed is the frame of gRPC's messages: gRPC has its own.
func unframed(buf []byte, fill func([]byte) []byte) []byte { return fill(buf) }
