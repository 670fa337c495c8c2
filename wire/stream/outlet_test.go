// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"errors"
	"net"
	"strings"
	"testing"
	"time"
)

// TLS answers by itself whoever changes keys, as often as that happens: a peer that does
// nothing else, and takes nothing, ends the connection, and fills no memory.
func TestWhatIsLeftBehindIsLimited(t *testing.T) {
	ours, theirs := loopback(t)
	defer ours.Close()
	over := make(chan error, 1)
	go func() { over <- Serve(theirs, echo{}) }()
	out := theirs.(*outlet)
	ours.Write(frame(ping, 0, ""))
	if k, _, _, err := newReader(ours).next(); k != pong || err != nil {
		t.Fatal(k, err)
	}
	piece := make([]byte, 1<<10)
	var err error
	for n := 0; err == nil && n < 64<<20; n += len(piece) {
		_, err = out.Write(piece)
	}
	if !errors.Is(err, errFlood) {
		t.Errorf("writing ended with %v", err)
	}
	select {
	case err := <-over:
		if !errors.Is(err, errFlood) {
			t.Errorf("the connection ended with %v", err)
		}
	case <-time.After(ample):
		t.Error("the connection goes on")
	}
}

// Whoever hears late that the connection has taken everything does not write more than it
// takes now.
func TestAWakeUpThatComesLate(t *testing.T) {
	ours, theirs := net.Pipe() // nobody reads
	defer theirs.Close()
	defer ours.Close()
	l := newLink(ours, 0, func(error) {})
	l.send(queued(1, strings.Repeat("x", 9*maxPart)), nil)
	left := func() int {
		l.out.mu.Lock()
		defer l.out.mu.Unlock()
		return len(l.out.rest)
	}
	before := left()
	l.resume()
	if after := left(); before == 0 || after != before {
		t.Errorf("%d bytes were left behind, and then %d", before, after)
	}
}
