// SPDX-License-Identifier: Apache-2.0

package appliance

import (
	"fmt"
	"net"
	"sync"

	"oneslot.dev/oneslot/wire"
)

// counters is how many connections there are, by what they are limited by: those
// that are half-open, and those that were admitted. A client that may come in, but
// for their number, is told so, which takes a process; so the limits of the half-open
// ones hold for it, and there are never more processes than both allow. The zero value
// counts none.
type counters struct {
	mu        sync.Mutex // guards what follows
	halfOpen  int
	halfBy    map[string]int // half-open ones by address
	admitted  int
	byAddress map[string]int
	byClient  map[string]int
}

// A ticket is the place of one connection in the counters.
type ticket struct {
	counters *counters
	address  string // without the port
	client   string // once admitted
	admitted bool
	left     bool
}

// enter counts a connection from its acceptance on. It is an error if too many are
// half-open; nothing is counted then.
func (c *counters) enter(limits *Limits, from net.Addr) (*ticket, error) {
	address, _, err := net.SplitHostPort(from.String())
	if err != nil {
		address = from.String()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.halfBy == nil {
		c.halfBy, c.byAddress, c.byClient = map[string]int{}, map[string]int{}, map[string]int{}
	}
	switch {
	case c.halfBy[address] >= limits.HalfOpenPerAddress:
		return nil, fmt.Errorf("%d connections from this address are in their handshake (limits: half_open_per_address)", c.halfBy[address])
	case c.halfOpen >= limits.HalfOpen:
		return nil, fmt.Errorf("%d connections are in their handshake (limits: half_open)", c.halfOpen)
	}
	c.halfOpen++
	c.halfBy[address]++
	return &ticket{counters: c, address: address}, nil
}

// admit counts the connection as a client's. It is a *wire.Refusal if there are too
// many: of that client, from that address, or at all.
func (t *ticket) admit(limits *Limits, client string) error {
	c := t.counters
	c.mu.Lock()
	defer c.mu.Unlock()
	if t.admitted || t.left {
		return &wire.Refusal{Code: wire.RefusedOutOfOrder, Text: "admitted already"}
	}
	for _, l := range []struct {
		have, most int
		who, limit string
	}{
		{c.byClient[client], limits.PerClient, "client " + client + " has", "connections_per_client"},
		{c.byAddress[t.address], limits.PerAddress, "the address " + t.address + " has", "connections_per_address"},
		{c.admitted, limits.Connections, "the appliance has", "connections"},
	} {
		if l.have >= l.most {
			return &wire.Refusal{Code: wire.RefusedFull, Text: fmt.Sprintf("%s %d connections: close some, or have the appliance's limit %s raised", l.who, l.have, l.limit)}
		}
	}
	t.admitted, t.client = true, client
	c.halfOpen--
	less(c.halfBy, t.address)
	c.admitted++
	c.byAddress[t.address]++
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
	if t.admitted {
		c.admitted--
		less(c.byAddress, t.address)
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
	return c.admitted + c.halfOpen, c.halfOpen
}
