// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"oneslot.dev/oneslot/certificate"
	"oneslot.dev/oneslot/wire"
)

// BenchmarkTLS measures a round trip over TLS on loopback as an appliance and its
// client make it, both ends in this process, with so many callers. A profile of it
// (-cpuprofile) says where the time of a call over the network goes.
func BenchmarkTLS(b *testing.B) {
	file := filepath.Join(b.TempDir(), "both")
	if _, err := certificate.WriteNew(certificate.Wish{Name: "both", Valid: time.Hour}, file+".crt", file+".key"); err != nil {
		b.Fatal(err)
	}
	own, err := tls.LoadX509KeyPair(file+".crt", file+".key")
	if err != nil {
		b.Fatal(err)
	}
	config := &tls.Config{Certificates: []tls.Certificate{own}, MinVersion: tls.VersionTLS13, InsecureSkipVerify: true, DynamicRecordSizingDisabled: true, ClientAuth: tls.RequireAnyClientCert}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	defer ln.Close()
	go func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			go Serve(tls.Server(prepared(b, conn), config), echo{})
		}
	}()
	conn, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		b.Fatal(err)
	}
	client := New(tls.Client(prepared(b, conn), config))
	defer client.Close()
	for _, callers := range []int{1, 8, 32} {
		b.Run(fmt.Sprint(callers), func(b *testing.B) {
			work := make(chan struct{}, b.N)
			for range b.N {
				work <- struct{}{}
			}
			close(work)
			var all sync.WaitGroup
			for range callers {
				s, err := client.Open(wire.GroupView)
				if err != nil {
					b.Fatal(err)
				}
				defer s.Close()
				all.Go(func() {
					for range work {
						call := wire.GenerateRandom{RandomRoom: wire.Room{Capacity: 256}}
						if _, _, err := s.Do(context.Background(), time.Minute, time.Minute, &call); err != nil {
							b.Error(err)
							return
						}
					}
				})
			}
			all.Wait()
		})
	}
}
