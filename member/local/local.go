// SPDX-License-Identifier: Apache-2.0

// Package local runs a member as a child process on the same host: one
// oneslot-member with the vendor module in it, spoken to over a socket pair.
package local

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

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
// ends by itself when the connection is gone.
func (m *Member) Connect(ctx context.Context) (member.Conn, error) {
	ours, theirs, err := wire.SocketPair(syscall.SOCK_SEQPACKET)
	if err != nil {
		return nil, &member.Fault{Member: m.name, Err: err}
	}
	defer theirs.Close()
	process := exec.Command(m.program, m.args...)
	process.Env = m.env
	process.ExtraFiles = []*os.File{theirs}
	process.Dir = "/"
	// A group of its own: what a terminal sends to the application is not
	// for the token.
	process.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := process.Start(); err != nil {
		ours.Close()
		return nil, &member.Fault{Member: m.name, Err: fmt.Errorf("the member process does not start: %w", err)}
	}
	ended := make(chan struct{})
	go func() {
		process.Wait() // sets ProcessState
		close(ended)
	}()
	var once sync.Once
	kill := func() {
		once.Do(func() {
			process.Process.Kill()
			<-ended
		})
	}
	conn, err := member.Greet(ctx, m.name, wire.NewSockets(ours), kill)
	if err != nil {
		return nil, err
	}
	return &localConn{Conn: conn, pid: process.Process.Pid, crashed: func() bool {
		select {
		case <-ended:
			return crashed(process.ProcessState)
		case <-time.After(endPatience):
			return false
		}
	}}, nil
}

// localConn adds what only a local member has: a process.
type localConn struct {
	member.Conn
	pid     int
	crashed func() bool // waits for the end of the process, which has begun
}

// endPatience is how long a process may take from closing its sockets to its end.
const endPatience = 2 * time.Second

// crashed says whether a process ended by its own fault: Go ends with a status
// after a signal in C code. SIGKILL and SIGTERM come from outside.
func crashed(p *os.ProcessState) bool {
	status, ok := p.Sys().(syscall.WaitStatus)
	if !ok || p.Success() {
		return false
	}
	return !status.Signaled() || status.Signal() != syscall.SIGKILL && status.Signal() != syscall.SIGTERM
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
		fault.Crashed = s.conn.crashed()
	}
	return n, err
}

// PID is the process ID of the member process.
func (c *localConn) PID() int { return c.pid }
