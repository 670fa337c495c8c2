// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"net"
	"testing"
	"time"

	"oneslot.dev/oneslot/wire"
)

func TestAnEngineHearsThatItsMemberDrains(t *testing.T) {
	ours, theirs := net.Pipe()
	draining := make(chan struct{})
	go Service{Host: echo{}, Draining: draining}.Serve(theirs)
	client := New(ours)
	defer client.Close()
	session, err := client.Open(wire.GroupView)
	if err != nil {
		t.Fatal(err)
	}
	call := func() {
		t.Helper()
		if _, _, err := session.Do(t.Context(), time.Minute, time.Minute, &wire.GenerateRandom{RandomRoom: wire.Room{Capacity: 8}}); err != nil {
			t.Fatal(err)
		}
	}
	call()
	told := client.(interface{ Draining() <-chan struct{} }).Draining()
	select {
	case <-told:
		t.Fatal("told before anybody said so")
	default:
	}
	close(draining)
	<-told
	call() // what is under way goes on
	if client.Err() != nil {
		t.Fatal(client.Err())
	}
}

// A peer that takes nothing in keeps a write waiting. Close ends it.
func TestCloseEndsAWriteThatHangs(t *testing.T) {
	ours, theirs := net.Pipe() // nobody reads at the other end
	defer theirs.Close()
	watched := &deadlineConn{Conn: ours, set: make(chan time.Time, 8)}
	client := New(watched)
	ended := make(chan error, 1)
	go func() {
		session, err := client.Open(wire.GroupView)
		if err == nil {
			_, _, err = session.Do(t.Context(), time.Minute, time.Minute, &wire.GenerateRandom{RandomRoom: wire.Room{Capacity: 8}})
		}
		ended <- err
	}()
	client.Close()
	if err := <-ended; err == nil {
		t.Fatal("a call succeeded on a connection without a peer")
	}
	select {
	case at := <-watched.set:
		if !at.Before(time.Now()) {
			t.Errorf("the deadline of the connection is %v", at)
		}
	default:
		t.Error("writes that hang go on")
	}
}

// deadlineConn notes deadlines.
type deadlineConn struct {
	net.Conn
	set chan time.Time
}

func (c *deadlineConn) SetDeadline(at time.Time) error {
	select {
	case c.set <- at:
	default:
	}
	return c.Conn.SetDeadline(at)
}
