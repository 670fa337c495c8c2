// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"context"
	"net"
	"syscall"
	"testing"
	"time"

	"oneslot.dev/oneslot/pkcs11"
)

// echo is a host whose session answers with as many bytes as it is asked for.
type echo struct {
	NoCryptoki
	NoToken
}

func (e echo) Open(View) (HostSession, error) { return e, nil }
func (echo) Close()                           {}

func (echo) GenerateRandom(_ context.Context, c *GenerateRandom) pkcs11.RV {
	c.Random = Data(make([]byte, c.RandomRoom.Capacity))
	return pkcs11.CKR_OK
}

// carriers makes a connected client on each carrier.
var carriers = map[string]func(testing.TB, Host) Client{
	"sockets": func(tb testing.TB, h Host) Client {
		ours, theirs := pair(tb, syscall.SOCK_SEQPACKET)
		go ServeSockets(theirs, h)
		return NewSockets(ours)
	},
	"streams": func(tb testing.TB, h Host) Client {
		ours, theirs := pair(tb, syscall.SOCK_STREAM)
		go ServeStreams(theirs, h)
		client, err := NewStreams(ours)
		if err != nil {
			tb.Fatal(err)
		}
		return client
	},
}

func pair(tb testing.TB, kind int) (ours, theirs *net.UnixConn) {
	tb.Helper()
	ours, file, err := SocketPair(kind)
	if err != nil {
		tb.Fatal(err)
	}
	defer file.Close()
	conn, err := net.FileConn(file)
	if err != nil {
		tb.Fatal(err)
	}
	return ours, conn.(*net.UnixConn)
}

// BenchmarkCarrier measures a round trip between engine and member, both in
// this process.
func BenchmarkCarrier(b *testing.B) {
	for name, connect := range carriers {
		b.Run(name, func(b *testing.B) {
			client := connect(b, echo{})
			defer client.Close()
			b.RunParallel(func(pb *testing.PB) {
				s, err := client.Open(GroupView)
				if err != nil {
					b.Error(err)
					return
				}
				defer s.Close()
				for pb.Next() {
					call := GenerateRandom{RandomRoom: Room{Capacity: 32}}
					if _, _, err := s.Do(context.Background(), time.Minute, time.Minute, &call); err != nil {
						b.Error(err)
						return
					}
				}
			})
		})
	}
}
