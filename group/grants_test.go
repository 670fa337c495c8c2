// SPDX-License-Identifier: Apache-2.0

package group

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"oneslot.dev/oneslot/member"
	"oneslot.dev/oneslot/member/fake"
	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/wire"
)

// granted is a member as an appliance shows it to one client: another host may have
// another grant of the same token.
type granted struct {
	*fake.Member
	readOnly bool // else its keys may be used and not managed
}

func (m granted) Connect(ctx context.Context) (member.Conn, error) {
	c, err := m.Member.Connect(ctx)
	if err != nil {
		return nil, err
	}
	about := *c.Token()
	about.UseOnly = !m.readOnly
	if m.readOnly {
		about.Token.Flags |= pkcs11.CKF_WRITE_PROTECTED
	}
	return grantedConn{c, &about, m}, nil
}

type grantedConn struct {
	member.Conn
	about *wire.Description
	m     granted
}

func (c grantedConn) Token() *wire.Description { return c.about }

func (c grantedConn) Open(view wire.View) (member.Session, error) {
	s, err := c.Conn.Open(view)
	return grantedSession{s, c.m}, err
}

type grantedSession struct {
	member.Session
	m granted
}

// Do answers like host/appliance's Grant.forbids, for keys on the token.
func (s grantedSession) Do(ctx context.Context, limits member.Limits, calls ...wire.Call) (int, error) {
	for i, c := range calls {
		rv := pkcs11.CKR_OK
		switch c.(type) {
		case *wire.Publish, *wire.Record, *wire.Unrecord, *wire.Import:
			rv = pkcs11.CKR_FUNCTION_NOT_SUPPORTED
		case *wire.GenerateKey, *wire.Export:
			if !s.m.readOnly {
				rv = pkcs11.CKR_FUNCTION_NOT_SUPPORTED
			}
		case *wire.DestroyObject, *wire.SetAttributeValue:
			rv = pkcs11.CKR_ACTION_PROHIBITED
		}
		if rv != pkcs11.CKR_OK && s.m.readOnly {
			rv = pkcs11.CKR_TOKEN_WRITE_PROTECTED
		}
		if rv != pkcs11.CKR_OK {
			wire.Refuse(c, rv)
			return i + 1, nil
		}
		if _, err := s.Session.Do(ctx, limits, c); err != nil || c.Result() != pkcs11.CKR_OK {
			return i + 1, err
		}
	}
	return len(calls), nil
}

// hostWith is another host that shares the members, by grants of its own: f full, u
// keys may be used, r read-only.
func (b *bench) hostWith(grants string) *bench {
	next := &bench{t: b.t, members: b.members}
	var all []member.Member
	for i, m := range b.members {
		switch grants[i] {
		case 'f':
			all = append(all, m)
		default:
			all = append(all, granted{m, grants[i] == 'r'})
		}
	}
	options := b.g.options
	next.g = New(options, all, wire.GroupView, func(e Event) {
		next.mu.Lock()
		defer next.mu.Unlock()
		next.events = append(next.events, e)
	})
	next.g.Start()
	next.g.Settle(b.t.Context())
	next.login()
	b.t.Cleanup(next.g.Close)
	return next
}

// changedWithout is a group of which the last member is away while an object is renamed,
// one destroyed and one made. It is left by its host.
func changedWithout(t *testing.T, n int, script func(*bench)) *bench {
	t.Helper()
	rename := pkcs11.Template{pkcs11.Bytes(pkcs11.CKA_LABEL, []byte("new"))}
	b := start(t, n, nil)
	b.login()
	old, _ := b.generate("old")
	gone, _ := b.generate("gone")
	b.down(n - 1)
	if script != nil {
		script(b)
	}
	if rv := b.g.SetAttributes(old[0].Identity, rename, resolve(old[0].Identity)); rv != pkcs11.CKR_OK {
		t.Fatal(rv)
	}
	if rv := b.g.Destroy(gone[0].Identity, resolve(gone[0].Identity)); rv != pkcs11.CKR_OK {
		t.Fatal(rv)
	}
	b.generate("late")
	b.g.Close()
	return b
}

// written is how often the journals were written.
func (b *bench) written() (n int) {
	for _, m := range b.members {
		n += m.Token.Executed(wire.NumberRecord) + m.Token.Executed(wire.NumberUnrecord)
	}
	return n
}

func (b *bench) said(code Code) (n int, last string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, e := range b.events {
		if e.Code == code {
			n, last = n+1, e.Text
		}
	}
	return n, last
}

// N1, K5: hosts with different grants share a group, and a member is away for long, or
// comes back. Nobody writes a journal, or says the same, again and again.
func TestMixedGrantsComeToRest(t *testing.T) {
	for _, hosts := range [][]string{{"fff", "uuu"}, {"fff", "rrr"}, {"fff", "fuf"}, {"fff", "rff"}, {"fff", "uuf", "fff"}, {"fff", "fff", "uuu", "rrr"}, {"ufu", "fuf"}, {"uff", "uff"}, {"fur"}} {
		for _, back := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				b := changedWithout(t, 3, nil)
				var all []*bench
				for _, grants := range hosts {
					all = append(all, b.hostWith(grants))
				}
				if back {
					b.members[2].Up()
				}
				time.Sleep(20 * time.Minute)
				before := b.written()
				time.Sleep(5 * time.Hour)
				if n := b.written() - before; n > 0 {
					t.Errorf("%v, back %v: the journals were written %d times in quiet hours", hosts, back, n)
				}
				for i, h := range all {
					if n, last := h.said(ChangeMissed); n > 2 {
						t.Errorf("%v, back %v: host %d said %d times: %s", hosts, back, i, n, last)
					}
					h.g.Close()
				}
			})
		}
	}
}

// K5: some token has no room for records. Two hosts that both rewrite those on the
// others do not take each other's away: what was destroyed does not come back.
func TestHostsDoNotTakeEachOthersRecords(t *testing.T) {
	for _, hosts := range [][]string{{"ffff"}, {"ffff", "ffff"}, {"ffff", "ffff", "ffff", "uuuu"}} {
		synctest.Test(t, func(t *testing.T) {
			b := changedWithout(t, 4, func(b *bench) {
				b.members[2].Refuse(pkcs11.CKR_DEVICE_MEMORY)
				b.members[2].Script(func(c wire.Call) fake.Outcome {
					if c.Number() == wire.NumberRecord {
						return fake.Refused
					}
					return fake.Answered
				})
			})
			var all []*bench
			for _, grants := range hosts {
				all = append(all, b.hostWith(grants))
			}
			time.Sleep(20 * time.Minute)
			before := b.written()
			time.Sleep(5 * time.Hour)
			if n := b.written() - before; n > 0 {
				t.Errorf("%v: the journals were written %d times in quiet hours", hosts, n)
			}
			for i, h := range all {
				if n, last := h.said(ChangeMissed); n > 2 {
					t.Errorf("%v: host %d said %d times: %s", hosts, i, n, last)
				}
			}
			b.members[3].Up()
			all[0].await(3, Ready)
			time.Sleep(10 * time.Minute)
			for i, m := range b.members {
				if got := m.Token.Labels(); !slices.Equal(got, []string{"late", "new"}) {
					t.Errorf("%v: member %d holds %q", hosts, i, got)
				}
			}
			for _, h := range all {
				h.g.Close()
			}
		})
	}
}

// N1: a change that a client may not carry out stays undone on a member that was away.
// It is said, and done when a host comes that may.
func TestAStaleAttributeIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := changedWithout(t, 3, nil)
		b.members[2].Up()
		user := b.hostWith("uuu")
		time.Sleep(20 * time.Minute)
		if n, last := user.said(ChangeMissed); n != 1 || !strings.Contains(last, "when a host connects that may") {
			t.Errorf("said %d times: %q", n, last)
		}
		full := b.hostWith("fff")
		full.await(2, Ready)
		if got := b.members[2].Token.Labels(); !slices.Equal(got, []string{"late", "new"}) {
			t.Errorf("the member holds %q", got)
		}
		user.g.Close()
		full.g.Close()
	})
}
