// SPDX-License-Identifier: Apache-2.0

package appliance_test

import (
	"crypto/tls"
	"io"
	"net"
	"testing"
	"time"

	"oneslot.dev/oneslot/host/appliance"
	"oneslot.dev/oneslot/host/hosttest"
	"oneslot.dev/oneslot/member"
	"oneslot.dev/oneslot/member/remote"
	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/test/trickle"
	"oneslot.dev/oneslot/wire"
	"oneslot.dev/oneslot/wire/stream"
)

// enter makes a connection by hand that the appliance has let in.
func (c *client) enter() *tls.Conn {
	c.bench.t.Helper()
	conn := c.raw()
	if err := wire.Knock(conn, "ca"); err != nil {
		c.bench.t.Fatal(err)
	}
	conn.SetDeadline(time.Time{})
	return conn
}

// large is a call whose request is as long as so many bytes.
func large(n int) *wire.Digest {
	return &wire.Digest{Data: wire.Data(make([]byte, n)), DigestRoom: wire.Room{Capacity: 32}}
}

// field-L4: a client sends a byte of a request now and then, for ever, and answers every
// ping. Its connection ends after the time that the limits say, and no other does.
func TestAClientTricklesARequest(t *testing.T) {
	t.Parallel()
	const most = 15 * time.Second // a ping comes before
	b := start(t, func(c *appliance.Config) { c.Limits.Message = appliance.Duration(most) })
	web := b.client("web", ca)
	other := web.connect()
	peer := stream.New(trickle.Conn(web.enter(), 500, time.Second))
	defer peer.Close()
	s, err := peer.Open(wire.TokenView)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.Do(t.Context(), patience, patience, &wire.Probe{}); err != nil {
		t.Fatalf("a short request: %v", err)
	}
	begin := time.Now()
	if _, _, err := s.Do(t.Context(), 10*patience, 10*patience, large(1<<10)); err == nil {
		t.Error("it was answered")
	}
	if took := time.Since(begin); took < most {
		t.Errorf("it ended after %v", took)
	}
	b.tells("client-disconnected", "client=web", "not completed a request", "(limits: message)")
	other.works()
}

// A client stops in the middle of a frame, or of a record of TLS, and says no more. It
// cannot answer a ping then, and is given up.
func TestAClientStopsInTheMiddle(t *testing.T) {
	t.Parallel()
	b := start(t, nil)
	const opening = "\x0a\x00\x00\x00\x03\x01\x00\x00\x00group"
	const sign = "\x05\x00\x00\x00\x08\x00\x00\x00\x00"
	frame, record := b.client("frame", ca), b.client("record", ca)

	conn := frame.enter()
	io.WriteString(conn, opening+"\x00\x04\x00\x00\x02\x01\x00\x00\x00begun")

	other := record.connect() // and a connection as it should be
	socket := &stopping{}
	raw := record.rawOver(func(c net.Conn) net.Conn { socket.Conn = c; return socket })
	if err := wire.Knock(raw, "ca"); err != nil {
		t.Fatal(err)
	}
	raw.SetDeadline(time.Time{})
	io.WriteString(raw, opening)
	socket.half = true
	io.WriteString(raw, sign) // half of its record gets out

	b.tells("client-disconnected", "client=frame")
	b.tells("client-disconnected", "client=record")
	other.works()
}

// stopping is a connection that sends half of what it should.
type stopping struct {
	net.Conn
	half bool
}

func (s *stopping) Write(b []byte) (int, error) {
	if s.half {
		s.Conn.Write(b[:len(b)/2])
		return len(b), nil
	}
	return s.Conn.Write(b)
}

// N1: a link that is slow and long, but honest, 1 KiB in a second and 200 ms each way:
// nobody takes it for a peer that means harm, neither its pings nor a request nor an
// answer that takes longer than a peer may be silent.
func TestASlowLinkIsNoHarm(t *testing.T) {
	t.Parallel()
	b := start(t, func(c *appliance.Config) { c.Limits.Handshake = appliance.Duration(patience) })
	address, err := trickle.Link(b.address, 1<<10, 200*time.Millisecond, t.Context().Done())
	if err != nil {
		t.Fatal(err)
	}
	web := b.client("web", ca)
	m := remote.New(remote.Config{Name: "m", Address: address, Token: "ca", Certificate: web.cert, Key: web.key, Server: b.server.String()})
	var conn member.Conn
	b.await("a connection", func() bool { // on a busy machine not at once
		conn, err = m.Connect(t.Context())
		return err == nil
	})
	defer conn.Close()
	a := &application{Conn: conn, t: t}
	a.session = a.open()
	if rv := a.login(hosttest.UserPIN); rv != pkcs11.CKR_OK {
		t.Fatal(rv)
	}
	begin := time.Now()
	a.must(&wire.DigestInit{Mechanism: pkcs11.Mechanism{Type: pkcs11.CKM_SHA256}})
	a.must(large(24 << 10))
	if took := time.Since(begin); took < 24*time.Second {
		t.Errorf("24 KiB took %v and were not slow", took)
	}
	begin = time.Now()
	a.must(&wire.GenerateRandom{RandomRoom: wire.Room{Capacity: 16 << 10}})
	if took := time.Since(begin); took < 16*time.Second {
		t.Errorf("16 KiB took %v and were not slow", took)
	}
	a.works()
}
