// SPDX-License-Identifier: Apache-2.0

// Package fake is a member in memory for tests: a token that behaves, on a way
// that does what a script says. Faults come in pairs, before and after the
// token acted, so that a test says which.
package fake

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"oneslot.dev/oneslot/member"
	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/wire"
)

// Outcome is what becomes of a message.
type Outcome int

// The outcomes.
const (
	Answered   Outcome = iota
	LostBefore         // the calls never reached the token, and the connection broke
	LostAfter          // the token executed the calls, its answer was lost with the connection
	Hang               // nothing comes back
	Beat               // nothing comes back but heartbeats
	Refused            // the token answers the RV of Refusal
	Crash              // the calls take the token's process down, as a module does that cannot stand them
)

// A Member is a fake member.
type Member struct {
	name  string
	Token *Token

	mu      sync.Mutex
	down    error
	script  func(wire.Call) Outcome
	refusal pkcs11.RV
	conns   []*conn
	epoch   uint64
	tries   int
	opened  int
	delay   time.Duration
}

// New makes a member with a token of its own.
func New(name, pin string) *Member {
	return &Member{name: name, Token: NewToken("serial-"+name, pin), refusal: pkcs11.CKR_DEVICE_ERROR}
}

// Script decides on each call from now on; nil lets all through.
func (m *Member) Script(script func(wire.Call) Outcome) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.script = script
}

// Once applies the outcome to the first call of this number, then no more.
func (m *Member) Once(n wire.Number, o Outcome) {
	var done atomic.Bool
	m.Script(func(c wire.Call) Outcome {
		if c.Number() != n || !done.CompareAndSwap(false, true) {
			return Answered
		}
		return o
	})
}

// Refuse sets what Refused answers.
func (m *Member) Refuse(rv pkcs11.RV) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.refusal = rv
}

// Down breaks the connections and refuses new ones until Up.
func (m *Member) Down() {
	m.mu.Lock()
	m.down = errors.New("connection refused")
	conns := m.conns
	m.conns = nil
	m.mu.Unlock()
	for _, c := range conns {
		c.fail(errors.New("connection reset"))
	}
}

// Delay puts the member so far away: half of the time for a message, half for the
// answer. What is on its way when the connection ends still arrives.
func (m *Member) Delay(roundTrip time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.delay = roundTrip
}

// Drain asks for the work on the present connections to be taken elsewhere.
func (m *Member) Drain() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, c := range m.conns {
		close(c.draining)
	}
	m.conns = nil
}

// Up ends Down.
func (m *Member) Up() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.down = nil
}

// Tries is how many connections were attempted.
func (m *Member) Tries() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.tries
}

// Sessions is how many sessions were opened on the member so far.
func (m *Member) Sessions() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.opened
}

// Name is the member's name.
func (m *Member) Name() string { return m.name }

// Connect connects, or fails while the member is down.
func (m *Member) Connect(context.Context) (member.Conn, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.tries++
	if m.down != nil {
		return nil, &member.Fault{Member: m.name, Err: m.down}
	}
	m.epoch++
	c := &conn{member: m, life: newLife(m.Token, m.epoch), done: make(chan struct{}), draining: make(chan struct{}), heard: time.Now()}
	var call wire.Describe
	(&session{life: c.life}).Describe(context.Background(), &call)
	c.token = call.Token
	m.conns = append(m.conns, c)
	return c, nil
}

type conn struct {
	member *Member
	life   *life
	token  wire.Description
	done   chan struct{}

	draining chan struct{}

	mu    sync.Mutex
	cause error
	heard time.Time
}

func (c *conn) Token() *wire.Description { return &c.token }
func (c *conn) Done() <-chan struct{}    { return c.done }

// Draining is closed by Drain.
func (c *conn) Draining() <-chan struct{} { return c.draining }

func (c *conn) Close() { c.fail(errors.New("closed")) }

func (c *conn) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.cause
}

func (c *conn) LastSign() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.heard
}

func (c *conn) hear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.heard = time.Now()
}

func (c *conn) fail(cause error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cause == nil {
		c.cause = cause
		close(c.done)
	}
}

func (c *conn) Open(wire.View) (member.Session, error) {
	c.member.mu.Lock()
	c.member.opened++
	c.member.mu.Unlock()
	if err := c.Err(); err != nil {
		return nil, &member.Fault{Member: c.member.name, Err: err}
	}
	return &memberSession{c, &session{life: c.life}}, nil
}

type memberSession struct {
	conn  *conn
	token *session
}

func (s *memberSession) Close() { s.token.Close() }

// Do runs the calls as the script says.
func (s *memberSession) Do(ctx context.Context, limits member.Limits, calls ...wire.Call) (n int, err error) {
	m := s.conn.member
	if err := errors.Join(s.conn.Err(), ctx.Err()); err != nil {
		return 0, &member.Fault{Member: m.name, Err: err}
	}
	m.mu.Lock()
	script, refusal, delay := m.script, m.refusal, m.delay
	m.mu.Unlock()
	if delay > 0 {
		time.Sleep(delay / 2)
		defer func() {
			time.Sleep(delay - delay/2)
			if gone := s.conn.Err(); gone != nil && err == nil {
				n, err = n-1, &member.Fault{Member: m.name, Sent: true, Err: gone}
			}
		}()
	}
	for i, call := range calls {
		outcome := Answered
		if script != nil {
			outcome = script(call)
		}
		switch outcome {
		case LostBefore:
			s.conn.fail(errors.New("connection reset"))
			return i, &member.Fault{Member: m.name, Sent: true, Err: errors.New("connection reset")}
		case LostAfter:
			s.run(call)
			s.conn.fail(errors.New("connection reset"))
			return i, &member.Fault{Member: m.name, Sent: true, Err: errors.New("connection reset")}
		case Crash:
			s.conn.fail(errors.New("process ended"))
			return i, &member.Fault{Member: m.name, Sent: true, Crashed: true, Err: errors.New("process ended")}
		case Hang, Beat:
			return i, s.wait(ctx, outcome, limits)
		case Refused:
			wire.Refuse(call, refusal)
		default:
			s.run(call)
		}
		if call.Result() != pkcs11.CKR_OK {
			s.conn.hear()
			return i + 1, nil
		}
	}
	s.conn.hear()
	return len(calls), nil
}

// wait blocks as long as a real connection would.
func (s *memberSession) wait(ctx context.Context, o Outcome, limits member.Limits) error {
	fault := func(err error) error { return &member.Fault{Member: s.conn.member.name, Sent: true, Err: err} }
	stuck := time.After(limits.Stuck)
	for {
		silence := limits.Silence
		if o == Beat {
			silence = wire.Heartbeat
		}
		select {
		case <-time.After(silence):
			if o == Hang {
				return fault(fmt.Errorf("no sign of life for %v", limits.Silence))
			}
			s.conn.hear()
		case <-stuck:
			return fault(errors.New("stuck"))
		case <-s.conn.done:
			return fault(s.conn.Err())
		case <-ctx.Done():
			return fault(ctx.Err())
		}
	}
}

func (s *memberSession) run(call wire.Call) {
	t := s.conn.member.Token
	t.mu.Lock()
	defer t.mu.Unlock()
	t.executed[call.Number()]++
	if !wire.DispatchCryptoki(context.Background(), s.token, call) {
		wire.DispatchToken(context.Background(), s.token, call)
	}
}
