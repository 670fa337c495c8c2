// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"errors"
	"net"
	"runtime"
	"runtime/metrics"
	"sync/atomic"
	"time"
)

// ErrMemory is why a connection ends whose peer makes this process hold too much.
var ErrMemory = errors.New("the peer's requests and their answers take more memory than one connection may")

// measureEvery is after how many bytes of requests and answers the memory is measured:
// what does not come to so much fills none.
const measureEvery = 8 << 20

// A meter is a connection that ends when what came on it, and what is answered, has
// filled this process's memory. Each message is limited, and so is their number; together
// they could still take tens of gigabytes: messages that never end, or answers that nobody
// takes, on as many streams as there may be. It also ends when one of them takes too long.
type meter struct {
	net.Conn
	most      uint64 // bytes of Go's heap; 0: no limit
	counted   atomic.Int64
	transfers *transfers            // nil: messages may take as long as they want
	cause     atomic.Pointer[error] // why it was ended from here
}

func newMeter(conn net.Conn, s Service) *meter {
	m := &meter{Conn: conn, most: s.Memory}
	if s.Message > 0 {
		m.transfers = newTransfers(s.Message, func() { m.end(ErrUnfinished) })
	}
	return m
}

// end ends the connection, whatever reads or writes on it just now.
func (m *meter) end(cause error) {
	m.cause.CompareAndSwap(nil, &cause)
	m.Conn.SetDeadline(time.Unix(1, 0))
}

// ended is why the connection was ended from here, nil if it was not.
func (m *meter) ended() error {
	if cause := m.cause.Load(); cause != nil {
		return *cause
	}
	return nil
}

func (m *meter) Read(b []byte) (int, error) {
	n, err := m.Conn.Read(b)
	m.count(n)
	if cause := m.ended(); cause != nil {
		return 0, cause
	}
	return n, err
}

// stop ends the watch over messages.
func (m *meter) stop() {
	if m.transfers != nil {
		m.transfers.stop()
	}
}

// begin notes that a message has begun, by whatever tells it from others.
func (m *meter) begin(which any) {
	if m.transfers != nil {
		m.transfers.begin(which)
	}
}

// done notes that it is complete, or given up.
func (m *meter) done(which any) {
	if m.transfers != nil {
		m.transfers.end(which)
	}
}

// count ends the connection if the memory is used up by so many bytes more.
func (m *meter) count(n int) {
	if m.most == 0 || m.counted.Add(int64(n)) < measureEvery {
		return
	}
	m.counted.Store(0)
	if heap() > m.most {
		// Garbage is no fault of the peer's.
		if runtime.GC(); heap() > m.most {
			m.end(ErrMemory)
		}
	}
}

func heap() uint64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
