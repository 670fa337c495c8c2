// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"bytes"
	"errors"
	"net"
	"syscall"
	"testing"

	"oneslot.dev/oneslot/pkcs11"
)

// A request to a local member may hold a PIN. However its session ends, nothing of it stays
// in the memory that it came in, nor in what became too small for it.
func TestRequestsOnSocketsAreWiped(t *testing.T) {
	pin := pkcs11.PIN("secret-pin")
	framed := func(calls ...Call) []byte {
		return appendFramed(nil, func(buf []byte) []byte { return AppendRequest(buf, calls) })
	}
	login := framed(&Login{Pin: pin})
	answer := func(session HostSession) func(*[]byte, *socket) {
		return func(in *[]byte, conn *socket) {
			answerSocket(t.Context(), in, conn, session, pkcs11.CKR_SESSION_COUNT, new(Underway))
		}
	}
	for what, c := range map[string]struct {
		request []byte
		serve   func(in *[]byte, conn *socket)
	}{
		"answered":                      {login, answer(&answering{})},
		"there is no token":             {login, func(in *[]byte, conn *socket) { unavailable(in, conn, errors.New("no token")) }},
		"a session that was refused":    {login, answer(nil)},
		"half of a request":             {login[:len(login)-3], answer(&answering{})},
		"half of one, without a token":  {login[:len(login)-3], func(in *[]byte, conn *socket) { unavailable(in, conn, errors.New("no token")) }},
		"two at once":                   {append(bytes.Clone(login), login...), answer(&answering{})},
		"something that is no request":  {appendFramed(nil, func(buf []byte) []byte { return append(append(buf, 0xff), login...) }), answer(&answering{})},
		"a call that no member answers": {framed(&Login{Pin: pin}, &Attach{}), answer(&answering{})},
		"a large one":                   {framed(&Login{Pin: pin}, &SeedRandom{Seed: Data(bytes.Repeat([]byte("secret"), 5_000))}), answer(&answering{})},
	} {
		ours, file, err := SocketPair(syscall.SOCK_STREAM)
		if err != nil {
			t.Fatal(err)
		}
		theirs, err := net.FileConn(file)
		if err = errors.Join(err, file.Close()); err != nil {
			t.Fatal(err)
		}
		if _, err := theirs.Write(c.request); err != nil {
			t.Fatal(err)
		}
		theirs.(*net.UnixConn).CloseWrite()
		first := make([]byte, 0, 64)
		in := first
		c.serve(&in, newSocket(ours))
		for where, memory := range map[string][]byte{"first": first[:cap(first)], "last": in[:cap(in)]} {
			if bytes.Contains(memory, []byte("secret")) {
				t.Errorf("%s: %q is left in the %s buffer", what, bytes.Trim(memory, "\x00"), where)
			}
		}
		ours.Close()
		theirs.Close()
	}
}
