// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"errors"
	"net"
	"time"

	"golang.org/x/sys/unix"
)

// How a TCP connection is kept alive, and given up when the other end is gone
// without a word (rule N3, field-G1). Firewalls forget idle connections after
// minutes at the earliest.
const (
	keepAliveIdle     = 15 * time.Second
	keepAliveInterval = 5 * time.Second
	keepAliveCount    = 3

	// tcpUserTimeout is how long sent data may stay unacknowledged. Probes
	// notice earlier; this ends what they do not watch.
	tcpUserTimeout = 20 * time.Second

	// unsentMost is how much the kernel takes beyond what is on its way, in bytes. What
	// waits for it has turns, which what it holds has not.
	unsentMost = 64 << 10
)

// KeepAlive sets a connection up so that neither end waits for ever on one that
// is gone.
func KeepAlive(conn *net.TCPConn) error {
	if err := conn.SetKeepAliveConfig(net.KeepAliveConfig{
		Enable: true, Idle: keepAliveIdle, Interval: keepAliveInterval, Count: keepAliveCount,
	}); err != nil {
		return err
	}
	raw, err := conn.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	err = raw.Control(func(fd uintptr) {
		failed = errors.Join(
			unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(tcpUserTimeout.Milliseconds())),
			unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_NOTSENT_LOWAT, unsentMost))
	})
	return errors.Join(err, failed)
}
