// SPDX-License-Identifier: Apache-2.0

package appliance_test

import (
	"crypto/x509"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"oneslot.dev/oneslot/certificate"
	"oneslot.dev/oneslot/host/appliance"
	"oneslot.dev/oneslot/member/remote"
	"oneslot.dev/oneslot/wire"
)

// shortLived is a client that is connected, and whose certificate soon ends: later
// than it takes to connect, on this machine.
func (b *bench) shortLived(grants ...appliance.Grant) (*client, *application) {
	b.t.Helper()
	for valid := 2 * time.Second; ; valid *= 2 {
		c := b.clientFor(fmt.Sprint("short", valid), valid, grants...)
		conn, err := c.member("ca").Connect(b.t.Context())
		if err == nil {
			b.t.Cleanup(conn.Close)
			a := &application{Conn: conn, t: b.t}
			if a.session, err = conn.Open(wire.TokenView); err == nil {
				return c, a
			}
		}
		if valid > patience {
			b.t.Fatal(err)
		}
	}
}

// field-L9: when a certificate ends, so does its connection, in peace.
func TestACertificateExpiresDuringAConnection(t *testing.T) {
	b := start(t, nil)
	short, a := b.shortLived(ca)
	draining := a.Conn.(interface{ Draining() <-chan struct{} }).Draining()
	b.await("the end of the certificate", func() bool {
		b.listener.Reload()
		select {
		case <-draining:
			return true
		default:
			return false
		}
	})
	a.works()
	a.Close()
	b.tells("connection-draining", "client="+short.name, "expired on")
	if why := short.refused("ca"); !strings.Contains(why, "expired on") {
		t.Errorf("refused for %q", why)
	}
	b.tells("certificate-expires", "client "+short.name)
}

// field-L9: the appliance's own certificate ends while a client is connected: the client
// goes on, nobody else comes in, and both operators are told why, until the next one is
// there.
func TestTheCertificateOfTheApplianceEnds(t *testing.T) {
	b := start(t, nil)
	replace := func(valid time.Duration) *x509.Certificate {
		t.Helper()
		os.Remove(b.config.Certificate)
		os.Remove(b.config.Key)
		cert, err := certificate.WriteNew(certificate.Wish{Name: "appliance", Hosts: []string{"127.0.0.1"}, Valid: valid}, b.config.Certificate, b.config.Key)
		if err != nil {
			t.Fatal(err)
		}
		b.server = certificate.Of(cert)
		return cert
	}
	web := b.client("web", ca)
	var m *remote.Member
	var a *application
	var own *x509.Certificate
	for valid := 2 * time.Second; a == nil; valid *= 2 { // later than it takes to connect, on this machine
		own = replace(valid)
		m = web.member("ca")
		conn, err := m.Connect(t.Context())
		if err == nil {
			t.Cleanup(conn.Close)
			a = &application{Conn: conn, t: t}
			a.session = a.open()
		} else if valid > patience {
			t.Fatal(err)
		}
	}
	b.await("the end of the certificate", func() bool { return time.Now().After(own.NotAfter) })
	b.listener.Reload()
	b.tells("certificate-expires", "whose=appliance", b.config.Certificate, "expired on")
	a.works()
	if why := web.refused("ca"); !strings.Contains(why, "certificate of the appliance: the certificate expired on "+own.NotAfter.UTC().Format(time.RFC3339)) {
		t.Errorf("refused for %q", why)
	}
	b.tells("connection-refused", "code=handshake", "bad certificate")
	named := remote.New(remote.Config{Name: "m", Address: b.address, Token: "ca", Certificate: web.cert, Key: web.key,
		ServerName: "127.0.0.1", ServerCA: b.config.Certificate})
	if _, err := named.Connect(t.Context()); err == nil || !strings.Contains(err.Error(), "certificate of the appliance: ") || !strings.Contains(err.Error(), "expired") {
		t.Errorf("pinned by its name: %v", err)
	}
	told := false
	for _, d := range m.Deadlines() {
		told = told || strings.Contains(d.Warning, "the certificate of the appliance "+b.address+" expired on")
	}
	if !told {
		t.Errorf("status is not told: %+v", m.Deadlines())
	}

	replace(time.Hour)
	b.listener.Reload()
	web.connect().works()
	a.works()
}

// field-L9: a client gets its next certificate, registered beside the old one, while it is
// connected: that connection goes on, the next one of the same application is made with the
// new file, and it goes on when the old one is taken away.
func TestAClientGetsItsNextCertificate(t *testing.T) {
	b := start(t, nil)
	web := b.client("web", ca)
	m := web.member("ca")
	connect := func() *application {
		t.Helper()
		conn, err := m.Connect(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(conn.Close)
		a := &application{Conn: conn, t: t}
		a.session = a.open()
		return a
	}
	change := func(name string, change func(*appliance.Client) *appliance.Client) {
		t.Helper()
		if err := b.register.Change(name, func(c *appliance.Client) (*appliance.Client, error) { return change(c), nil }); err != nil {
			t.Fatal(err)
		}
	}
	// looked has all processes look their clients up again. Those that may stay do not
	// say so: one that may not does.
	looked := func() {
		t.Helper()
		canary := b.client(fmt.Sprint("canary", time.Now().UnixNano()), ca)
		gone := canary.connect()
		b.listener.Reload()
		change(canary.name, func(*appliance.Client) *appliance.Client { return nil })
		b.listener.Reload()
		gone.ended()
	}
	a := connect()
	old := web.print
	os.Remove(web.cert)
	os.Remove(web.key)
	next, err := certificate.WriteNew(certificate.Wish{Name: "web", Valid: time.Hour}, web.cert, web.key)
	if err != nil {
		t.Fatal(err)
	}
	change("web", func(c *appliance.Client) *appliance.Client {
		c.Certificates = append(c.Certificates, appliance.Certificate{Fingerprint: certificate.Of(next)})
		return c
	})
	looked()
	a.works()
	another := connect()
	b.tells("client-connected", "client=web", certificate.Of(next).Short())
	b.tells("client-connected", "client=web", old.Short())
	a.works()

	change("web", func(c *appliance.Client) *appliance.Client {
		c.Certificates = c.Certificates[1:]
		return c
	})
	looked()
	a.ended()
	b.tells("client-disconnected", "client=web", old.Short(), string(wire.RefusedUnknown))
	another.works()
}
