// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"context"
	"time"

	"google.golang.org/grpc"
)

// Notices are what a member has to say unasked (PROTOCOL.md): a stream beside
// those of the sessions, on which the member alone speaks.
const (
	noticesName    = "Notices"
	noticeDraining = 1
)

var noticesDesc = grpc.StreamDesc{StreamName: noticesName, ServerStreams: true}

// A silent peer is asked for a sign of life after pingAfter, and given up when
// there is none for pingTimeout.
const (
	pingAfter   = 10 * time.Second
	pingTimeout = 20 * time.Second
)

// serveNotices tells an engine what it has to know.
func (s Service) serveNotices(stream grpc.ServerStream) error {
	var nothing packet
	if err := stream.RecvMsg(&nothing); err != nil {
		return nil
	}
	select {
	case <-s.Draining:
		if err := stream.SendMsg(&packet{data: []byte{noticeDraining}}); err != nil {
			return nil
		}
	case <-stream.Context().Done():
		return nil
	}
	<-stream.Context().Done()
	return nil
}

// Draining is closed when the member asked for its work to be taken elsewhere.
func (c *streamClient) Draining() <-chan struct{} { return c.draining }

// listen hears notices until the connection ends. A member that has none to
// give does not know the method, which is no fault.
func (c *streamClient) listen() {
	stream, err := c.grpc.NewStream(context.Background(), &noticesDesc, "/"+serviceName+"/"+noticesName)
	if err != nil {
		return
	}
	if stream.SendMsg(&packet{}) != nil || stream.CloseSend() != nil {
		return
	}
	told := false
	for {
		var in packet
		if err := stream.RecvMsg(&in); err != nil {
			return
		}
		if len(in.data) == 1 && in.data[0] == noticeDraining && !told {
			told = true
			close(c.draining)
		}
	}
}
