// SPDX-License-Identifier: Apache-2.0

// Package member is one HSM as a group sees it: a token somewhere, which can be
// connected to, asked, and lost. It does not know groups, applications or
// virtual handles. Its implementations stand in local (a child process), remote
// (an appliance) and fake (a script for tests); membertest holds the contract.
package member

import (
	"context"
	"fmt"
	"time"

	"oneslot.dev/oneslot/wire"
)

// A Member is a token that is configured, reachable or not.
type Member interface {
	// Name is the member's name in the configuration.
	Name() string

	// Connect starts a new connection, and with it a new epoch: sessions,
	// login and handles of an earlier connection mean nothing on it. It
	// returns when the token has been found and described, or with a Fault
	// when ctx ends first. It never retries.
	Connect(ctx context.Context) (Conn, error)
}

// A Deadline is when something ends without which a member cannot be connected
// with any more. A Member may have a method Deadlines() []Deadline; it opens no
// connection.
type Deadline struct {
	What    string // what ends: "certificate of this client"
	End     time.Time
	Warning string // what an operator has to do about it, when it is time to
}

// Deadlines are what of a member ends some day. Files may be read.
func Deadlines(m Member) []Deadline {
	if d, ok := m.(interface{ Deadlines() []Deadline }); ok {
		return d.Deadlines()
	}
	return nil
}

// Dangers are what is unsafe about a member on this host, and what to do about it. A Member
// may have a method Dangers() []string; it opens no connection. Files may be read.
func Dangers(m Member) []string {
	if d, ok := m.(interface{ Dangers() []string }); ok {
		return d.Dangers()
	}
	return nil
}

// A Conn is one connection to a member. The token's login is a property of the
// connection (PKCS#11 2.40, 5.6: login is per application).
type Conn interface {
	// Token is what the token said of itself when the connection was made.
	Token() *wire.Description

	// Open opens a session on the token. It costs no round trip: an error of
	// the token (CKR_SESSION_COUNT …) is the answer to the first call.
	Open(view wire.View) (Session, error)

	// LastSign is when the member was last heard of: an answer or a heartbeat.
	LastSign() time.Time

	// Done is closed when the connection is gone. Err then says why.
	Done() <-chan struct{}
	Err() error

	// A Conn may have a method Draining() <-chan struct{}, closed when the
	// member asks for its work to be taken elsewhere (rule N4), and a method
	// Leave(), which is for those that Leave tells of.

	// Close ends the connection at once, together with every call under way
	// on it, whatever the member is doing. It may be called more than once.
	Close()
}

// Leave ends a connection as Close, at once, but not because anything is wrong with the
// member: a process that serves it alone may finish what its vendor's module is at, and is
// not killed in the middle of that. Nobody waits for it.
func Leave(c Conn) {
	if l, ok := c.(interface{ Leave() }); ok {
		l.Leave()
	} else {
		c.Close()
	}
}

// A Session is a session on the member's token. It serves one caller at a time.
type Session interface {
	// Do sends calls as one message and waits for the answer. The calls run
	// in order until one does not return CKR_OK; those that ran hold their
	// RV and reply, which are the caller's. The result is the number of
	// calls that ran. An error is always a *Fault, and the session is then
	// closed: its state is not known.
	//
	// The member must give a sign of life every limits.Silence, and answer
	// within limits.Stuck however often it does.
	Do(ctx context.Context, limits Limits, calls ...wire.Call) (int, error)

	// Close closes the session and ends what was active in it.
	Close()
}

// Limits bound one message to a member (rules F1, F2).
type Limits struct {
	Silence time.Duration // longest time without an answer or a heartbeat
	Stuck   time.Duration // longest time in all
}

// A Fault is a failure of the member or of the way to it, as opposed to an
// answer of the token.
type Fault struct {
	Member string
	Sent   bool // the calls may have been executed; the answer was lost
	Err    error

	// Crashed says that the vendor's module took its process down while the
	// calls were with it: they may be what it cannot stand. That somebody
	// killed the process is no crash. Only local members can tell.
	Crashed bool
}

func (f *Fault) Error() string {
	if f.Sent {
		return fmt.Sprintf("member %s: answer lost: %v", f.Member, f.Err)
	}
	return fmt.Sprintf("member %s: not reached: %v", f.Member, f.Err)
}

func (f *Fault) Unwrap() error { return f.Err }
