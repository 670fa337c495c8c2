// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"fmt"

	"google.golang.org/grpc"
	"google.golang.org/grpc/mem"

	"oneslot.dev/oneslot/wire"
)

// The gRPC method whose streams are sessions (PROTOCOL.md).
const (
	serviceName = "oneslot.Member"
	methodName  = "Session"
	codecName   = "oneslot"

	headerVersion = "oneslot-version"
	headerView    = "oneslot-view"
)

var streamDesc = grpc.StreamDesc{StreamName: methodName, ClientStreams: true, ServerStreams: true}

// Windows are fixed and larger than any message that is not a bulk transfer, so
// that gRPC neither estimates them nor waits in the middle of a call.
const (
	streamWindow     = 1 << 20
	connectionWindow = 16 << 20
)

// maxMessage leaves room for what surrounds the largest value.
const maxMessage = wire.MaxFrame + 1<<10

// maxHeaders bounds the metadata of a stream, in bytes as HTTP/2 counts them: a name, a
// version and a view, or why there is no token.
const maxHeaders = 16 << 10

// A packet is a message as bytes. gRPC's codec hands it through: the encoding
// is ours.
type packet struct{ data []byte }

type codec struct{}

func (codec) Name() string { return codecName }

// Marshal lends the bytes to gRPC: they stay as they are until the peer has
// answered, or the stream has ended.
func (codec) Marshal(v any) (mem.BufferSlice, error) {
	p, ok := v.(*packet)
	if !ok {
		return nil, fmt.Errorf("codec %s cannot carry %T", codecName, v)
	}
	return mem.BufferSlice{mem.SliceBuffer(p.data)}, nil
}

func (codec) Unmarshal(data mem.BufferSlice, v any) error {
	p, ok := v.(*packet)
	if !ok {
		return fmt.Errorf("codec %s cannot carry %T", codecName, v)
	}
	n := data.Len()
	if cap(p.data) < n {
		p.data = make([]byte, n)
	}
	p.data = p.data[:n]
	data.CopyTo(p.data)
	return nil
}

// keptBuffer is the size of buffer that a session keeps between calls.
const keptBuffer = 64 << 10

// trim drops a buffer that grew beyond what a session should hold on to.
func (p *packet) trim() {
	if cap(p.data) > keptBuffer {
		p.data = nil
	}
}
