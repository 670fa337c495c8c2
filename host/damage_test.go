// SPDX-License-Identifier: Apache-2.0

package host_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"oneslot.dev/oneslot/host"
	"oneslot.dev/oneslot/host/hosttest"
	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/wire"
)

// A peer speaks to a host below the level of calls.
type peer struct {
	t       *testing.T
	control *net.UnixConn
	session *net.UnixConn
}

func (w *watched) peer(t *testing.T) *peer {
	ours, theirs, err := wire.SocketPair(unix.SOCK_SEQPACKET)
	if err != nil {
		t.Fatal(err)
	}
	defer theirs.Close()
	control, err := net.FileConn(theirs)
	if err != nil {
		t.Fatal(err)
	}
	go wire.ServeSockets(control.(*net.UnixConn), w)
	p := &peer{t: t, control: ours}
	t.Cleanup(func() { ours.Close(); p.end() })
	return p
}

func (p *peer) end() {
	if p.session != nil {
		p.session.Close()
		p.session = nil
	}
}

// says sends a message and returns the answer, nil if the session was ended.
func (p *peer) says(message []byte) []byte {
	p.t.Helper()
	if p.session == nil {
		ours, theirs, err := wire.SocketPair(unix.SOCK_STREAM)
		if err != nil {
			p.t.Fatal(err)
		}
		_, _, err = p.control.WriteMsgUnix([]byte{'g'}, unix.UnixRights(int(theirs.Fd())), nil)
		theirs.Close()
		if err != nil {
			p.t.Fatal(err)
		}
		p.session = ours
		p.says(requestOf(frameCall{65, flat(0, byte(1), 8)})) // to the direct path
	}
	frame := binary.LittleEndian.AppendUint32(nil, uint32(len(message)))
	if _, err := p.session.Write(append(frame, message...)); err != nil {
		p.t.Fatal(err)
	}
	p.session.SetReadDeadline(time.Now().Add(hosttest.Patience))
	head := make([]byte, 4)
	if _, err := io.ReadFull(p.session, head); err != nil {
		if errors.Is(err, os.ErrDeadlineExceeded) {
			p.t.Fatalf("no answer to %x", message)
		}
		p.end()
		return nil
	}
	answer := make([]byte, binary.LittleEndian.Uint32(head))
	if _, err := io.ReadFull(p.session, answer); err != nil {
		p.t.Fatal(err)
	}
	return answer
}

type frameCall struct {
	number    uint32
	arguments []byte
}

func requestOf(calls ...frameCall) []byte {
	m := binary.LittleEndian.AppendUint32(nil, uint32(len(calls)))
	for _, c := range calls {
		m = binary.LittleEndian.AppendUint32(m, c.number)
		m = binary.LittleEndian.AppendUint32(m, uint32(len(c.arguments)))
		m = append(m, c.arguments...)
	}
	return m
}

// A message that is damaged anywhere gets from the direct path what it gets from
// Go: the same answer, or the end of the session.
func damage(t *testing.T, token *host.Token) {
	fast, slow := &watched{Token: token}, &watched{Token: token, off: true}
	direct, other := fast.peer(t), slow.peer(t)
	digest := requestOf(
		frameCall{38, flat(0, byte(1), int(pkcs11.CKM_SHA256), []byte{})},
		frameCall{39, flat(0, []byte("what is digested"), byte(1), 64)})
	mechanismAt := 4 + 8 + 8 + 1
	for at := range digest {
		if at >= mechanismAt && at < mechanismAt+8 {
			continue // another mechanism is no damage
		}
		for _, value := range []byte{0, 1, 2, 0x7f, 0xff, digest[at] + 1, digest[at] - 1} {
			damaged := bytes.Clone(digest)
			damaged[at] = value
			got, want := direct.says(damaged), other.says(damaged)
			if !bytes.Equal(got, want) {
				t.Errorf("byte %d is %#x: %x\nGo: %x", at, value, got, want)
			}
			direct.end() // what it left active is of no interest
			other.end()
		}
	}
	for n := range digest {
		if got, want := direct.says(digest[:n]), other.says(digest[:n]); n > 0 && !bytes.Equal(got, want) {
			t.Errorf("cut to %d: %x\nGo: %x", n, got, want)
		}
		direct.end()
		other.end()
	}
}
