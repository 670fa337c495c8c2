// SPDX-License-Identifier: Apache-2.0

package group

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"oneslot.dev/oneslot/config"
	"oneslot.dev/oneslot/member"
	"oneslot.dev/oneslot/member/fake"
	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/wire"
)

// A process is one application's group. Several share the members of a test,
// and each can be killed between any two of its calls.
type process struct {
	g *Group

	mu     sync.Mutex // guards what follows
	dead   bool
	calls  int
	last   int // the call that is the last one to be executed; -1: none is
	stop   int // the call that is not executed before resumed is closed; -1: none is
	closed sync.WaitGroup

	resumed chan struct{}
}

// launch starts a process on members. It counts its calls from here on.
func launch(t *testing.T, members []*fake.Member, change func(*config.Group), reports ...func(Event)) *process {
	p := &process{last: -1, stop: -1}
	options := config.DefaultGroup("g")
	options.Members = nil
	var gates []member.Member
	for _, m := range members {
		gates = append(gates, &gate{m, p})
		options.Members = append(options.Members, m.Name())
	}
	if change != nil {
		change(&options)
	}
	p.g = New(options, gates, wire.GroupView, func(e Event) {
		for _, report := range reports {
			report(e)
		}
	})
	p.g.Start()
	p.g.Settle(t.Context())
	t.Cleanup(p.end)
	return p
}

// bench is the process as other tests see a group.
func (p *process) bench(t *testing.T, members []*fake.Member) *bench {
	return &bench{t: t, g: p.g, members: members}
}

// stallAfter stops the process, all that it does, once it has made n more calls.
func (p *process) stallAfter(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stop, p.resumed = p.calls+n, make(chan struct{})
}

// resume lets a process that was to stop go on. It dies after n more calls.
func (p *process) resume(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.last = p.calls + n
	if p.stop >= 0 {
		p.stop = -1
		close(p.resumed)
	}
}

// isStopped says whether the process has come to where it stops.
func (p *process) isStopped() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stop >= 0 && p.calls == p.stop
}

// pass waits while the process is stopped.
func (p *process) pass() {
	p.mu.Lock()
	stopped, resumed := p.stop >= 0 && p.calls == p.stop, p.resumed
	p.mu.Unlock()
	if stopped {
		<-resumed
	}
}

// end closes the process, however it came to its end.
func (p *process) end() {
	p.mu.Lock()
	stops := p.stop >= 0
	p.mu.Unlock()
	if stops {
		p.resume(0)
	}
	p.g.Close()
	p.closed.Wait()
}

// killAfter kills the process once it has made n more calls.
func (p *process) killAfter(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.last = p.calls + n
}

func (p *process) isDead() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.dead
}

// step counts a call. It is false if the process is dead before the call.
func (p *process) step() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.dead && p.calls == p.last {
		p.dead = true
		p.closed.Go(p.g.Close)
	}
	if p.dead {
		return false
	}
	p.calls++
	return true
}

// A gate is a member as one process reaches it.
type gate struct {
	member.Member
	process *process
}

var errKilled = errors.New("killed")

func (g *gate) fault() error { return &member.Fault{Member: g.Name(), Sent: true, Err: errKilled} }

func (g *gate) Connect(ctx context.Context) (member.Conn, error) {
	if g.process.isDead() {
		return nil, g.fault()
	}
	conn, err := g.Member.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &gateConn{conn, g}, nil
}

type gateConn struct {
	member.Conn
	gate *gate
}

func (c *gateConn) Open(view wire.View) (member.Session, error) {
	if c.gate.process.isDead() {
		return nil, c.gate.fault()
	}
	s, err := c.Conn.Open(view)
	if err != nil {
		return nil, err
	}
	return &gateSession{s, c}, nil
}

type gateSession struct {
	member.Session
	conn *gateConn
}

// Do runs one call after the other, so that a process can die between them.
func (s *gateSession) Do(ctx context.Context, limits member.Limits, calls ...wire.Call) (int, error) {
	for i, call := range calls {
		s.conn.gate.process.pass()
		if call.Number() != wire.NumberProbe && !s.conn.gate.process.step() {
			return i, s.conn.gate.fault()
		}
		if n, err := s.Session.Do(ctx, limits, call); err != nil {
			return i + n, err
		}
		if s.conn.gate.process.isDead() {
			return i, s.conn.gate.fault()
		}
		if call.Result() != pkcs11.CKR_OK {
			return i + 1, nil
		}
	}
	return len(calls), nil
}

// inBubble runs a test in fake time.
func inBubble(t *testing.T, test func(t *testing.T)) {
	t.Helper()
	synctest.Test(t, test)
}

// afterwards takes every fault away, and has a fresh process bring the members
// together: what is then on them is what became of a history.
func afterwards(t *testing.T, members []*fake.Member) *process {
	t.Helper()
	for _, m := range members {
		m.Script(nil)
		m.Up()
		m.Token.SetPIN(pin)
		m.Token.Freeze(false)
	}
	time.Sleep(time.Hour) // whatever waits for a creator that died waits no longer
	p := launch(t, members, nil)
	b := p.bench(t, members)
	b.login()
	for i := range members {
		b.await(i, Ready)
	}
	synctest.Wait()
	return p
}
