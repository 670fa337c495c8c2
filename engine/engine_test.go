// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	"oneslot.dev/oneslot/config"
	"oneslot.dev/oneslot/member"
	"oneslot.dev/oneslot/member/fake"
	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/wire"
)

const pin = "1234"

// A world is an engine over fake members, with applications that call it as
// their modules would.
type world struct {
	*testing.T
	engine  *Engine
	members map[string]*fake.Member
	slot    uint64
}

// begin makes a world of n members, a, b, c …, in one group. more is added to
// the group's configuration.
func begin(t *testing.T, n int, more ...string) *world {
	w := &world{T: t, members: map[string]*fake.Member{}}
	var text, names strings.Builder
	text.WriteString("group_only = true\n")
	for i := range n {
		name := string(rune('a' + i))
		w.members[name] = fake.New(name, pin)
		fmt.Fprintf(&text, "[[member]]\nname = %q\nmodule = \"/none.so\"\ntoken = %q\n", name, name)
		fmt.Fprintf(&names, "%q,", name)
	}
	fmt.Fprintf(&text, "[[group]]\nname = \"g\"\nmembers = [%s]\n%s\n", names.String(), strings.Join(more, "\n"))
	c, err := config.Parse("test.toml", []byte(text.String()))
	if err != nil {
		t.Fatal(err)
	}
	w.engine = New(c, func(m config.Member) member.Member { return w.members[m.Name] }, slog.New(slog.NewTextHandler(io.Discard, nil)))
	w.slot = c.Groups[0].Slot()
	return w
}

// application starts another application.
func (w *world) application() *application {
	a := newApplication(w.engine, &wire.Hello{Name: wire.Data([]byte("test"))})
	w.Cleanup(a.close)
	a.settle(w.Context())
	return a
}

// call runs a call as it comes from a module, and wants an RV.
func (w *world) call(a *application, c wire.Call, want pkcs11.RV) {
	w.Helper()
	if !wire.DispatchCryptoki(context.Background(), a, c) && !wire.DispatchOnce(context.Background(), a, c) {
		w.Fatalf("%v is not for an application", c.Number())
	}
	if got := c.Result(); got != want {
		w.Errorf("%v: %v, want %v", c.Number(), got, want)
	}
}

func (w *world) open(a *application, flags uint64) uint64 {
	w.Helper()
	c := wire.OpenSession{Slot: w.slot, Flags: flags | pkcs11.CKF_SERIAL_SESSION}
	w.call(a, &c, pkcs11.CKR_OK)
	return c.Session
}

// loggedIn opens a session that may write, and logs in.
func (w *world) loggedIn(a *application) uint64 {
	w.Helper()
	s := w.open(a, pkcs11.CKF_RW_SESSION)
	w.call(a, &wire.Login{Session: s, User: pkcs11.CKU_USER, Pin: pkcs11.PIN(pin)}, pkcs11.CKR_OK)
	return s
}

func (w *world) generate(a *application, s uint64, label string, token bool) uint64 {
	w.Helper()
	c := wire.GenerateKey{Session: s, Template: pkcs11.Template{pkcs11.Bool(pkcs11.CKA_TOKEN, token), pkcs11.Bytes(pkcs11.CKA_LABEL, []byte(label))}}
	w.call(a, &c, pkcs11.CKR_OK)
	return c.Key
}

func (w *world) find(a *application, s uint64) []uint64 {
	w.Helper()
	w.call(a, &wire.FindObjectsInit{Session: s}, pkcs11.CKR_OK)
	c := wire.FindObjects{Session: s, ObjectsRoom: wire.Room{Capacity: 100}}
	w.call(a, &c, pkcs11.CKR_OK)
	w.call(a, &wire.FindObjectsFinal{Session: s}, pkcs11.CKR_OK)
	return c.Objects.Values
}

// sign returns whose signature it is: the fake token signs with the key's
// fingerprint.
func (w *world) sign(a *application, s, key uint64) string {
	w.Helper()
	w.call(a, &wire.SignInit{Session: s, Key: key}, pkcs11.CKR_OK)
	c := wire.Sign{Session: s, SignatureRoom: wire.Room{Capacity: 64}}
	w.call(a, &c, pkcs11.CKR_OK)
	return string(c.Signature.Data)
}

// until waits for a condition.
func (w *world) until(what string, condition func() bool) {
	w.Helper()
	for end := time.Now().Add(time.Minute); !condition(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			w.Fatalf("not after a minute: %s", what)
		}
	}
}

// allReady waits until every member serves an application.
func (w *world) allReady(a *application) {
	w.Helper()
	w.until("all members ready", func() bool {
		for _, m := range a.slots[0].group.Snapshot().Members {
			if m.State.String() != "ready" {
				return false
			}
		}
		return true
	})
}
