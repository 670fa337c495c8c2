// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"errors"
	"net"
	"runtime"
	"runtime/metrics"
)

// ErrMemory is why a connection ends whose peer makes this process hold too much.
var ErrMemory = errors.New("the peer's requests and their answers take more memory than one connection may")

// measureEvery is after how many bytes that were read the memory is measured: a peer
// has to send what it fills memory with, and small requests never get there.
const measureEvery = 8 << 20

// A meter is a connection that ends when what came on it has filled this process's
// memory. Each message is limited, and so is their number; together they could still
// take tens of gigabytes: messages that never end, on as many streams as there may be.
type meter struct {
	net.Conn
	most uint64 // bytes of Go's heap
	read int    // bytes, since the last measurement; one goroutine reads
}

func (m *meter) Read(b []byte) (int, error) {
	n, err := m.Conn.Read(b)
	if m.read += n; m.read >= measureEvery {
		m.read = 0
		if heap() > m.most {
			// Garbage is no fault of the peer's.
			if runtime.GC(); heap() > m.most {
				return 0, ErrMemory
			}
		}
	}
	return n, err
}

func heap() uint64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
