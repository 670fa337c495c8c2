// SPDX-License-Identifier: Apache-2.0

package appliance_test

import (
	"crypto/tls"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"oneslot.dev/oneslot/host/appliance"
	"oneslot.dev/oneslot/host/hosttest"
	"oneslot.dev/oneslot/member"
	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/wire"
)

// Whoever may not come in learns why by a code, and so does the operator; who is
// in notices nothing.
func TestWhoIsNotLetIn(t *testing.T) {
	b := start(t, nil)
	inside := b.client("inside", ca).connect()
	stranger := b.client("stranger")
	expired := b.clientFor("expired", -time.Second, ca)
	for _, c := range []struct {
		client *client
		token  string
		code   wire.RefusalCode
	}{
		{stranger, "ca", wire.RefusedUnknown},
		{b.client("other", appliance.Grant{Token: "tls"}), "ca", wire.RefusedToken},
		{b.client("nosuch", appliance.Grant{Token: "gone"}), "gone", wire.RefusedToken},
	} {
		if why := c.client.refused(c.token); !strings.Contains(why, "refused: "+string(c.code)) {
			t.Errorf("client %s was refused for %q, not %s", c.client.name, why, c.code)
		}
		b.tells("connection-refused", "code="+string(c.code), c.client.print.Short(), "reason=")
	}
	// This end sees it first; an end that does not is told.
	if why := expired.refused("ca"); !strings.Contains(why, "expired on") {
		t.Errorf("expired: %q", why)
	}
	if line := expired.knock(); !strings.Contains(line, "refused "+string(wire.RefusedExpired)) {
		t.Errorf("expired: the appliance said %q", line)
	}
	b.tells("connection-refused", "code="+string(wire.RefusedExpired))
	inside.works()
}

// raw makes a TLS connection by hand.
func (c *client) raw() *tls.Conn { return c.rawOver(func(conn net.Conn) net.Conn { return conn }) }

// rawOver makes one on what is made of a connection over TCP.
func (c *client) rawOver(made func(net.Conn) net.Conn) *tls.Conn {
	c.bench.t.Helper()
	pair, err := tls.LoadX509KeyPair(c.cert, c.key)
	if err != nil {
		c.bench.t.Fatal(err)
	}
	socket, err := net.Dial("tcp", c.bench.address)
	if err != nil {
		c.bench.t.Fatal(err)
	}
	c.bench.t.Cleanup(func() { socket.Close() })
	socket.SetDeadline(time.Now().Add(patience))
	conn := tls.Client(made(socket), &tls.Config{Certificates: []tls.Certificate{pair}, InsecureSkipVerify: true, NextProtos: []string{wire.ALPN}})
	if err := conn.Handshake(); err != nil {
		c.bench.t.Fatal(err)
	}
	return conn
}

func (c *client) knock() string {
	c.bench.t.Helper()
	conn := c.raw()
	io.WriteString(conn, "oneslot 1 engine ca\n")
	text, _ := io.ReadAll(conn)
	return string(text)
}

func TestHandshakesThatAreNone(t *testing.T) {
	b := start(t, func(c *appliance.Config) { c.Limits.Handshake = appliance.Duration(300 * time.Millisecond) })
	web := b.client("web", ca)

	t.Run("no certificate", func(t *testing.T) {
		conn, err := tls.Dial("tcp", b.address, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{wire.ALPN}})
		if err == nil {
			_, err = conn.Read(make([]byte, 1))
		}
		if err == nil || !strings.Contains(err.Error(), "certificate") {
			t.Errorf("got %v", err)
		}
		b.tells("code=handshake", "didn't provide a certificate")
	})
	t.Run("old TLS", func(t *testing.T) {
		pair, err := tls.LoadX509KeyPair(web.cert, web.key)
		if err != nil {
			t.Fatal(err)
		}
		_, err = tls.Dial("tcp", b.address, &tls.Config{Certificates: []tls.Certificate{pair}, InsecureSkipVerify: true,
			NextProtos: []string{wire.ALPN}, MaxVersion: tls.VersionTLS12})
		if err == nil {
			t.Error("TLS 1.2 was accepted")
		}
	})
	t.Run("no TLS", func(t *testing.T) {
		conn, err := net.Dial("tcp", b.address)
		if err != nil {
			t.Fatal(err)
		}
		io.WriteString(conn, "GET / HTTP/1.1\r\n\r\n")
		io.ReadAll(conn)
		b.tells("code=handshake", "first record does not look like a TLS handshake")
	})
	t.Run("silence", func(t *testing.T) {
		conn, err := net.Dial("tcp", b.address)
		if err != nil {
			t.Fatal(err)
		}
		io.WriteString(conn, "\x16\x03\x01") // the beginning of a ClientHello
		conn.SetDeadline(time.Now().Add(patience))
		if _, err := conn.Read(make([]byte, 1)); err != io.EOF && !strings.Contains(err.Error(), "reset") {
			t.Errorf("got %v", err)
		}
		b.tells("code=handshake", "i/o timeout")
	})
	t.Run("no greeting", func(t *testing.T) {
		if text, _ := io.ReadAll(web.raw()); !strings.Contains(string(text), "refused malformed") && len(text) > 0 {
			t.Errorf("got %q", text)
		}
		b.tells("code=malformed", web.print.Short())
	})
	t.Run("another version", func(t *testing.T) {
		conn := web.raw()
		io.WriteString(conn, "oneslot 9 engine ca\n")
		if text, _ := io.ReadAll(conn); !strings.Contains(string(text), "refused version this appliance speaks version 1") {
			t.Errorf("got %q", text)
		}
	})
	b.await("who speaks the protocol to be served", func() bool { // in 300 ms, too
		conn, err := web.member("ca").Connect(t.Context())
		if err == nil {
			conn.Close()
		}
		return err == nil
	})
}

// A registered client that speaks nonsense, or stops in the middle, ends itself.
func TestNonsenseAfterTheGreeting(t *testing.T) {
	b := start(t, nil)
	web := b.client("web", ca)
	other := web.connect()
	conn := web.raw()
	io.WriteString(conn, "oneslot 1 engine ca\n")
	answer := make([]byte, len("oneslot 1 welcome\n"))
	if _, err := io.ReadFull(conn, answer); err != nil || string(answer) != "oneslot 1 welcome\n" {
		t.Fatalf("%q, %v", answer, err)
	}
	conn.Write([]byte("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + strings.Repeat("\xff", 4096)))
	io.ReadAll(conn)
	b.tells("client-disconnected", "client=web")
	other.works()
}

// Registered clients open more connections than they may, many at once: as many are
// served as the limit says, and there is never a process more than that and what may be
// half-open. Each of the others is told the limit, and so is the operator.
func TestLimitsOfConnections(t *testing.T) {
	const halfOpen, most, tries = 4, 3, 24
	for limit, set := range map[string]func(*appliance.Limits){
		"connections_per_client":  func(l *appliance.Limits) { l.PerClient = most },
		"connections_per_address": func(l *appliance.Limits) { l.PerAddress = most },
		"limit connections ":      func(l *appliance.Limits) { l.Connections = most },
	} {
		t.Run(strings.TrimSpace(limit), func(t *testing.T) {
			b := start(t, func(c *appliance.Config) {
				c.Limits.HalfOpenPerAddress = halfOpen
				set(&c.Limits)
			})
			clients := []*client{b.client("web", ca)}
			if limit != "connections_per_client" {
				clients = append(clients, b.client("mail", ca))
			}
			const full = "refused: " + string(wire.RefusedFull)
			var mu sync.Mutex
			var in []member.Conn
			refused, highest := 0, 0
			var all sync.WaitGroup
			for i := range tries {
				m := clients[i%len(clients)].member("ca")
				all.Go(func() {
					for {
						conn, err := m.Connect(t.Context())
						mu.Lock()
						highest = max(highest, processes())
						switch {
						case err == nil:
							in = append(in, conn)
						case strings.Contains(err.Error(), full) && strings.Contains(err.Error(), limit):
							refused++
						case strings.Contains(err.Error(), "the appliance closed the connection: it may have too many"):
							mu.Unlock()
							continue // too many are half-open: it comes again
						default:
							t.Errorf("refused for %v", err)
						}
						mu.Unlock()
						return
					}
				})
			}
			all.Wait()
			if len(in) != most || refused != tries-most {
				t.Errorf("%d are served and %d were told why not, of %d", len(in), refused, tries)
			}
			if highest > most+halfOpen {
				t.Errorf("there were %d processes", highest)
			}
			b.tells("connection-refused", "code="+string(wire.RefusedFull), limit, "client=web")
			for _, conn := range in {
				conn.Close()
			}
			b.await("room for another", func() bool {
				conn, err := clients[0].member("ca").Connect(t.Context())
				if err == nil {
					conn.Close()
				}
				return err == nil
			})
		})
	}
}

func TestConnectionsOfOneClientAreLimited(t *testing.T) {
	b := start(t, func(c *appliance.Config) { c.Limits.PerClient = 2 })
	web, mail := b.client("web", ca), b.client("mail", ca)
	first := web.connect()
	web.connect().works()
	if why := web.refused("ca"); !strings.Contains(why, "refused: "+string(wire.RefusedFull)) {
		t.Errorf("refused for %q", why)
	}
	mail.connect().works()
	first.Close()
	b.tells("client-disconnected", "client=web")
	b.await("room for another", func() bool {
		conn, err := web.member("ca").Connect(t.Context())
		if err == nil {
			conn.Close()
		}
		return err == nil
	})
}

func TestSessionsAreLimited(t *testing.T) {
	b := start(t, func(c *appliance.Config) { c.Limits.Sessions = 3 })
	a := b.client("web", ca).connect()
	works := func() pkcs11.RV {
		a.session = a.open()
		return a.do(&wire.Probe{})
	}
	first := a.session
	a.works()
	for range 2 {
		if rv := works(); rv != pkcs11.CKR_OK {
			t.Fatal(rv)
		}
	}
	if rv := works(); rv != pkcs11.CKR_SESSION_COUNT {
		t.Errorf("a fourth session got %v", rv)
	}
	first.Close()
	b.await("room for another", func() bool { return works() == pkcs11.CKR_OK })
}

// library compiles a vendor module that misbehaves.
func library(t *testing.T, source string, options ...string) string {
	t.Helper()
	folder := t.TempDir()
	c, so := filepath.Join(folder, "m.c"), filepath.Join(folder, "m.so")
	if err := os.WriteFile(c, []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("cc", append([]string{"-shared", "-fPIC", "-o", so, c, "-ldl"}, options...)...).CombinedOutput(); err != nil {
		t.Fatalf("cc: %v\n%s", err, out)
	}
	return so
}

// A vendor module that is missing, crashes, or prints, is told of in the log and
// ends no connection but its own.
func TestVendorModulesThatMisbehave(t *testing.T) {
	crash := library(t, `#include <stdlib.h>
		#include <stdio.h>
		__attribute__((constructor)) static void load(void) { fputs("vendor: no licence\n", stderr); abort(); }`)
	exit := library(t, `#include <stdlib.h>
		__attribute__((constructor)) static void load(void) { exit(3); }`)
	chatty := library(t, `#include <dlfcn.h>
		#include <stdio.h>
		long C_GetFunctionList(void *list) {
			long (*real)(void *) = dlsym(dlopen("`+hosttest.SoftHSM+`", RTLD_NOW), "C_GetFunctionList");
			puts("vendor: hello from \033[31mstdout"); fflush(stdout);
			return real(list);
		}`)
	b := start(t, func(c *appliance.Config) {
		ca := c.Tokens[0]
		for name, module := range map[string]string{"missing": "/nowhere/m.so", "crash": crash, "exit": exit, "chatty": chatty} {
			c.Tokens = append(c.Tokens, appliance.Token{Name: name, Module: module, Label: "ca", Env: ca.Env})
		}
		c.Tokens = append(c.Tokens, appliance.Token{Name: "absent", Module: hosttest.SoftHSM, Label: "absent", Env: ca.Env})
	})
	web := b.client("web", ca, appliance.Grant{Token: "missing"}, appliance.Grant{Token: "crash"}, appliance.Grant{Token: "exit"},
		appliance.Grant{Token: "chatty"}, appliance.Grant{Token: "absent"})
	inside := web.connect()

	// What files and what other tokens the appliance has is no client's business.
	for _, token := range []string{"missing", "absent"} {
		if why := web.refused(token); !strings.Contains(why, "refused: "+string(wire.RefusedUnavailable)) || strings.Contains(why, ".so") || strings.Contains(why, "serial") {
			t.Errorf("%s: %q", token, why)
		}
	}
	b.tells("token-unavailable", "token=missing", "client=web", "/nowhere/m.so")
	b.tells("token-unavailable", "token=absent", "client=web", `token \"absent\" is not there`)
	for _, token := range []string{"crash", "exit"} {
		if why := web.refused(token); !strings.Contains(why, ": connection-ended: ") {
			t.Errorf("%s: %q", token, why)
		}
	}
	b.tells("connection-ended-abnormally", "client=web", "from=127.0.0.1", "no licence")
	b.tells("connection-ended-abnormally", "client=web", "from=127.0.0.1", "exit status 3")
	conn, err := web.member("chatty").Connect(t.Context())
	if err != nil {
		t.Fatalf("chatty: %v", err)
	}
	conn.Close()
	if line := b.tells("module-printed", "client=web", "vendor: hello"); strings.Contains(line, "\x1b") {
		t.Error("what a module prints reaches the operator's terminal as it is")
	}
	inside.works()
}

// The process of a connection is killed: that connection ends, and the log says so.
func TestAProcessIsKilled(t *testing.T) {
	b := start(t, nil)
	web := b.client("web", ca)
	a, other := web.connect(), web.connect()
	line := b.tells("client-connected", "client=web")
	pid := strings.Fields(line[strings.Index(line, "process=")+len("process="):])[0]
	if err := exec.Command("kill", "-9", pid).Run(); err != nil {
		t.Fatal(err)
	}
	a.ended()
	b.tells("connection-ended-abnormally", "client=web", "process="+pid, "killed")
	other.works()
}
