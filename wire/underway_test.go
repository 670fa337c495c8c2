// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"context"
	"io"
	"net"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"oneslot.dev/oneslot/pkcs11"
)

func TestUnderway(t *testing.T) {
	for _, c := range []struct {
		what  string
		takes []time.Duration
		want  time.Duration
	}{
		{"nothing", nil, 0},
		{"a call", []time.Duration{3 * time.Second}, 3 * time.Second},
		{"several", []time.Duration{time.Second, 9 * time.Second, 0}, 9 * time.Second},
		{"one that hangs", []time.Duration{time.Second, time.Hour}, LastCalls},
	} {
		synctest.Test(t, func(t *testing.T) {
			var u Underway
			var all sync.WaitGroup
			defer all.Wait()
			for _, d := range c.takes {
				if !u.Begin() {
					t.Fatalf("%s: it does not begin", c.what)
				}
				all.Go(func() {
					time.Sleep(d)
					u.End()
				})
			}
			begin := time.Now()
			u.Finish(LastCalls)
			if u.Begin() {
				t.Errorf("%s: a call begins at the end", c.what)
			}
			if took := time.Since(begin); took != c.want {
				t.Errorf("%s: it took %v, want %v", c.what, took, c.want)
			}
		})
	}
}

// lasting is a host whose session is at work until the engine is gone, and a bit longer.
type lasting struct {
	NoCryptoki
	NoToken
	began    chan struct{}
	hang     chan struct{} // closed: it does not hang
	finished atomic.Bool
}

func (h *lasting) Close() {}

func (h *lasting) GenerateRandom(ctx context.Context, c *GenerateRandom) pkcs11.RV {
	h.began <- struct{}{}
	<-ctx.Done()
	h.finish()
	return pkcs11.CKR_OK
}

func (h *lasting) finish() {
	<-h.hang
	for range 1000 {
		runtime.Gosched()
	}
	h.finished.Store(true)
}

func (h *lasting) Open(View) (HostSession, error) { return h, nil }

// directly does the same on the direct path.
type directly struct{ *lasting }

func (h directly) Open(View) (HostSession, error) { return h, nil }

func (h directly) GenerateRandom(context.Context, *GenerateRandom) pkcs11.RV { return pkcs11.CKR_OK }

func (h directly) Direct(in, out uintptr) ([]byte, error) {
	h.began <- struct{}{}
	syscall.SetNonblock(int(in), false)
	for n := 1; n > 0; {
		n, _ = syscall.Read(int(in), make([]byte, 1))
	}
	h.finish()
	return nil, io.EOF
}

// The process of a member ends when ServeSockets returns: not in the middle of a call, and
// not never.
func TestSocketsEndAfterWhatIsUnderWay(t *testing.T) {
	for name, hangs := range map[string]bool{"call": false, "direct path": false, "call that hangs": true, "direct path that hangs": true} {
		t.Run(name, func(t *testing.T) {
			ours, theirs, err := SocketPair(syscall.SOCK_SEQPACKET)
			if err != nil {
				t.Fatal(err)
			}
			control, err := net.FileConn(theirs)
			theirs.Close()
			if err != nil {
				t.Fatal(err)
			}
			l := &lasting{began: make(chan struct{}, 1), hang: make(chan struct{})}
			release := func() { close(l.hang) }
			bound := patience
			if hangs {
				bound = time.Millisecond
				defer release()
			} else {
				release()
			}
			var host Host = l
			if name[0] == 'd' {
				host = directly{l}
			}
			served := make(chan error, 1)
			go func() { served <- serveSockets(control.(*net.UnixConn), host, bound) }()
			client := NewSockets(ours)
			session, err := client.Open(GroupView)
			if err != nil {
				t.Fatal(err)
			}
			go session.Do(t.Context(), patience, patience, &GenerateRandom{})
			<-l.began
			client.Close()
			if err := <-served; err != nil {
				t.Error(err)
			}
			if l.finished.Load() == hangs {
				t.Errorf("finished: %v", l.finished.Load())
			}
		})
	}
}
