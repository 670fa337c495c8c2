// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"context"
	"io"
	"net"
	"testing"
	"time"

	"oneslot.dev/oneslot/wire"
)

// FuzzConnection feeds both ends of what follows the greeting. Neither may crash
// or stay, whatever the other sends before it hangs up.
func FuzzConnection(f *testing.F) {
	begun := frame(opening, 1, "group")
	f.Add(begun)
	f.Add(frames(begun, frame(message, 1, asking(8))))
	f.Add(frames(begun, frame(part, 1, asking(8)[:5]), frame(message, 1, asking(8)[5:]), frame(closing, 1, "")))
	f.Add(frames(frame(ping, 0, ""), frame(pong, 0, ""), frame(draining, 0, "")))
	f.Add(frames(frame(message, 1, "\x00"), frame(message, 1, "\x01\x01\x00\x00\x00"), frame(ended, 1, "\x00why")))
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
			client := New(c)
			defer client.Close()
			if s, err := client.Open(wire.GroupView); err == nil {
				if _, _, err := s.Do(context.Background(), ample, ample, random(8)); err == nil {
					t.Log("answered")
				}
			}
		})
	})
}
