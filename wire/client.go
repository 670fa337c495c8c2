// SPDX-License-Identifier: Apache-2.0

package wire

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
)

// A Client is the engine's side of a connection with a member process. The
// connection is used until it breaks and never made again.
type Client struct {
	grpc     *grpc.ClientConn
	lastSign atomic.Int64 // Unix nanoseconds

	done  chan struct{}
	once  sync.Once
	cause error // written before done is closed
}

// ErrClosed is the cause of a connection that its owner closed.
var ErrClosed = errors.New("connection closed")

// NewClient speaks on the connection, which it closes with Close.
func NewClient(conn net.Conn) (*Client, error) {
	c := &Client{done: make(chan struct{})}
	c.lastSign.Store(time.Now().UnixNano())
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
		grpc.WithInitialWindowSize(streamWindow),
		grpc.WithInitialConnWindowSize(connectionWindow),
		grpc.WithDefaultCallOptions(
			grpc.ForceCodecV2(codec{}),
			grpc.MaxCallRecvMsgSize(maxMessage), grpc.MaxCallSendMsgSize(maxMessage)))
	if err != nil {
		conn.Close()
		return nil, err
	}
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

// fail marks the connection as gone. The first cause stays.
func (c *Client) fail(cause error) {
	c.once.Do(func() {
		c.cause = cause
		close(c.done)
		// gRPC is told from outside: fail may run inside its transport.
		go c.grpc.Close()
	})
}

// Close ends the connection and every stream on it, at once.
func (c *Client) Close() { c.fail(ErrClosed) }

// CloseFor is Close with a cause for those who are waiting.
func (c *Client) CloseFor(cause error) { c.fail(cause) }

// Done is closed when the connection is gone.
func (c *Client) Done() <-chan struct{} { return c.done }

// Err says why the connection is gone, nil while it is not.
func (c *Client) Err() error {
	select {
	case <-c.done:
		return c.cause
	default:
		return nil
	}
}

// LastSign is when the member was last heard of.
func (c *Client) LastSign() time.Time { return time.Unix(0, c.lastSign.Load()) }

// A Stream is a session on the member's token. It serves one caller at a time.
type Stream struct {
	client *Client
	stream grpc.ClientStream
	cancel context.CancelFunc
	out    packet

	timer *time.Timer
	mu    sync.Mutex
	cause error // why the stream was given up, if it was
}

// Open starts a stream. It waits for nothing.
func (c *Client) Open(view View) (*Stream, error) {
	if err := c.Err(); err != nil {
		return nil, err
	}
	ctx := metadata.AppendToOutgoingContext(context.Background(),
		headerVersion, strconv.Itoa(Version), headerView, string(view))
	ctx, cancel := context.WithCancel(ctx)
	stream, err := c.grpc.NewStream(ctx, &streamDesc, "/"+serviceName+"/"+methodName)
	if err != nil {
		cancel()
		return nil, c.explain(err)
	}
	s := &Stream{client: c, stream: stream, cancel: cancel}
	s.timer = time.AfterFunc(time.Hour, func() { s.giveUp(errors.New("no sign of life in time")) })
	s.timer.Stop()
	return s, nil
}

// explain prefers the reason why the connection is gone to gRPC's words.
func (c *Client) explain(err error) error {
	if cause := c.Err(); cause != nil {
		return cause
	}
	return err
}

// giveUp ends the stream. The first cause stays.
func (s *Stream) giveUp(cause error) {
	s.mu.Lock()
	if s.cause == nil {
		s.cause = cause
	}
	s.mu.Unlock()
	s.cancel()
}

// Close ends the session.
func (s *Stream) Close() {
	s.timer.Stop()
	s.giveUp(ErrClosed)
}

// Do sends the calls as one message and waits for the answer, at most silence
// without a sign of life and stuck in all. It returns how many calls were
// answered. After an error the stream is closed; sent tells whether the
// member may have seen the calls.
func (s *Stream) Do(ctx context.Context, silence, stuck time.Duration, calls ...Call) (n int, sent bool, err error) {
	if ctx.Done() != nil {
		if err := ctx.Err(); err != nil {
			return 0, false, err
		}
		stop := context.AfterFunc(ctx, func() { s.giveUp(ctx.Err()) })
		defer stop()
	}
	begin := time.Now()
	s.timer.Reset(min(silence, stuck))
	defer s.timer.Stop()

	s.out.data = appendRequest(s.out.data[:0], calls)
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
		s.client.lastSign.Store(now.UnixNano())
		if len(in.data) != 1 || in.data[0] != messageAlive {
			break
		}
		if left := stuck - now.Sub(begin); left > 0 {
			s.timer.Reset(min(silence, left))
		} else {
			return 0, true, s.fail(fmt.Errorf("still at work after %v", stuck))
		}
	}
	n, err = parseAnswers(in.data, calls)
	if err != nil {
		return 0, true, s.fail(err)
	}
	return n, true, nil
}

// fail closes the stream and returns the best explanation.
func (s *Stream) fail(err error) error {
	if told, ok := status.FromError(err); ok {
		err = errors.New(told.Message())
	}
	s.giveUp(err)
	if cause := s.client.Err(); cause != nil {
		return cause
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cause
}
