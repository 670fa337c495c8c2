// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"errors"
	"math"
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
	reader    *reader // nil: messages may take as long as they want
	streams   int     // with messages that are not complete, at most
	transfers *transfers
	cause     atomic.Pointer[error] // why it was ended from here
}

func newMeter(conn net.Conn, s Service) *meter {
	m := &meter{Conn: conn, most: s.Memory, streams: math.MaxInt}
	if s.Streams > 0 {
		m.streams = int(s.Streams)
	}
	if s.Message > 0 {
		m.transfers = newTransfers(s.Message, func() { m.end(ErrUnfinished) })
		m.reader = newReader(m.transfers)
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
	if m.reader != nil {
		if m.reader.read(b[:n]); len(m.reader.parts) > m.streams {
			m.end(ErrUnfinished) // more than a client that keeps to its limit can have begun
		}
	}
	m.count(n)
	if cause := m.ended(); cause != nil {
		return 0, cause
	}
	return n, err
}

func (m *meter) Close() error {
	if m.transfers != nil {
		m.transfers.stop()
	}
	return m.Conn.Close()
}

// answer has an answer sent, which ends when the peer has taken enough of it.
func (m *meter) answer(session any, size int, send func() error) error {
	m.count(size)
	if m.transfers != nil {
		m.transfers.begin(session)
		defer m.transfers.end(session)
	}
	return send()
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
