// SPDX-License-Identifier: Apache-2.0

package group

import (
	"context"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"oneslot.dev/oneslot/config"
	"oneslot.dev/oneslot/member"
	"oneslot.dev/oneslot/member/fake"
	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/wire"
	"oneslot.dev/oneslot/wire/stream"
)

// wired is a fake member that is reached as an appliance is: what beats, is probed and
// rings is the real thing.
type wired struct{ *fake.Member }

// Connect makes a connection as remote.Member does, without the network.
func (w wired) Connect(ctx context.Context) (member.Conn, error) {
	conn, err := w.Member.Connect(ctx)
	if err != nil {
		return nil, err
	}
	ours, theirs := net.Pipe()
	go stream.Serve(theirs, wiredHost{conn})
	return member.Greet(ctx, w.Name(), stream.New(ours), conn.Close)
}

// wiredHost is the appliance's side of one connection.
type wiredHost struct{ conn member.Conn }

func (h wiredHost) Open(view wire.View) (wire.HostSession, error) {
	session, err := h.conn.Open(view)
	return wiredSession{session: session}, err
}

type wiredSession struct {
	wire.NoCryptoki
	wire.NoToken
	session member.Session
}

func (s wiredSession) Close() { s.session.Close() }

// Around has the fake answer, however long it takes, in place of what knows no call.
func (s wiredSession) Around(ctx context.Context, c wire.Call, answer func()) {
	answer()
	if _, err := s.session.Do(ctx, member.Limits{Silence: 24 * time.Hour, Stuck: 24 * time.Hour}, c); err != nil {
		wire.Refuse(c, pkcs11.CKR_DEVICE_ERROR)
	}
}

// F2, K4: with the times that nobody configured, a key generation of 60 s, three times
// command_timeout, is no failure on the way that leads to an appliance. It beats; no
// member is dropped and no probe fails; what else there is to do goes on; one key comes of
// it, on each member.
func TestAGenerationOfAMinute(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		const slow = time.Minute
		b := &bench{t: t}
		options := config.DefaultGroup("g")
		options.Members = []string{"a", "b", "c"}
		if most := options.CommandTimeout; most != slow/3 {
			t.Fatalf("command_timeout is %v", most)
		}
		var members []member.Member
		for _, name := range options.Members {
			m := fake.New(name, pin)
			b.members = append(b.members, m)
			members = append(members, wired{m})
		}
		b.g = New(options, members, wire.GroupView, func(e Event) {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.events = append(b.events, e)
		})
		defer b.g.Close()
		b.g.Start()
		b.g.Settle(t.Context())
		b.login()
		synctest.Wait() // a login has the members compared once more, beside it
		b.members[0].Script(func(c wire.Call) fake.Outcome {
			if c.Number() == wire.NumberGenerateKeyPair {
				time.Sleep(slow)
			}
			return fake.Answered
		})
		b.mu.Lock()
		b.events = nil
		b.mu.Unlock()

		var others sync.WaitGroup
		done := make(chan struct{})
		begin := time.Now()
		others.Go(func() {
			for {
				select {
				case <-done:
					return
				case <-time.After(time.Second):
				}
				asked := time.Now()
				if _, rv := b.random(); rv != pkcs11.CKR_OK || time.Since(asked) > 0 {
					t.Errorf("after %v a call got %v in %v", asked.Sub(begin), rv, time.Since(asked))
				}
			}
		})
		_, rv := b.g.Create(func(h *Hold) ([]uint64, pkcs11.RV, error) {
			label := pkcs11.Template{pkcs11.Bytes(pkcs11.CKA_LABEL, []byte("k"))}
			call := wire.GenerateKeyPair{Public: label, Private: label}
			_, err := h.Do(&call)
			return []uint64{call.PublicKey, call.PrivateKey}, call.RV, err
		})
		if took := time.Since(begin); rv != pkcs11.CKR_OK || took < slow || took > slow+time.Second {
			t.Errorf("%v after %v", rv, took)
		}
		close(done)
		others.Wait()
		for i, want := range []int{1, 0, 0} {
			if n := b.members[i].Token.Executed(wire.NumberGenerateKeyPair); n != want {
				t.Errorf("member %d made %d keys, not %d", i, n, want)
			}
			if tries := b.members[i].Tries(); tries != 1 {
				t.Errorf("member %d was connected %d times", i, tries)
			}
		}
		b.equal(2)
		b.mu.Lock()
		defer b.mu.Unlock()
		for _, e := range b.events {
			t.Errorf("an event: %+v", e)
		}
	})
}
