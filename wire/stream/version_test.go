// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"strings"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"oneslot.dev/oneslot/wire"
)

// The names that gRPC carries are part of the protocol.
func TestNames(t *testing.T) {
	if got := fmt.Sprint(serviceName, " ", methodName, " ", noticesName, " ", codecName, " ", headerVersion, " ", headerView, " ", noticeDraining); got != "oneslot.Member Session Notices oneslot oneslot-version oneslot-view 1" {
		t.Errorf("what gRPC carries is called %q", got)
	}
}

// A stream says its version too: what is behind a greeting that somebody else
// made is not taken on trust.
func TestUnknownVersionOfAStream(t *testing.T) {
	for want, header := range map[string][]string{
		`speaks version 1 of the protocol, and the engine version ["9"]`: {headerVersion, "9", headerView, "group"},
		`the engine version []`:       {headerView, "group"},
		`there is no view [everyone]`: {headerVersion, "1", headerView, "everyone"},
		`there is no view []`:         {headerVersion, "1"},
	} {
		ours, theirs := pair(t, syscall.SOCK_STREAM)
		go Serve(theirs, echo{})
		client, err := New(ours)
		if err != nil {
			t.Fatal(err)
		}
		c := client.(*streamClient)
		ctx := metadata.AppendToOutgoingContext(t.Context(), header...)
		stream, err := c.grpc.NewStream(ctx, &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, "/"+serviceName+"/"+methodName)
		if err != nil {
			t.Fatal(err)
		}
		if err := stream.RecvMsg(&packet{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v; want %q", header, err, want)
		}
		client.Close()
	}
}

// FuzzConnection feeds both ends of what follows the greeting. Neither may crash
// or stay, whatever the other sends before it hangs up.
func FuzzConnection(f *testing.F) {
	const preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
	f.Add([]byte(preface))
	f.Add([]byte(preface + "\x00\x00\x00\x04\x00\x00\x00\x00\x00"))           // SETTINGS
	f.Add([]byte("\x00\x00\x00\x04\x00\x00\x00\x00\x00\x00\x00\x08\x07\x00")) // SETTINGS, half a GOAWAY
	f.Add(append([]byte(preface), recording(f)...))                           // what an engine says
	f.Fuzz(func(t *testing.T, data []byte) {
		send := func(serve func(net.Conn)) {
			ours, theirs := net.Pipe()
			over := make(chan struct{})
			go func() {
				defer close(over)
				serve(theirs)
			}()
			go io.Copy(io.Discard, ours)
			ours.SetWriteDeadline(time.Now().Add(time.Second)) // it may have hung up, or read no more
			ours.Write(data)
			ours.Close()
			<-over
		}
		send(func(c net.Conn) { Serve(c, echo{}) })
		send(func(c net.Conn) {
			client, err := New(c)
			if err != nil {
				t.Fatal(err)
			}
			defer client.Close()
			if s, err := client.Open(wire.GroupView); err == nil {
				if _, _, err := s.Do(context.Background(), ample, ample, random(8)); err == nil {
					t.Log("answered")
				}
			}
		})
	})
}

// recording is what an engine sends after the preface that makes one call.
func recording(tb testing.TB) []byte {
	ours, theirs := pair(tb, syscall.SOCK_STREAM)
	kept := &keeping{Conn: theirs}
	done := make(chan struct{})
	go func() {
		defer close(done)
		Serve(kept, echo{})
	}()
	client, err := New(ours)
	if err != nil {
		tb.Fatal(err)
	}
	s, err := client.Open(wire.GroupView)
	if err != nil {
		tb.Fatal(err)
	}
	if _, _, err := s.Do(context.Background(), ample, ample, random(8)); err != nil {
		tb.Fatal(err)
	}
	client.Close()
	<-done
	return bytes.TrimPrefix(kept.said.Bytes(), []byte("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"))
}

// keeping keeps what is read from it.
type keeping struct {
	net.Conn
	said bytes.Buffer
}

func (k *keeping) Read(b []byte) (int, error) {
	n, err := k.Conn.Read(b)
	k.said.Write(b[:n])
	return n, err
}
