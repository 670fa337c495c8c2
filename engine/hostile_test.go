// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"syscall"
	"testing"
	"time"

	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/wire"
)

// dial starts an application over a real socket and returns its end.
func (w *world) dial(t *testing.T) *net.UnixConn {
	t.Helper()
	ours, theirs, err := wire.SocketPair(syscall.SOCK_STREAM)
	if err != nil {
		t.Fatal(err)
	}
	defer theirs.Close()
	conn, err := net.FileConn(theirs)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		w.engine.Serve(t.Context(), conn.(*net.UnixConn))
	}()
	t.Cleanup(func() {
		ours.Close()
		<-done
	})
	return ours
}

// send writes a frame and returns the answer, nil when the connection ended.
func send(t *testing.T, conn *net.UnixConn, number wire.Number, body []byte) []byte {
	t.Helper()
	frame := binary.LittleEndian.AppendUint32(nil, uint32(len(body)+4))
	frame = binary.LittleEndian.AppendUint32(frame, uint32(number))
	conn.SetDeadline(time.Now().Add(time.Minute))
	if _, err := conn.Write(append(frame, body...)); err != nil {
		return nil
	}
	return receive(t, conn)
}

func receive(t *testing.T, conn *net.UnixConn) []byte {
	t.Helper()
	length := make([]byte, 4)
	if _, err := io.ReadFull(conn, length); err != nil {
		return nil
	}
	answer := make([]byte, binary.LittleEndian.Uint32(length))
	if _, err := io.ReadFull(conn, answer); err != nil {
		t.Fatalf("half an answer: %v", err)
	}
	return answer
}

func hello(magic string, version, role uint64) []byte {
	var e wire.Encoder
	e.Blob([]byte(magic))
	e.Ulong(version)
	e.Ulong(role)
	e.Ulong(1)
	e.Blob([]byte("hostile"))
	return e.Buf
}

func result(answer []byte) pkcs11.RV { return pkcs11.RV(binary.LittleEndian.Uint64(answer[4:])) }

// Issue, "Bad input": what breaks the protocol ends that connection, and
// nothing else; field-L4.
func TestHostilePeers(t *testing.T) {
	w := begin(t, 2)
	good := w.dial(t)
	if answer := send(t, good, wire.NumberHello, hello("oneslot", 1, 1)); answer == nil || result(answer) != pkcs11.CKR_OK {
		t.Fatalf("hello: %x", answer)
	}
	var deep wire.Encoder
	deep.Ulong(1)
	deep.Bool(true)
	deep.Ulong(1)
	for range 50_000 {
		deep.Ulong(uint64(pkcs11.CKA_WRAP_TEMPLATE))
		deep.U8(2)
		deep.Ulong(1)
	}
	for _, c := range []struct {
		name   string
		number wire.Number
		body   []byte
	}{
		{"a call that does not exist", 4711, nil},
		{"a call for members only", wire.NumberExport, make([]byte, 8)},
		{"a second hello", wire.NumberHello, hello("oneslot", 1, 1)},
		{"a template nested too deep", wire.NumberFindObjectsInit, deep.Buf},
		{"arguments cut short", wire.NumberSign, make([]byte, 7)},
		{"arguments too long", wire.NumberGetInfo, make([]byte, 1)},
		{"an attach without a descriptor", wire.NumberAttach, nil},
	} {
		bad := w.dial(t)
		if answer := send(t, bad, wire.NumberHello, hello("oneslot", 1, 1)); answer == nil {
			t.Fatal("hello was not answered")
		}
		if answer := send(t, bad, c.number, c.body); answer != nil && result(answer) != pkcs11.CKR_FUNCTION_REJECTED {
			t.Errorf("%s: answered %v", c.name, result(answer))
		}
		if answer := send(t, good, wire.NumberGetInfo, nil); answer == nil || result(answer) != pkcs11.CKR_OK {
			t.Fatalf("%s: took another application with it", c.name)
		}
	}
}

func TestHello(t *testing.T) {
	w := begin(t, 1)
	for _, c := range []struct {
		name string
		body []byte
		want pkcs11.RV // CKR_CANCEL: the connection just ends
	}{
		{"right", hello("oneslot", 1, 1), pkcs11.CKR_OK},
		{"a later version is answered with ours", hello("oneslot", 7, 1), pkcs11.CKR_OK},
		{"no version", hello("oneslot", 0, 1), pkcs11.CKR_FUNCTION_REJECTED},
		{"an unknown role", hello("oneslot", 1, 9), pkcs11.CKR_FUNCTION_REJECTED},
		{"another protocol", hello("HTTP/1.1", 1, 1), pkcs11.CKR_CANCEL},
	} {
		answer := send(t, w.dial(t), wire.NumberHello, c.body)
		switch {
		case answer == nil && c.want != pkcs11.CKR_CANCEL:
			t.Errorf("%s: the connection ended", c.name)
		case answer != nil && result(answer) != c.want:
			t.Errorf("%s: %v, want %v", c.name, result(answer), c.want)
		}
	}
	if answer := send(t, w.dial(t), wire.NumberGetInfo, nil); answer != nil {
		t.Error("a call before hello was answered")
	}
}

// An application is gone when its context ends, though a child of it still holds
// the sockets.
func TestServeEndsWithItsContext(t *testing.T) {
	w := begin(t, 1)
	ours, theirs, err := wire.SocketPair(syscall.SOCK_STREAM)
	if err != nil {
		t.Fatal(err)
	}
	defer ours.Close()
	defer theirs.Close()
	conn, err := net.FileConn(theirs)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		w.engine.Serve(ctx, conn.(*net.UnixConn))
	}()
	if answer := send(t, ours, wire.NumberHello, hello("oneslot", 1, 1)); answer == nil {
		t.Fatal("hello was not answered")
	}
	cancel()
	select {
	case <-done:
	case <-time.After(time.Minute):
		t.Error("still serving")
	}
}

// A length that lies takes no memory and ends the connection.
func TestLyingLength(t *testing.T) {
	w := begin(t, 1)
	for _, length := range []uint32{0, 3, wire.MaxFrame + 1, 1<<32 - 1} {
		conn := w.dial(t)
		conn.SetDeadline(time.Now().Add(time.Minute))
		conn.Write(binary.LittleEndian.AppendUint32(nil, length))
		if answer := receive(t, conn); answer != nil {
			t.Errorf("length %d was answered", length)
		}
	}
}
