// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"context"
	"crypto/tls"
	"testing"
	"time"

	"oneslot.dev/oneslot/member"
	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/test/trickle"
	"oneslot.dev/oneslot/wire"
	"oneslot.dev/oneslot/wire/stream"
)

// hostile answers random numbers, and tells when it is asked to describe itself.
type hostile struct {
	wire.NoCryptoki
	wire.NoToken
	asked func()
}

func (h hostile) Open(wire.View) (wire.HostSession, error) { return h, nil }
func (hostile) Close()                                     {}

func (h hostile) Describe(context.Context, *wire.Describe) pkcs11.RV {
	h.asked()
	return pkcs11.CKR_OK
}

func (hostile) GenerateRandom(_ context.Context, c *wire.GenerateRandom) pkcs11.RV {
	c.Random = wire.Data(make([]byte, c.RandomRoom.Capacity))
	return pkcs11.CKR_OK
}

// An appliance lets a client in, answers each ping, and of its longer answers sends a byte
// now and then, for ever: each wait ends as if it were silent, that for the token's
// description with connecting, and that of a call with its time (F1, field-L4).
func TestAnApplianceTricklesItsAnswers(t *testing.T) {
	answer := func(enough int, asked func()) func(*tls.Conn) {
		return func(conn *tls.Conn) {
			wire.ReadKnock(conn)
			wire.Welcome(conn)
			stream.Serve(trickle.Conn(conn, enough, 100*time.Millisecond), hostile{asked: asked})
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	p := pretend(t, time.Hour, answer(100, cancel))
	fails(t, ctx, p.config(t), p.address+": description of the token: context canceled")

	p = pretend(t, time.Hour, answer(1000, func() {}))
	conn, err := New(p.config(t)).Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	ask := func(n uint64, silence time.Duration) error {
		s, err := conn.Open(wire.TokenView)
		if err != nil {
			return err
		}
		defer s.Close()
		_, err = s.Do(t.Context(), member.Limits{Silence: silence, Stuck: time.Hour}, &wire.GenerateRandom{RandomRoom: wire.Room{Capacity: n}})
		return err
	}
	if err := ask(8, time.Minute); err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	if err := ask(1<<20, 2*time.Second); err == nil {
		t.Error("it was answered")
	}
	if took := time.Since(begin); took < 2*time.Second || took > time.Minute {
		t.Errorf("it took %v", took)
	}
	if err := ask(8, time.Minute); err != nil {
		t.Errorf("one session took the connection with it: %v", err)
	}
}
