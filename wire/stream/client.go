// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"oneslot.dev/oneslot/wire"
)

// streamClient is a wire.Client whose streams are those of gRPC, multiplexed over one
// connection: the carrier for networks.
type streamClient struct {
	grpc     *grpc.ClientConn
	conn     net.Conn
	draining chan struct{} // closed when the member asks for it
	wire.Life
}

// New speaks gRPC on the connection, which it closes with Close. The
// connection is used until it breaks and never made again.
func New(conn net.Conn) (wire.Client, error) {
	c := &streamClient{conn: conn, draining: make(chan struct{}), Life: wire.NewLife()}
	watched := &watchedConn{Conn: conn, broken: c.fail}
	var used atomic.Bool
	dial := func(context.Context, string) (net.Conn, error) {
		if used.Swap(true) {
			return nil, errors.New("the connection was lost")
		}
		return watched, nil
	}
	var err error
	c.grpc, err = grpc.NewClient("passthrough:///member",
		grpc.WithContextDialer(dial),
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDisableRetry(),
		grpc.WithDisableServiceConfig(),
		grpc.WithIdleTimeout(0),
		grpc.WithMaxHeaderListSize(maxHeaders),
		grpc.WithInitialWindowSize(streamWindow),
		grpc.WithInitialConnWindowSize(connectionWindow),
		grpc.WithDefaultCallOptions(
			grpc.ForceCodecV2(codec{}),
			grpc.MaxCallRecvMsgSize(maxMessage), grpc.MaxCallSendMsgSize(maxMessage)))
	if err != nil {
		conn.Close()
		return nil, err
	}
	go c.listen()
	return c, nil
}

// watchedConn tells when gRPC gives the connection up.
type watchedConn struct {
	net.Conn
	broken func(error)
	cause  atomic.Pointer[error]
}

func (w *watchedConn) Read(b []byte) (int, error) {
	n, err := w.Conn.Read(b)
	if err != nil {
		w.cause.CompareAndSwap(nil, &err)
	}
	return n, err
}

func (w *watchedConn) Write(b []byte) (int, error) {
	n, err := w.Conn.Write(b)
	if err != nil {
		w.cause.CompareAndSwap(nil, &err)
	}
	return n, err
}

func (w *watchedConn) Close() error {
	err := w.Conn.Close()
	cause := errors.New("connection lost")
	if first := w.cause.Load(); first != nil {
		cause = fmt.Errorf("connection lost: %w", *first)
	}
	w.broken(cause)
	return err
}

// fail marks the connection as gone. gRPC is told from outside: fail may run
// inside its transport.
func (c *streamClient) fail(cause error) {
	if c.End(cause) {
		// Whatever hangs in a write to a peer that takes nothing ends now.
		c.conn.SetDeadline(time.Unix(1, 0))
		go c.grpc.Close()
	}
}

// Close ends the connection and every stream on it, at once.
func (c *streamClient) Close() { c.fail(wire.ErrClosed) }

// grpcStream is a session over gRPC.
type grpcStream struct {
	client *streamClient
	ctx    context.Context // of the stream
	cancel context.CancelFunc
	stream grpc.ClientStream // nil before the first message
	out    packet

	timer *time.Timer
	limit wire.Limit // that the timer rings for
	mu    sync.Mutex
	cause error // why the stream was given up, if it was
}

// Open makes a session, whose stream begins with its first message: that may have to
// wait, when the member has as many as it takes, and a message has an end to its wait.
func (c *streamClient) Open(view wire.View) (wire.Stream, error) {
	if err := c.Err(); err != nil {
		return nil, err
	}
	ctx := metadata.AppendToOutgoingContext(context.Background(),
		headerVersion, strconv.Itoa(wire.Version), headerView, string(view))
	ctx, cancel := context.WithCancel(ctx)
	s := &grpcStream{client: c, ctx: ctx, cancel: cancel}
	s.timer = time.AfterFunc(time.Hour, func() { s.giveUp(s.limit.Exceeded()) })
	s.timer.Stop()
	return s, nil
}

// giveUp ends the stream. The first cause stays.
func (s *grpcStream) giveUp(cause error) {
	s.mu.Lock()
	if s.cause == nil {
		s.cause = cause
	}
	s.mu.Unlock()
	s.cancel()
}

// Close ends the session.
func (s *grpcStream) Close() {
	s.timer.Stop()
	s.giveUp(wire.ErrClosed)
}

// Do sends the calls as one message and waits for the answer, at most silence
// without a sign of life and stuck in all. It returns how many calls were
// answered. After an error the stream is closed; sent tells whether the
// member may have seen the calls.
func (s *grpcStream) Do(ctx context.Context, silence, stuck time.Duration, calls ...wire.Call) (n int, sent bool, err error) {
	if ctx.Done() != nil {
		if err := ctx.Err(); err != nil {
			return 0, false, err
		}
		stop := context.AfterFunc(ctx, func() { s.giveUp(ctx.Err()) })
		defer stop()
	}
	begin := time.Now()
	s.limit.Begin()
	s.timer.Reset(min(silence, stuck))
	defer s.timer.Stop()

	if err := s.client.Err(); err != nil {
		return 0, false, s.fail(err)
	}
	if s.stream == nil {
		if s.stream, err = s.client.grpc.NewStream(s.ctx, &streamDesc, "/"+serviceName+"/"+methodName); err != nil {
			return 0, false, s.fail(err)
		}
	}
	s.out.data = wire.AppendRequest(s.out.data[:0], calls)
	defer s.out.trim()
	if err := s.stream.SendMsg(&s.out); err != nil {
		return 0, false, s.fail(err)
	}
	var in packet // taken anew each time: the reply stays the caller's
	for {
		if err := s.stream.RecvMsg(&in); err != nil {
			return 0, true, s.fail(err)
		}
		now := time.Now()
		s.client.Heard(now)
		if !wire.IsAlive(in.data) {
			break
		}
		s.timer.Reset(s.limit.Next(silence, stuck-now.Sub(begin), stuck))
	}
	n, err = wire.ParseAnswers(in.data, calls)
	if err != nil {
		return 0, true, s.fail(err)
	}
	return n, true, nil
}

// maxReason bounds what a peer can have this end log and show, in bytes.
const maxReason = 1 << 10

// fail closes the stream and returns the best explanation.
func (s *grpcStream) fail(err error) error {
	if told, ok := status.FromError(err); ok {
		err = errors.New(wire.OneLine(told.Message(), maxReason)) // the peer's words
	}
	s.giveUp(err)
	if cause := s.client.Err(); cause != nil {
		return cause
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cause
}
