// SPDX-License-Identifier: Apache-2.0

package appliance_test

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"oneslot.dev/oneslot/certificate"
	"oneslot.dev/oneslot/host/appliance"
	"oneslot.dev/oneslot/host/hosttest"
	"oneslot.dev/oneslot/member"
	"oneslot.dev/oneslot/member/remote"
	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/wire"
)

// patience is how long a condition may take to come about on a busy machine.
const patience = time.Minute

// A bench is an appliance on loopback, with the program as it is installed and a
// real token, and what it logs.
type bench struct {
	t        testing.TB
	config   *appliance.Config
	register appliance.Register
	listener *appliance.Listener
	address  string
	server   certificate.Fingerprint
	folder   string
	stop     context.CancelFunc
	done     chan struct{}

	mu  sync.Mutex // guards log
	log strings.Builder
}

func (b *bench) Write(line []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.log.Write(line)
}

func (b *bench) logged() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.log.String()
}

// start makes an appliance with one token, "ca", and runs it.
func start(t testing.TB, change func(*appliance.Config)) *bench {
	t.Helper()
	soft := hosttest.Token(t, "ca")
	folder := t.TempDir()
	b := &bench{t: t, folder: folder, done: make(chan struct{})}
	b.config = &appliance.Config{
		Certificate: filepath.Join(folder, "appliance.crt"), Key: filepath.Join(folder, "appliance.key"),
		Register: filepath.Join(folder, "clients"),
		Tokens:   []appliance.Token{{Name: "ca", Module: hosttest.SoftHSM, Label: "ca", Env: map[string]string{"SOFTHSM2_CONF": soft.Conf}}},
		Limits:   appliance.DefaultLimits(),
	}
	if change != nil {
		change(b.config)
	}
	b.register = appliance.Register(b.config.Register)
	if err := os.Mkdir(b.config.Register, 0o700); err != nil {
		t.Fatal(err)
	}
	cert, err := certificate.WriteNew(certificate.Wish{Name: "appliance", Hosts: []string{"127.0.0.1"}, Valid: 90 * 24 * time.Hour}, b.config.Certificate, b.config.Key)
	if err != nil {
		t.Fatal(err)
	}
	b.server = certificate.Of(cert)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	b.address = ln.Addr().String()
	b.listener = &appliance.Listener{
		Program: []string{hosttest.Program(t), "connection"},
		Env:     os.Environ(),
		Load:    func() (*appliance.Config, error) { return b.config, nil },
		Log:     slog.New(slog.NewTextHandler(b, nil)),
	}
	var ctx context.Context
	ctx, b.stop = context.WithCancel(context.Background())
	go func() {
		defer close(b.done)
		if err := b.listener.Serve(ctx, ln); err != nil {
			t.Error(err)
		}
	}()
	t.Cleanup(func() {
		b.stop()
		b.listener.Kill()
		<-b.done
		if t.Failed() {
			t.Logf("the appliance's log:\n%s", b.logged())
		}
	})
	return b
}

// A client of the appliance: its certificate and what it is granted.
type client struct {
	bench     *bench
	name      string
	cert, key string
	print     certificate.Fingerprint
}

// client makes a certificate, and registers it with the grants.
func (b *bench) client(name string, grants ...appliance.Grant) *client {
	b.t.Helper()
	return b.clientFor(name, time.Hour, grants...)
}

func (b *bench) clientFor(name string, valid time.Duration, grants ...appliance.Grant) *client {
	b.t.Helper()
	c := &client{bench: b, name: name, cert: filepath.Join(b.folder, name+".crt"), key: filepath.Join(b.folder, name+".key")}
	cert, err := certificate.WriteNew(certificate.Wish{Name: name, Valid: valid}, c.cert, c.key)
	if err != nil {
		b.t.Fatal(err)
	}
	c.print = certificate.Of(cert)
	if len(grants) > 0 {
		err = b.register.Change(name, func(*appliance.Client) (*appliance.Client, error) {
			return &appliance.Client{Name: name, Certificates: []appliance.Certificate{{Fingerprint: c.print, Expires: cert.NotAfter}}, Grants: grants}, nil
		})
		if err != nil {
			b.t.Fatal(err)
		}
	}
	return c
}

// ca is the usual grant.
var ca = appliance.Grant{Token: "ca"}

func (c *client) member(token string) *remote.Member {
	return remote.New(remote.Config{
		Name: "m", Address: c.bench.address, Token: token, Certificate: c.cert, Key: c.key, Server: c.bench.server.String(),
	})
}

// connect is one application of the client.
func (c *client) connect() *application {
	c.bench.t.Helper()
	ctx, cancel := context.WithTimeout(c.bench.t.Context(), patience)
	defer cancel()
	conn, err := c.member("ca").Connect(ctx)
	if err != nil {
		c.bench.t.Fatal(err)
	}
	c.bench.t.Cleanup(conn.Close)
	a := &application{Conn: conn, t: c.bench.t}
	a.session = a.open()
	return a
}

// refused connects, which must fail, and returns the reason.
func (c *client) refused(token string) string {
	c.bench.t.Helper()
	ctx, cancel := context.WithTimeout(c.bench.t.Context(), patience)
	defer cancel()
	conn, err := c.member(token).Connect(ctx)
	if err == nil {
		conn.Close()
		c.bench.t.Fatalf("client %s was let in", c.name)
	}
	return err.Error()
}

// An application is one connection.
type application struct {
	member.Conn
	t       testing.TB
	session member.Session
}

func (a *application) open() member.Session {
	a.t.Helper()
	s, err := a.Open(wire.TokenView)
	if err != nil {
		a.t.Fatal(err)
	}
	return s
}

// do makes a call, which must be answered.
func (a *application) do(c wire.Call) pkcs11.RV {
	a.t.Helper()
	if _, err := a.session.Do(a.t.Context(), member.Limits{Silence: patience, Stuck: patience}, c); err != nil {
		a.t.Fatalf("%v: %v", c.Number(), err)
	}
	return c.Result()
}

// must makes a call, which must succeed.
func (a *application) must(c wire.Call) {
	a.t.Helper()
	if rv := a.do(c); rv != pkcs11.CKR_OK {
		a.t.Fatalf("%v: %v", c.Number(), rv)
	}
}

func (a *application) login(pin string) pkcs11.RV {
	a.t.Helper()
	return a.do(&wire.Login{User: pkcs11.CKU_USER, Pin: pkcs11.PIN(pin)})
}

// key makes a secret key and returns its handle.
func (a *application) key(label string, onToken bool) uint64 {
	a.t.Helper()
	call := generate(label, onToken)
	a.must(call)
	return call.Key
}

func generate(label string, onToken bool) *wire.GenerateKey {
	return &wire.GenerateKey{
		Mechanism: pkcs11.Mechanism{Type: pkcs11.CKM_AES_KEY_GEN},
		Template: pkcs11.Template{
			pkcs11.Ulong(pkcs11.CKA_VALUE_LEN, 32), pkcs11.Bool(pkcs11.CKA_TOKEN, onToken), pkcs11.Bool(pkcs11.CKA_PRIVATE, true),
			pkcs11.Bool(pkcs11.CKA_ENCRYPT, true), pkcs11.Bytes(pkcs11.CKA_LABEL, []byte(label)),
		},
	}
}

// encrypt uses a key.
func (a *application) encrypt(key uint64) pkcs11.RV {
	a.t.Helper()
	begin := &wire.EncryptInit{Mechanism: pkcs11.Mechanism{Type: pkcs11.CKM_AES_CBC_PAD, Parameter: make([]byte, 16)}, Key: key}
	call := &wire.Encrypt{Data: wire.Data([]byte("data")), EncryptedRoom: wire.Room{Capacity: 64}}
	n, err := a.session.Do(a.t.Context(), member.Limits{Silence: patience, Stuck: patience}, begin, call)
	if err != nil {
		a.t.Fatal(err)
	}
	if n == 1 {
		return begin.RV
	}
	return call.RV
}

// ended waits until the connection is gone.
func (a *application) ended() {
	a.t.Helper()
	select {
	case <-a.Done():
	case <-time.After(patience):
		a.t.Fatal("the connection does not end")
	}
}

// await waits for something.
func (b *bench) await(what string, holds func() bool) {
	b.t.Helper()
	for end := time.Now().Add(patience); !holds(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			b.t.Fatalf("waited in vain: %s", what)
		}
	}
}

// tells waits for one line of the log with all the words.
func (b *bench) tells(words ...string) string {
	b.t.Helper()
	found := ""
	b.await(fmt.Sprintf("a line of the log with %q", words), func() bool {
		for line := range strings.Lines(b.logged()) {
			if has(line, words) {
				found = line
				return true
			}
		}
		return false
	})
	return found
}

func has(line string, words []string) bool {
	for _, w := range words {
		if !strings.Contains(line, w) {
			return false
		}
	}
	return true
}

// works checks that a connected application is served.
func (a *application) works() {
	a.t.Helper()
	a.must(&wire.Probe{})
}
