// SPDX-License-Identifier: Apache-2.0

// Package local runs a member as a child process on the same host: one
// oneslot-member with the vendor module in it, spoken to over a socket pair.
package local

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"syscall"

	"oneslot.dev/oneslot/member"
	"oneslot.dev/oneslot/wire"
)

// Member is a member that runs as a child process.
type Member struct {
	name    string
	program string
	args    []string
	env     []string
}

// Config says which token a member process is to serve.
type Config struct {
	Name    string
	Program string   // the oneslot-member program
	Module  string   // the vendor's PKCS#11 library
	Token   string   // the token's label, or empty
	Serial  string   // its serial number, or empty
	Env     []string // the environment of the process, "NAME=value"
}

// New returns a member that is started at each Connect.
func New(c Config) *Member {
	return &Member{
		name:    c.Name,
		program: c.Program,
		args:    []string{"child", "--fd", "3", "--module", c.Module, "--token", c.Token, "--serial", c.Serial},
		env:     c.Env,
	}
}

// Name is the member's name in the configuration.
func (m *Member) Name() string { return m.name }

// Connect starts the process. It is killed when the connection is closed, and
// ends by itself when the connection is left, or gone.
func (m *Member) Connect(ctx context.Context) (member.Conn, error) {
	ours, theirs, err := wire.SocketPair(syscall.SOCK_SEQPACKET)
	if err != nil {
		return nil, &member.Fault{Member: m.name, Err: err}
	}
	defer theirs.Close()
	p, err := m.start(theirs)
	if err != nil {
		ours.Close()
		return nil, &member.Fault{Member: m.name, Err: fmt.Errorf("the member process does not start: %w", err)}
	}
	var greeted atomic.Bool
	conn, err := member.Greet(ctx, m.name, wire.NewSockets(ours), func() {
		if !greeted.Load() && errors.Is(ctx.Err(), context.Canceled) {
			p.left.Store(true) // nothing is wrong with it
		}
		p.end()
	})
	if err != nil {
		if !p.left.Load() {
			p.within(endPatience) // the next one may find its HSM free
		}
		return nil, err
	}
	greeted.Store(true)
	return &localConn{conn, p}, nil
}

// localConn adds what only a local member has: a process.
type localConn struct {
	member.Conn
	process *process
}

// Close ends the connection and kills the process: it may be silent, or stuck.
func (c *localConn) Close() {
	c.Conn.Close()
	c.process.end()
}

// Leave ends the connection, and lets the process finish what its vendor's module is at.
func (c *localConn) Leave() {
	c.process.left.Store(true)
	c.Close()
}

// Open opens a session whose faults tell of a crash.
func (c *localConn) Open(view wire.View) (member.Session, error) {
	s, err := c.Conn.Open(view)
	if err != nil {
		return nil, err
	}
	return &localSession{s, c}, nil
}

type localSession struct {
	member.Session
	conn *localConn
}

func (s *localSession) Do(ctx context.Context, limits member.Limits, calls ...wire.Call) (int, error) {
	n, err := s.Session.Do(ctx, limits, calls...)
	var fault *member.Fault
	if errors.As(err, &fault) && fault.Sent &&
		(errors.Is(err, wire.ErrEnded) || errors.Is(err, wire.ErrProcessEnded) || errors.Is(err, wire.ErrClosed)) {
		fault.Crashed = s.conn.process.crashed()
	}
	return n, err
}

// PID is the process ID of the member process.
func (c *localConn) PID() int { return c.process.Process.Pid }
