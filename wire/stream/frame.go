// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"

	"oneslot.dev/oneslot/wire"
)

// A frame is a piece of what goes over a connection: u32 length of the rest, u8 kind, u32
// stream, payload (PROTOCOL.md).
const (
	headerSize = 9
	lengthSize = 4
)

// maxPart is the most that one frame carries of a message, in bytes. Messages of other
// streams, and signs of life, get their turn after each, on a slow link too.
const maxPart = 4 << 10

// maxMessage leaves room for what surrounds the largest value.
const maxMessage = wire.MaxFrame + 1<<10

// keptBuffer is the size of buffer that a session keeps between calls.
const keptBuffer = 64 << 10

// kind is what a frame is.
type kind uint8

// The kinds. Their numbers are part of the protocol.
const (
	part     kind = 1 // of a message, with more to come
	message  kind = 2 // a whole message, or the last part of one
	opening  kind = 3 // the engine begins a stream; the payload is its view
	closing  kind = 4 // the engine ends a stream
	ended    kind = 5 // the member ended a stream: u8 1 if it may have acted on what was asked, then why
	draining kind = 6 // the member wants its work taken elsewhere; stream 0
	ping     kind = 7 // asks for a sign of life; stream 0
	pong     kind = 8 // is one; stream 0
)

// putHeader writes the header of a frame with so much payload.
func putHeader(b []byte, k kind, stream uint32, payload int) {
	binary.LittleEndian.PutUint32(b, uint32(headerSize-lengthSize+payload))
	b[lengthSize] = byte(k)
	binary.LittleEndian.PutUint32(b[lengthSize+1:], stream)
}

// appendFrame appends a frame whose payload is short.
func appendFrame(b []byte, k kind, stream uint32, payload string) []byte {
	at := len(b)
	b = append(b, make([]byte, headerSize)...)
	putHeader(b[at:], k, stream, len(payload))
	return append(b, payload...)
}

// A reader reads frames.
type reader struct {
	in   *bufio.Reader
	last int // bytes of the frame that was returned and is still in the buffer
}

func newReader(from io.Reader) *reader {
	return &reader{in: bufio.NewReaderSize(from, 4*(headerSize+maxPart))}
}

// next returns the next frame, whose payload is valid until the next one is asked for.
func (r *reader) next() (k kind, stream uint32, payload []byte, err error) {
	r.in.Discard(r.last)
	r.last = 0
	header, err := r.in.Peek(headerSize)
	if err != nil {
		return 0, 0, nil, err
	}
	size := binary.LittleEndian.Uint32(header)
	if size < headerSize-lengthSize || size > headerSize-lengthSize+maxPart {
		return 0, 0, nil, fmt.Errorf("%w: a frame of %d bytes", wire.ErrMalformed, size)
	}
	frame, err := r.in.Peek(lengthSize + int(size))
	if err != nil {
		return 0, 0, nil, err
	}
	r.last = len(frame)
	return kind(frame[lengthSize]), binary.LittleEndian.Uint32(frame[lengthSize+1:]), frame[headerSize:], nil
}

// gather adds the payload of a frame to what came of a message before.
func gather(before, payload []byte) ([]byte, error) {
	if len(before)+len(payload) > maxMessage {
		return nil, fmt.Errorf("%w: a message of more than %d bytes", wire.ErrMalformed, maxMessage)
	}
	return append(before, payload...), nil
}
