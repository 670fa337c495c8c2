// SPDX-License-Identifier: Apache-2.0

package group

import (
	"context"
	"sync"
	"sync/atomic"

	"oneslot.dev/oneslot/member"
	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/wire"
)

// A link is a connection to a member, from its making to its end: one epoch.
// Handles of the member's objects mean nothing beyond it (rule H2).
type link struct {
	group *Group
	seat  *seat
	conn  member.Conn
	epoch uint64 // unique within the group
	view  wire.View

	// anchor is open as long as the link is, so that the token keeps the
	// login when every other session is closed (field-F7). It serves login,
	// sync and other work behind the scenes, one at a time.
	anchor member.Session
	turn   chan struct{}

	// entered: the token was given a login in this connection.
	entered atomic.Bool
	proven  atomic.Bool // it has taken a PIN on this connection after a wrong try of ours

	// used counts the calls under way and the sessions that are held.
	used atomic.Int64

	enrolled []string // the token's roster (roster.go); guarded by Group.mu
	forgot   []record // the notes about tokens that were given up; likewise
	learned  bool     // both were read; likewise
	examined bool     // the form of its signatures was looked at (assure.go); likewise

	mu   sync.Mutex // guards idle
	idle []member.Session
}

func (g *Group) newLink(s *seat, conn member.Conn, epoch uint64) (*link, error) {
	l := &link{group: g, seat: s, conn: conn, epoch: epoch, view: g.viewOf(), turn: make(chan struct{}, 1)}
	var err error
	l.anchor, err = conn.Open(l.view)
	return l, err
}

// useOnly says whether this client may not write on the member.
func (l *link) useOnly() bool {
	about := l.conn.Token()
	return about.UseOnly || about.Token.Flags&pkcs11.CKF_WRITE_PROTECTED != 0
}

// take returns a session which nothing is active in.
func (l *link) take() (member.Session, error) {
	l.mu.Lock()
	if n := len(l.idle); n > 0 {
		s := l.idle[n-1]
		l.idle = l.idle[:n-1]
		l.mu.Unlock()
		return s, nil
	}
	l.mu.Unlock()
	return l.conn.Open(l.view)
}

// give puts a session back.
func (l *link) give(s member.Session) {
	l.mu.Lock()
	l.idle = append(l.idle, s)
	l.mu.Unlock()
}

// do runs calls in some session, which is put back or, if its state is no
// longer known, closed.
func (l *link) do(ctx context.Context, limits member.Limits, calls ...wire.Call) (int, error) {
	l.used.Add(1)
	defer l.used.Add(-1)
	s, err := l.take()
	if err != nil {
		return 0, err
	}
	n, err := s.Do(ctx, limits, calls...)
	switch {
	case err != nil: // the session is closed already
	case clean(calls, n):
		l.give(s)
	default:
		s.Close()
	}
	return n, err
}

// clean says whether nothing is active in a session after these calls. A token
// may keep an operation active whose last part failed (field-J4).
func clean(calls []wire.Call, n int) bool {
	failed := calls[n-1]
	if failed.Result() == pkcs11.CKR_OK {
		return true
	}
	// A session that could not be opened said so, and ended.
	if failed.Result() == pkcs11.CKR_SESSION_COUNT {
		return false
	}
	switch failed.Number() {
	case wire.NumberSignInit, wire.NumberVerifyInit, wire.NumberEncryptInit, wire.NumberDecryptInit, wire.NumberDigestInit,
		wire.NumberSignRecoverInit, wire.NumberVerifyRecoverInit, wire.NumberGenerateRandom, wire.NumberSeedRandom:
		return failed.Result() != pkcs11.CKR_OPERATION_ACTIVE && failed.Result() != pkcs11.CKR_SESSION_HANDLE_INVALID
	}
	return failed.Number().Class() == wire.Ask
}

// background runs calls on the anchor, one caller at a time.
func (l *link) background(ctx context.Context, limits member.Limits, calls ...wire.Call) (int, error) {
	l.used.Add(1)
	defer l.used.Add(-1)
	select {
	case l.turn <- struct{}{}:
		defer func() { <-l.turn }()
	case <-l.conn.Done():
		return 0, &member.Fault{Member: l.seat.member.Name(), Err: l.conn.Err()}
	case <-ctx.Done():
		return 0, &member.Fault{Member: l.seat.member.Name(), Err: ctx.Err()}
	}
	return l.anchor.Do(ctx, limits, calls...)
}

// close gives the connection up and ends every call on it. Where the group is closed
// nothing needs to be wrong with the member: it may be in the middle of a login.
func (l *link) close() {
	if l.group.ctx.Err() != nil {
		l.leave()
	} else {
		l.conn.Close()
	}
}

// leave ends the connection to a member that nothing is wrong with.
func (l *link) leave() { member.Leave(l.conn) }
