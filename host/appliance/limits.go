// SPDX-License-Identifier: Apache-2.0

package appliance

import (
	"fmt"
	"net"
	"sync"

	"oneslot.dev/oneslot/wire"
)

// counters is how many connections there are, by what they are limited by.
type counters struct {
	mu        sync.Mutex // guards what follows
	halfOpen  int
	all       int
	halfBy    map[string]int // half-open ones by address
	byAddress map[string]int
	byClient  map[string]int
}

func newCounters() *counters {
	return &counters{halfBy: map[string]int{}, byAddress: map[string]int{}, byClient: map[string]int{}}
}

// A ticket is the place of one connection in the counters.
type ticket struct {
	counters *counters
	address  string // without the port
	client   string // once admitted
	admitted bool
	left     bool
}

// enter counts a connection from its acceptance on. It is an error if there are
// too many; nothing is counted then.
func (c *counters) enter(limits *Limits, from net.Addr) (*ticket, error) {
	address, _, err := net.SplitHostPort(from.String())
	if err != nil {
		address = from.String()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.all >= limits.Connections:
		return nil, fmt.Errorf("there are %d connections (limits: connections)", c.all)
	case c.byAddress[address] >= limits.PerAddress:
		return nil, fmt.Errorf("there are %d connections from this address (limits: connections_per_address)", c.byAddress[address])
	case c.halfBy[address] >= limits.HalfOpenPerAddress:
		return nil, fmt.Errorf("%d connections from this address are in their handshake (limits: half_open_per_address)", c.halfBy[address])
	case c.halfOpen >= limits.HalfOpen:
		return nil, fmt.Errorf("%d connections are in their handshake (limits: half_open)", c.halfOpen)
	}
	c.all++
	c.byAddress[address]++
	c.halfOpen++
	c.halfBy[address]++
	return &ticket{counters: c, address: address}, nil
}

// admit counts the connection as a client's. It is a *wire.Refusal if that
// client has too many.
func (t *ticket) admit(limits *Limits, client string) error {
	c := t.counters
	c.mu.Lock()
	defer c.mu.Unlock()
	if t.admitted || t.left {
		return &wire.Refusal{Code: wire.RefusedOutOfOrder, Text: "admitted already"}
	}
	if n := c.byClient[client]; n >= limits.PerClient {
		return &wire.Refusal{Code: wire.RefusedFull, Text: fmt.Sprintf("client %s has %d connections: close some, or have the appliance's limit connections_per_client raised", client, n)}
	}
	t.admitted, t.client = true, client
	c.halfOpen--
	less(c.halfBy, t.address)
	c.byClient[client]++
	return nil
}

// leave ends the connection in the counters.
func (t *ticket) leave() {
	c := t.counters
	c.mu.Lock()
	defer c.mu.Unlock()
	if t.left {
		return
	}
	t.left = true
	c.all--
	less(c.byAddress, t.address)
	if t.admitted {
		less(c.byClient, t.client)
	} else {
		c.halfOpen--
		less(c.halfBy, t.address)
	}
}

// less keeps no entry for what is gone: peers choose the keys.
func less(count map[string]int, key string) {
	if count[key]--; count[key] == 0 {
		delete(count, key)
	}
}

func (c *counters) now() (all, halfOpen int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.all, c.halfOpen
}
