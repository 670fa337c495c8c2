// SPDX-License-Identifier: Apache-2.0

package group

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"oneslot.dev/oneslot/config"
	"oneslot.dev/oneslot/member"
	"oneslot.dev/oneslot/member/fake"
	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/wire"
)

// A parted member notes how its connections are ended first.
type parted struct {
	*fake.Member

	mu   sync.Mutex // guards ends
	ends []string
}

func (m *parted) Connect(ctx context.Context) (member.Conn, error) {
	conn, err := m.Member.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &partedConn{Conn: conn, of: m}, nil
}

type partedConn struct {
	member.Conn
	of   *parted
	once sync.Once
}

func (c *partedConn) end(how string) {
	c.once.Do(func() {
		c.of.mu.Lock()
		defer c.of.mu.Unlock()
		c.of.ends = append(c.of.ends, how)
	})
	c.Conn.Close()
}

func (c *partedConn) Close() { c.end("closed") }
func (c *partedConn) Leave() { c.end("left") }

// Closing a group leaves its members, whatever they are at: a process that is killed in
// C_Login may leave no token. One that is given up is not left: it may be stuck, and what
// it did later would come after it was looked at anew.
func TestMembersAreLeftOrGivenUp(t *testing.T) {
	for _, c := range []struct {
		hangs wire.Number
		want  string
	}{
		{0, "[left]"},
		{wire.NumberLogin, "[left]"},
		{wire.NumberGenerateRandom, "[closed left]"},
	} {
		synctest.Test(t, func(t *testing.T) {
			m := &parted{Member: fake.New("a", pin)}
			options := config.DefaultGroup("g")
			options.Members = []string{"a"}
			g := New(options, []member.Member{m}, wire.GroupView, func(Event) {})
			g.Start()
			g.Settle(t.Context())
			m.Once(c.hangs, fake.Hang)
			switch c.hangs {
			case wire.NumberLogin:
				go g.Login(pkcs11.CKU_USER, pkcs11.PIN(pin))
				time.Sleep(time.Second) // it hangs, and is not given up yet
			case wire.NumberGenerateRandom:
				b := &bench{t: t, g: g}
				b.random()
				g.await(t.Context(), func() bool { return g.seats[0].state == Ready })
			}
			synctest.Wait()
			g.Close()
			synctest.Wait()
			if got := fmt.Sprint(m.ends); got != c.want {
				t.Errorf("%v hangs: the connections were %s, want %s", c.hangs, got, c.want)
			}
		})
	}
}
