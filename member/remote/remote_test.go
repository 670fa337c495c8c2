// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"oneslot.dev/oneslot/certificate"
	"oneslot.dev/oneslot/member"
	"oneslot.dev/oneslot/wire"
)

// An appliance that says what a test wants it to say.
type pretender struct {
	address string
	print   certificate.Fingerprint
	files   string // of certificate and key, without ending
}

// pretend listens, and gives each connection whose handshake is done to answer.
func pretend(t *testing.T, valid time.Duration, answer func(*tls.Conn)) *pretender {
	t.Helper()
	p := &pretender{files: filepath.Join(t.TempDir(), "server")}
	cert, err := certificate.WriteNew(certificate.Wish{Name: "hsm1", Hosts: []string{"hsm1"}, Valid: valid}, p.files+".crt", p.files+".key")
	if err != nil {
		t.Fatal(err)
	}
	p.print = certificate.Of(cert)
	pair, err := tls.LoadX509KeyPair(p.files+".crt", p.files+".key")
	if err != nil {
		t.Fatal(err)
	}
	ln, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{pair}, ClientAuth: tls.RequireAnyClientCert, NextProtos: []string{wire.ALPN}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	p.address = ln.Addr().String()
	go func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				if conn.(*tls.Conn).Handshake() == nil {
					answer(conn.(*tls.Conn))
				}
			}()
		}
	}()
	return p
}

// config is that of a client with a certificate of its own.
func (p *pretender) config(t *testing.T) Config {
	t.Helper()
	file := filepath.Join(t.TempDir(), "client")
	if _, err := certificate.WriteNew(certificate.Wish{Name: "client", Valid: time.Hour}, file+".crt", file+".key"); err != nil {
		t.Fatal(err)
	}
	return Config{Name: "a", Address: p.address, Token: "ca", Certificate: file + ".crt", Key: file + ".key", Server: p.print.String()}
}

// fails connects, and checks that it fails before anything was asked of a token.
func fails(t *testing.T, ctx context.Context, c Config, why string) {
	t.Helper()
	conn, err := New(c).Connect(ctx)
	if err == nil {
		conn.Close()
		t.Errorf("connected; want %q", why)
		return
	}
	var fault *member.Fault
	if !errors.As(err, &fault) || fault.Sent || fault.Member != "a" || !strings.Contains(err.Error(), why) {
		t.Errorf("got %v; want %q", err, why)
	}
}

func refuse(conn *tls.Conn) {
	wire.ReadKnock(conn)
	wire.SendRefusal(conn, &wire.Refusal{Code: wire.RefusedToken, Text: "not yours"})
}

// The appliance is the pinned one, or none: a certificate for the same name is
// another appliance.
func TestTheApplianceIsPinned(t *testing.T) {
	p := pretend(t, time.Hour, refuse)
	other := pretend(t, time.Hour, refuse)
	fails(t, t.Context(), p.config(t), "the appliance refused: token-not-granted: not yours")

	c := p.config(t)
	c.Address = other.address
	fails(t, t.Context(), c, "another certificate than the pinned one, "+other.print.String())

	c = p.config(t)
	c.Server, c.ServerName, c.ServerCA = "", "hsm1", p.files+".crt"
	fails(t, t.Context(), c, "the appliance refused")
	c.ServerName = "hsm2"
	fails(t, t.Context(), c, "not hsm2: correct server_name")
	c.ServerName, c.ServerCA = "hsm1", other.files+".crt"
	fails(t, t.Context(), c, "no authority in server_ca ("+c.ServerCA+") has issued it; it is "+p.print.String())
	c.ServerCA = filepath.Join(t.TempDir(), "none")
	fails(t, t.Context(), c, "server_ca: open "+c.ServerCA)
}

func TestCertificatesThatEnded(t *testing.T) {
	p := pretend(t, -time.Second, refuse)
	fails(t, t.Context(), p.config(t), "certificate of the appliance: the certificate expired on")

	c := pretend(t, time.Hour, refuse).config(t)
	file := filepath.Join(t.TempDir(), "old")
	if _, err := certificate.WriteNew(certificate.Wish{Name: "client", Valid: -time.Second}, file+".crt", file+".key"); err != nil {
		t.Fatal(err)
	}
	c.Certificate, c.Key = file+".crt", file+".key"
	fails(t, t.Context(), c, "certificate of this client")
	c.Key = filepath.Join(t.TempDir(), "none")
	fails(t, t.Context(), c, "certificate of this client")
}

// Whatever answers, or does not, Connect ends with its context (field-G2).
func TestConnectAlwaysEnds(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0") // nobody accepts
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	wait := func(conn *tls.Conn) { io.Copy(io.Discard, conn) }
	mute := pretend(t, time.Hour, wait)
	late := pretend(t, time.Hour, func(conn *tls.Conn) {
		wire.ReadKnock(conn)
		wire.Welcome(conn)
		wait(conn) // and no frame
	})
	for what, address := range map[string]string{"TLS handshake": silent.Addr().String(), "greeting": mute.address, "": late.address} {
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		p := mute
		if address == late.address {
			p = late
		}
		c := p.config(t)
		c.Address = address
		fails(t, ctx, c, what)
		cancel()
	}
	gone := mute.config(t)
	gone.Address = silent.Addr().String()
	silent.Close()
	fails(t, t.Context(), gone, "refused: nothing listens there")
	fails(t, t.Context(), pretend(t, time.Hour, func(*tls.Conn) {}).config(t), "the appliance closed the connection")
	fails(t, t.Context(), pretend(t, time.Hour, func(c *tls.Conn) { io.WriteString(c, "SSH-2.0-x\n"); wait(c) }).config(t), "no oneslot appliance")
}

// Why an appliance is not reached comes with what to look at.
func TestWhatToLookAt(t *testing.T) {
	c := pretend(t, time.Hour, refuse).config(t)
	plain, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close()
	go func() {
		if conn, err := plain.Accept(); err == nil {
			io.WriteString(conn, "SSH-2.0-x\r\n")
			io.Copy(io.Discard, conn)
		}
	}()
	c.Address = plain.Addr().String()
	fails(t, t.Context(), c, "it is no appliance: is the port right?")

	dial := func(err error) error { return &net.OpError{Op: "dial", Net: "tcp", Err: err} }
	for want, err := range map[string]error{
		"does `oneslot-member listen` run": dial(os.NewSyscallError("connect", syscall.ECONNREFUSED)),
		"is it up":                         dial(os.NewSyscallError("connect", syscall.EHOSTUNREACH)),
		"routing of this host":             dial(os.NewSyscallError("connect", syscall.ENETUNREACH)),
		"does a firewall let it through":   dial(os.NewSyscallError("connect", syscall.ETIMEDOUT)),
		"no host is called so":             dial(&net.DNSError{Err: "no such host", Name: "x.invalid", IsNotFound: true}),
		"the name service gives no answer": dial(&net.DNSError{Err: "server misbehaving", Name: "x.invalid", IsTemporary: true}),
	} {
		if got := New(c).explain(t.Context(), "connect", err).Error(); !strings.HasPrefix(got, c.Address+": connect: ") || !strings.Contains(got, want) {
			t.Errorf("got %s; want %q", got, want)
		}
	}
}
