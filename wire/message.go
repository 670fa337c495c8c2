// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"encoding/binary"
	"errors"
	"fmt"

	"oneslot.dev/oneslot/pkcs11"
)

// A message is one exchange on a stream between engine and member: calls that
// run in order until one does not return CKR_OK.

// AppendRequest writes calls as a request.
func AppendRequest(buf []byte, calls []Call) []byte {
	e := Encoder{Buf: buf}
	e.U32(uint32(len(calls)))
	for _, c := range calls {
		e.U32(uint32(c.Number()))
		e.sized(c.encodeArgs)
	}
	return e.Buf
}

// sized appends what write appends, with its length as u32 before it.
func (e *Encoder) sized(write func(*Encoder)) {
	at := len(e.Buf)
	e.U32(0)
	write(e)
	binary.LittleEndian.PutUint32(e.Buf[at:], uint32(len(e.Buf)-at-4))
}

// maxCalls bounds the calls of one message; the longest that is sent has three.
const maxCalls = 64

// parseRequest reads a request.
func parseRequest(buf []byte) ([]Call, error) {
	d := NewDecoder(buf)
	n := d.U32()
	if n == 0 || n > maxCalls {
		return nil, ErrMalformed
	}
	calls := make([]Call, 0, n)
	for range n {
		number := Number(d.U32())
		args := NewDecoder(d.take(uint64(d.U32())))
		c := New(number)
		if c == nil {
			return nil, fmt.Errorf("%w: there is no call %d", ErrMalformed, uint32(number))
		}
		c.decodeArgs(args)
		if args.End() != nil {
			return nil, fmt.Errorf("%w: arguments of %v", ErrMalformed, number)
		}
		calls = append(calls, c)
	}
	return calls, d.End()
}

// The first byte of what a member sends.
const (
	messageAlive       = 0
	messageAnswer      = 1
	messageUnavailable = 2 // on sockets: why there is no token, in words
)

// IsAlive says whether what a member sent is a sign of life, and no answer.
func IsAlive(message []byte) bool { return len(message) == 1 && message[0] == messageAlive }

// appendUnavailable writes why there is no token.
func appendUnavailable(buf []byte, why error) []byte {
	return append(append(buf, messageUnavailable), why.Error()...)
}

// appendAnswers writes the answered calls as a reply. One that is too large to be carried
// has failed: the engine would end the connection, and ask another member the same.
func appendAnswers(buf []byte, calls []Call) []byte {
	e := Encoder{Buf: buf}
	begin := len(buf)
	e.U8(messageAnswer)
	e.U32(uint32(len(calls)))
	for i, c := range calls {
		at := len(e.Buf)
		appendAnswer(&e, c)
		if len(e.Buf)-begin > MaxFrame {
			c.setResult(pkcs11.CKR_DEVICE_MEMORY)
			e.Buf = e.Buf[:at]
			appendAnswer(&e, c)
			binary.LittleEndian.PutUint32(e.Buf[begin+1:], uint32(i+1))
			break
		}
	}
	return e.Buf
}

func appendAnswer(e *Encoder, c Call) {
	e.U32(uint32(c.Number()))
	e.Ulong(uint64(c.Result()))
	e.sized(func(e *Encoder) {
		if c.Result().HasReply() {
			c.encodeReply(e)
		}
	})
}

// appendRefusal writes the reply to a request whose session could not be
// opened (PROTOCOL.md).
func appendRefusal(buf []byte, rv pkcs11.RV) []byte {
	e := Encoder{Buf: buf}
	e.U8(messageAnswer)
	e.U32(1)
	e.U32(uint32(NumberOpenSession))
	e.Ulong(uint64(rv))
	e.U32(0)
	return e.Buf
}

// maxReason bounds what a peer can have this end log and show, in bytes.
const maxReason = 1 << 10

// ParseAnswers fills in the calls that were answered and returns how many: all of them,
// or those up to the first that did not return CKR_OK. Whoever answers otherwise would
// have a call pass for successful that was not made. If the session could not be opened
// that is 1, and the first call has that RV.
func ParseAnswers(buf []byte, calls []Call) (int, error) {
	if len(buf) > 0 && buf[0] == messageUnavailable {
		return 0, errors.New(OneLine(string(buf[1:min(len(buf), 4*maxReason)]), maxReason))
	}
	d := NewDecoder(buf)
	if d.U8() != messageAnswer {
		return 0, ErrMalformed
	}
	n := d.U32()
	if n == 0 || n > uint32(len(calls)) {
		return 0, ErrMalformed
	}
	for i, c := range calls[:n] {
		number, rv := Number(d.U32()), pkcs11.RV(d.Ulong())
		reply := NewDecoder(d.take(uint64(d.U32())))
		if number == NumberOpenSession && rv != pkcs11.CKR_OK && n == 1 {
			c.setResult(rv)
			return 1, d.End()
		}
		if number != c.Number() {
			return 0, fmt.Errorf("%w: %v answered with %v", ErrMalformed, c.Number(), number)
		}
		if last := i == int(n)-1; !last && rv != pkcs11.CKR_OK || last && int(n) < len(calls) && rv == pkcs11.CKR_OK {
			return 0, fmt.Errorf("%w: %d of %d calls answered, %v with %v", ErrMalformed, n, len(calls), number, rv)
		}
		c.setResult(rv)
		if rv.HasReply() {
			c.decodeReply(reply)
		}
		if reply.End() != nil {
			return 0, fmt.Errorf("%w: reply of %v", ErrMalformed, number)
		}
	}
	return int(n), d.End()
}
