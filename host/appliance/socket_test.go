// SPDX-License-Identifier: Apache-2.0

package appliance_test

import (
	"net"
	"os"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// wanted are the options of every connection over a network (F3, N3; field-G1, field-G2).
// A firewall forgets what is idle for minutes; a peer that is gone without a word is given
// up by the kernel within 30 s when the connection is idle, and within 20 s when it is not;
// no small message waits for the next one. None of this is configured. What is, the probes
// of the group, notices earlier: probe_interval is how long a connection is idle at most.
var wanted = []struct {
	name                string
	level, option, want int
}{
	{"SO_KEEPALIVE", unix.SOL_SOCKET, unix.SO_KEEPALIVE, 1},
	{"TCP_KEEPIDLE", unix.IPPROTO_TCP, unix.TCP_KEEPIDLE, 15},
	{"TCP_KEEPINTVL", unix.IPPROTO_TCP, unix.TCP_KEEPINTVL, 5},
	{"TCP_KEEPCNT", unix.IPPROTO_TCP, unix.TCP_KEEPCNT, 3},
	{"TCP_USER_TIMEOUT", unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, 20_000},
	{"TCP_NODELAY", unix.IPPROTO_TCP, unix.TCP_NODELAY, 1},
}

// sockets are the descriptors of a process that are connections over TCP, with the port
// at its own end and that at the other, as descriptors of this one.
func sockets(t *testing.T, pid int, each func(fd, own, other int)) {
	t.Helper()
	process, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(process)
	folder := "/proc/" + strconv.Itoa(pid) + "/fd"
	files, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if link, _ := os.Readlink(folder + "/" + file.Name()); !strings.HasPrefix(link, "socket:") {
			continue
		}
		number, err := strconv.Atoi(file.Name())
		if err != nil {
			t.Fatal(err)
		}
		fd, err := unix.PidfdGetfd(process, number, 0)
		if err == unix.EBADF {
			continue // closed meanwhile
		}
		if err != nil {
			t.Fatal(err)
		}
		own, _ := unix.Getsockname(fd)
		other, _ := unix.Getpeername(fd)
		a, isTCP := own.(*unix.SockaddrInet4)
		b, isConnected := other.(*unix.SockaddrInet4)
		if isTCP && isConnected {
			each(fd, a.Port, b.Port)
		}
		unix.Close(fd)
	}
}

// The sockets at both ends have the options, when all that is set up is done: the client's,
// which is read by raw system calls, and the appliance's, which its process got from the
// listener.
func TestOptionsOfBothSockets(t *testing.T) {
	b := start(t, nil)
	b.client("web", ca).connect().works()
	_, text, err := net.SplitHostPort(b.address)
	if err != nil {
		t.Fatal(err)
	}
	port, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	line := b.tells("client-connected", "client=web")
	_, text, _ = strings.Cut(line, "process=")
	process, err := strconv.Atoi(strings.Fields(text)[0])
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]int{}
	check := func(side string, fd int) {
		found[side]++
		for _, o := range wanted {
			if got, err := unix.GetsockoptInt(fd, o.level, o.option); err != nil || got != o.want {
				t.Errorf("the %s has %s %d (%v), not %d", side, o.name, got, err, o.want)
			}
		}
	}
	sockets(t, os.Getpid(), func(fd, own, other int) {
		if other == port {
			check("client", fd)
		}
	})
	sockets(t, process, func(fd, own, other int) {
		if own == port {
			check("appliance", fd)
		}
	})
	if found["client"] != 1 || found["appliance"] != 1 {
		t.Errorf("the ends of one connection are %v", found)
	}
}
