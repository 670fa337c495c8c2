// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/wire"
)

// digesting answers requests with data when it is told to.
type digesting struct {
	echo
	wait <-chan struct{}
}

func (d digesting) Open(wire.View) (wire.HostSession, error) { return d, nil }

func (d digesting) Digest(_ context.Context, c *wire.Digest) pkcs11.RV {
	if d.wait != nil {
		<-d.wait
	}
	c.Digest = wire.Data(make([]byte, 32))
	return pkcs11.CKR_OK
}

// A peer fills memory with requests that are each within the limits: its connection
// ends, and says why. One that is only busy is no such peer.
func TestMemoryIsLimited(t *testing.T) {
	const size, most = 8 << 20, 256 << 20
	serve := func(host wire.Host) (wire.Client, <-chan error) {
		ours, theirs := pair(t, syscall.SOCK_STREAM)
		ended := make(chan error, 1)
		go func() { ended <- Service{Host: host, Memory: most}.Serve(theirs) }()
		client, err := New(ours)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(client.Close)
		return client, ended
	}
	data := wire.Data(make([]byte, size))
	digest := func(s wire.Stream) error {
		_, _, err := s.Do(t.Context(), ample, ample, &wire.Digest{Data: data, DigestRoom: wire.Room{Capacity: 32}})
		return err
	}

	client, ended := serve(digesting{})
	s := open(t, client)
	for range 3 * most / size {
		if err := digest(s); err != nil {
			t.Fatalf("one after the other: %v", err)
		}
	}
	client.Close()
	if err := <-ended; err != nil {
		t.Errorf("a connection that its client closed: %v", err)
	}

	answer := make(chan struct{})
	client, ended = serve(digesting{wait: answer})
	var all sync.WaitGroup
	for range 2 * most / size {
		s := open(t, client)
		all.Go(func() { digest(s) })
	}
	if err := <-ended; !errors.Is(err, ErrMemory) {
		t.Errorf("ended with %v", err)
	}
	close(answer)
	all.Wait()
}

// What a peer has to say why there is no answer reaches logs and terminals as one line.
func TestReasonsAreOneLine(t *testing.T) {
	told := status.Error(codes.Unavailable, "no\nevent=\x1b[31m\u202etoken"+strings.Repeat("!", 4000))
	client := carriers["streams"](t, deadHost{told})
	defer client.Close()
	_, _, err := open(t, client).Do(t.Context(), ample, ample, random(1))
	if err == nil || !strings.Contains(err.Error(), "token!!!") || strings.ContainsAny(err.Error(), "\n\x1b\u202e") || len(err.Error()) > maxReason {
		t.Errorf("%q", err)
	}
}

// The metadata of a stream is a few words: nobody keeps more of it.
func TestMetadataIsLimited(t *testing.T) {
	client := carriers["streams"](t, echo{})
	defer client.Close()
	ctx := metadata.AppendToOutgoingContext(t.Context(), headerVersion, "1", headerView, "group", "more", strings.Repeat("x", 2*maxHeaders))
	stream, err := client.(*streamClient).grpc.NewStream(ctx, &streamDesc, "/"+serviceName+"/"+methodName)
	if err == nil {
		err = stream.SendMsg(&packet{wire.AppendRequest(nil, []wire.Call{random(1)})})
	}
	if err == nil || err == io.EOF {
		err = stream.RecvMsg(&packet{})
	}
	if err == nil {
		t.Error("a stream with so much metadata was answered")
	}
}

// A client stops in the middle of a frame, and answers nothing: it is given up.
func TestAClientStopsInAFrame(t *testing.T) {
	said := "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + string(recording(t))
	for _, much := range []int{3, 30, len(said) / 2, len(said) - 1, len(said)} {
		synctest.Test(t, func(t *testing.T) {
			ours, theirs := net.Pipe()
			defer ours.Close()
			go io.Copy(io.Discard, ours)
			begin := time.Now()
			go io.WriteString(ours, said[:much])
			Serve(theirs, echo{})
			if took := time.Since(begin); took > pingAfter+pingTimeout {
				t.Errorf("after %d bytes it was given up after %v", much, took)
			}
		})
	}
}
