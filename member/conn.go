// SPDX-License-Identifier: Apache-2.0

package member

import (
	"context"
	"errors"
	"fmt"
	"time"

	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/wire"
)

// describeTimeout bounds the first question, within which the vendor module is
// loaded and the token found. It counts silence; a slow module sends heartbeats.
const describeTimeout = 20 * time.Second

// processConn is a connection to a member process, however it was reached.
type processConn struct {
	name    string
	client  wire.Client
	token   wire.Description
	release func()
}

// Greet makes a Conn of a fresh connection to a member process: it asks the
// token to describe itself. release ends what carries the connection (a
// process, say); it is called once, when the connection is gone.
func Greet(ctx context.Context, name string, client wire.Client, release func()) (Conn, error) {
	c := &processConn{name: name, client: client, release: release}
	if err := c.describe(ctx); err != nil {
		c.Close()
		release()
		return nil, err
	}
	go func() {
		<-client.Done()
		release()
	}()
	return c, nil
}

func (c *processConn) describe(ctx context.Context) error {
	session, err := c.Open(wire.TokenView)
	if err != nil {
		return err
	}
	defer session.Close()
	var call wire.Describe
	_, err = session.Do(ctx, Limits{describeTimeout, describeTimeout}, &call)
	var fault *Fault
	switch {
	case errors.As(err, &fault):
		return &Fault{Member: c.name, Err: fault.Err} // nothing was asked of the token yet
	case err != nil:
		return err
	case call.RV != pkcs11.CKR_OK:
		return &Fault{Member: c.name, Err: fmt.Errorf("the token does not describe itself: %w", call.RV)}
	}
	c.token = call.Token
	c.token.Domain = append([]byte{}, call.Token.Domain...)
	return nil
}

func (c *processConn) Token() *wire.Description { return &c.token }
func (c *processConn) LastSign() time.Time      { return c.client.LastSign() }
func (c *processConn) Done() <-chan struct{}    { return c.client.Done() }
func (c *processConn) Err() error               { return c.client.Err() }
func (c *processConn) Close()                   { c.client.Close() }

// Draining is closed when the member asks for its work to be taken elsewhere
// (rule N4). Members on this host do not: it is nil.
func (c *processConn) Draining() <-chan struct{} {
	if d, ok := c.client.(interface{ Draining() <-chan struct{} }); ok {
		return d.Draining()
	}
	return nil
}

func (c *processConn) Open(view wire.View) (Session, error) {
	stream, err := c.client.Open(view)
	if err != nil {
		return nil, &Fault{Member: c.name, Err: err}
	}
	return &processSession{c.name, stream}, nil
}

type processSession struct {
	member string
	stream wire.Stream
}

func (s *processSession) Do(ctx context.Context, limits Limits, calls ...wire.Call) (int, error) {
	n, sent, err := s.stream.Do(ctx, limits.Silence, limits.Stuck, calls...)
	if err != nil {
		return n, &Fault{Member: s.member, Sent: sent, Err: err}
	}
	return n, nil
}

func (s *processSession) Close() { s.stream.Close() }
