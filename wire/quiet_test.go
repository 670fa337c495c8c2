// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"bytes"
	"crypto/rand"
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"time"
)

func quietPair(t *testing.T) (ours net.Conn, theirs *net.TCPConn) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	dialed, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	accepted, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	if ours, err = Quiet(dialed.(*net.TCPConn)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ours.Close()
		accepted.Close()
	})
	return ours, accepted.(*net.TCPConn)
}

// A quiet connection is a net.Conn like any other: it carries more than the kernel
// holds, waits, and ends with its deadline, its own closing, and the peer's.
func TestQuietConnection(t *testing.T) {
	ours, theirs := quietPair(t)
	sent := make([]byte, 32<<20)
	rand.Read(sent)
	go func() {
		io.Copy(theirs, theirs) // back again
		theirs.Close()
	}()
	wrote := make(chan error, 1)
	go func() {
		n, err := ours.Write(sent)
		if n != len(sent) && err == nil {
			err = io.ErrShortWrite
		}
		wrote <- err
	}()
	got := make([]byte, len(sent))
	if _, err := io.ReadFull(ours, got); err != nil || !bytes.Equal(got, sent) {
		t.Fatalf("what came back is not what was sent: %v", err)
	}
	if err := <-wrote; err != nil {
		t.Fatal(err)
	}

	// Whoever waits ends with the deadline, also one that is set meanwhile.
	read := make(chan error, 1)
	go func() {
		_, err := ours.Read(make([]byte, 1))
		read <- err
	}()
	ours.SetDeadline(time.Unix(1, 0))
	if err := <-read; !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("a read ended with %v", err)
	}
	if _, err := ours.Write(sent); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("a write ended with %v", err)
	}
	ours.SetDeadline(time.Time{})
	theirs.CloseWrite()
	if _, err := ours.Read(make([]byte, 1)); err != io.EOF {
		t.Errorf("at the peer's end: %v", err)
	}
	ours.Close()
	if _, err := ours.Read(make([]byte, 1)); !errors.Is(err, net.ErrClosed) {
		t.Errorf("a read after closing: %v", err)
	}
	if _, err := ours.Write([]byte{1}); !errors.Is(err, net.ErrClosed) {
		t.Errorf("a write after closing: %v", err)
	}
}

// What the kernel reports is told with its reason.
func TestQuietConnectionIsReset(t *testing.T) {
	ours, theirs := quietPair(t)
	theirs.SetLinger(0)
	theirs.Close() // with RST
	ours.SetDeadline(time.Now().Add(time.Minute))
	_, err := ours.Read(make([]byte, 1))
	var failed *net.OpError
	if !errors.As(err, &failed) || failed.Op != "read" {
		t.Errorf("%v", err)
	}
}
