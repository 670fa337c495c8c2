// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"oneslot.dev/oneslot/config"
	"oneslot.dev/oneslot/member"
	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/wire"
)

// A bench is a desk with tokens that are only described.
type bench struct {
	t        *testing.T
	out, err bytes.Buffer
	env      map[string]string
	tokens   map[string]*token // by the member's name

	mu    sync.Mutex
	calls []string // "login a", in order; guarded by mu
}

// A token answers as told.
type token struct {
	wire.Description
	unreachable error
	deadlines   []member.Deadline
	dangers     []string
	login       pkcs11.RV
	join        pkcs11.RV
}

func newBench(t *testing.T) *bench {
	return &bench{t: t, env: map[string]string{}, tokens: map[string]*token{}}
}

// run is one command line. It returns the exit code, and leaves the texts.
func (b *bench) run(args ...string) int {
	b.t.Helper()
	b.out.Reset()
	b.err.Reset()
	none, err := os.Open(os.DevNull)
	if err != nil {
		b.t.Fatal(err)
	}
	defer none.Close()
	d := &desk{in: none, out: &b.out, err: &b.err, getenv: func(n string) string { return b.env[n] }, reach: b.reach}
	return run(b.t.Context(), d, args)
}

func (b *bench) reach(_ *config.Config, m *config.Member) (member.Member, error) {
	return &described{b, m.Name}, nil
}

type described struct {
	bench *bench
	name  string
}

func (m *described) Name() string { return m.name }

func (m *described) Deadlines() []member.Deadline {
	if t := m.bench.tokens[m.name]; t != nil {
		return t.deadlines
	}
	return nil
}

func (m *described) Dangers() []string {
	if t := m.bench.tokens[m.name]; t != nil {
		return t.dangers
	}
	return nil
}

func (m *described) Connect(context.Context) (member.Conn, error) {
	t := m.bench.tokens[m.name]
	if t == nil {
		t = &token{}
		m.bench.tokens[m.name] = t
	}
	if t.unreachable != nil {
		return nil, &member.Fault{Member: m.name, Err: t.unreachable}
	}
	return &describedConn{m, t}, nil
}

type describedConn struct {
	*described
	token *token
}

func (c *describedConn) Token() *wire.Description               { return &c.token.Description }
func (c *describedConn) Open(wire.View) (member.Session, error) { return c, nil }
func (c *describedConn) LastSign() time.Time                    { return time.Time{} }
func (c *describedConn) Done() <-chan struct{}                  { return nil }
func (c *describedConn) Err() error                             { return nil }
func (c *describedConn) Close()                                 {}

func (c *describedConn) Do(_ context.Context, _ member.Limits, calls ...wire.Call) (int, error) {
	c.bench.mu.Lock()
	defer c.bench.mu.Unlock()
	switch call := calls[0].(type) {
	case *wire.Login:
		c.bench.calls = append(c.bench.calls, "login "+c.name)
		call.RV = c.token.login
	case *wire.Join:
		c.bench.calls = append(c.bench.calls, "join "+c.name)
		if call.RV = c.token.join; call.RV == pkcs11.CKR_OK {
			call.Domain = bytes.Repeat(call.Secret[:1], 32)
		}
	default:
		return 0, &member.Fault{Member: c.name, Sent: true, Err: errors.New("a call that tools do not make")}
	}
	return 1, nil
}

// good is a token without fault, called label.
func good(label, serial string) *token {
	t := &token{Description: wire.Description{Domain: bytes.Repeat([]byte{7}, 32), Cloning: true}}
	pkcs11.Pad(t.Token.Label[:], label)
	pkcs11.Pad(t.Token.Serial[:], serial)
	t.Token.Flags = pkcs11.CKF_TOKEN_INITIALIZED | pkcs11.CKF_USER_PIN_INITIALIZED | pkcs11.CKF_LOGIN_REQUIRED
	t.Mechanisms = []wire.OfferedMechanism{{Type: pkcs11.CKM_ECDSA}, {Type: pkcs11.CKM_RSA_PKCS}}
	return t
}

// write makes a file in a new folder.
func write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// three is a configuration of three members, and its good tokens.
func (b *bench) three() (path string) {
	module := write(b.t, "m.so", "")
	var text strings.Builder
	for _, name := range []string{"a", "b", "c"} {
		text.WriteString("[[member]]\nname = \"" + name + "\"\nmodule = \"" + module + "\"\ntoken = \"t" + name + "\"\n")
		b.tokens[name] = good("t"+name, "1"+name)
	}
	text.WriteString("[[group]]\nname = \"g\"\nmembers = [\"a\", \"b\", \"c\"]\n")
	return write(b.t, "o.toml", text.String())
}

func TestExitCodes(t *testing.T) {
	gone := filepath.Join(t.TempDir(), "gone.toml")
	for _, c := range []struct {
		args []string
		want int
		out  string
		err  string
	}{
		{nil, 0, "Usage: oneslot", ""},
		{[]string{"--help"}, 0, "Usage: oneslot", ""},
		{[]string{"version"}, 0, "oneslot ", ""},
		{[]string{"dance"}, 2, "", "oneslot: command line: unexpected argument dance"},
		{[]string{"domain", "create"}, 2, "", "oneslot: command line: missing flags: --out"},
		{[]string{"check", "--config", gone}, 1, "", "oneslot: configuration: not read: open " + gone},
		{[]string{"status", "--config", gone}, 1, "", "oneslot: configuration: not read: open " + gone},
	} {
		b := newBench(t)
		if got := b.run(c.args...); got != c.want {
			t.Errorf("%v: exit code %d, want %d", c.args, got, c.want)
		}
		if !strings.HasPrefix(b.out.String(), c.out) || (c.out == "") != (b.out.Len() == 0) {
			t.Errorf("%v: standard output %q", c.args, b.out.String())
		}
		if !strings.HasPrefix(b.err.String(), c.err) || (c.err == "") != (b.err.Len() == 0) {
			t.Errorf("%v: standard error %q", c.args, b.err.String())
		}
	}
}
