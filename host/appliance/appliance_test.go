// SPDX-License-Identifier: Apache-2.0

package appliance_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"oneslot.dev/oneslot/host/appliance"
	"oneslot.dev/oneslot/host/hosttest"
	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/wire"
)

// field-L6: login, sessions and faults of an application never touch another's,
// also with one certificate for all.
func TestApplicationsShareNothing(t *testing.T) {
	b := start(t, nil)
	web, mail := b.client("web", ca), b.client("mail", ca)
	var applications []*application
	for i := range 10 {
		c := web
		if i%2 == 1 {
			c = mail
		}
		applications = append(applications, c.connect())
	}
	first := applications[0]
	if rv := first.login(hosttest.UserPIN); rv != pkcs11.CKR_OK {
		t.Fatal(rv)
	}
	key := first.key("k", true)
	for i, a := range applications[1:] {
		var found wire.Find
		a.must(&found)
		if len(found.Found) != 0 {
			t.Errorf("application %d sees %d private objects without a login", i+1, len(found.Found))
		}
		if rv := a.encrypt(key); rv == pkcs11.CKR_OK {
			t.Errorf("application %d used a key without a login, by another's handle", i+1)
		}
		a.do(&wire.Logout{})
		if i == 0 {
			a.login("wrong")
		}
		a.Close()
		if rv := first.encrypt(key); rv != pkcs11.CKR_OK {
			t.Fatalf("after application %d ended: %v", i+1, rv)
		}
	}
	// Their processes end, and nothing is left of them.
	b.await("nine disconnections", func() bool { return strings.Count(b.logged(), "msg=client-disconnected") == 9 })
	first.works()
}

func TestManyApplicationsAtOnce(t *testing.T) {
	b := start(t, nil)
	web := b.client("web", ca)
	var all sync.WaitGroup
	for i := range 10 {
		a := web.connect()
		all.Go(func() {
			if rv := a.login(hosttest.UserPIN); rv != pkcs11.CKR_OK {
				t.Errorf("application %d: login: %v", i, rv)
				return
			}
			key := a.key(fmt.Sprint("k", i), false)
			for range 50 {
				if rv := a.encrypt(key); rv != pkcs11.CKR_OK {
					t.Errorf("application %d: %v", i, rv)
					return
				}
			}
		})
	}
	all.Wait()
}

// field-L7: wrong PINs are limited for a client, over all of its connections and
// for those that come later, below what a token would count; others log in.
func TestWrongPINsAreThrottled(t *testing.T) {
	b := start(t, func(c *appliance.Config) { c.Limits.LoginPause = appliance.Duration(time.Hour) })
	guesser, honest := b.client("guesser", ca), b.client("honest", ca)
	compared := 0
	for range 6 {
		a := guesser.connect()
		switch rv := a.login("0000"); rv {
		case pkcs11.CKR_PIN_INCORRECT:
			compared++
		case pkcs11.CKR_PIN_LOCKED:
		default:
			t.Fatal(rv)
		}
	}
	if compared != 3 {
		t.Errorf("the token compared %d PINs, not 3", compared)
	}
	if rv := guesser.connect().login(hosttest.UserPIN); rv != pkcs11.CKR_PIN_LOCKED {
		t.Errorf("a right PIN got %v while the client has to wait", rv)
	}
	if rv := honest.connect().login(hosttest.UserPIN); rv != pkcs11.CKR_OK {
		t.Errorf("another client got %v", rv)
	}
	b.tells("login-refused", "client=guesser", "too many wrong PINs")
	if strings.Contains(b.logged(), "0000") {
		t.Error("the log holds a PIN")
	}
}

// field-L7: who knows the user's PIN guesses the security officer's no more often for it.
func TestARightPINBuysNoGuessAtAnother(t *testing.T) {
	b := start(t, func(c *appliance.Config) { c.Limits.LoginPause = appliance.Duration(time.Hour) })
	a := b.client("chief", appliance.Grant{Token: "ca", Officer: true}).connect()
	compared := 0
	for range 6 {
		if rv := a.login(hosttest.UserPIN); rv != pkcs11.CKR_OK {
			t.Fatal(rv)
		}
		a.must(&wire.Logout{})
		if a.do(&wire.Login{User: pkcs11.CKU_SO, Pin: pkcs11.PIN("0000")}) == pkcs11.CKR_PIN_INCORRECT {
			compared++
		}
	}
	if compared != 3 {
		t.Errorf("the token compared %d PINs of its security officer, not 3", compared)
	}
}

// The connections of a client try PINs at the same time, and gain nothing by it.
func TestWrongPINsAtOnce(t *testing.T) {
	b := start(t, func(c *appliance.Config) { c.Limits.LoginPause = appliance.Duration(time.Hour) })
	guesser := b.client("guesser", ca)
	var mu sync.Mutex
	compared := 0
	var all sync.WaitGroup
	for range 8 {
		a := guesser.connect()
		all.Go(func() {
			if a.login("0000") == pkcs11.CKR_PIN_INCORRECT {
				mu.Lock()
				compared++
				mu.Unlock()
			}
		})
	}
	all.Wait()
	if compared != 3 {
		t.Errorf("the token compared %d PINs, not 3", compared)
	}
}

func TestGrantsAreEnforced(t *testing.T) {
	b := start(t, nil)
	owner := b.client("owner", appliance.Grant{Token: "ca", Officer: true}).connect()
	owner.login(hosttest.UserPIN)
	key := owner.key("k", true)

	find := func(a *application) uint64 {
		call := wire.Find{Template: pkcs11.Template{pkcs11.Bool(pkcs11.CKA_TOKEN, true)}}
		a.must(&call)
		if len(call.Found) != 1 {
			t.Fatalf("%d objects", len(call.Found))
		}
		return call.Found[0].Object
	}
	reader := b.client("reader", appliance.Grant{Token: "ca", ReadOnly: true}).connect()
	reader.login(hosttest.UserPIN)
	user := b.client("user", appliance.Grant{Token: "ca", NoKeyManagement: true}).connect()
	user.login(hosttest.UserPIN)

	if flags := reader.Token().Token.Flags; flags&pkcs11.CKF_WRITE_PROTECTED == 0 {
		t.Error("a read-only client is not told that it may not write")
	}
	for a, want := range map[*application]bool{owner: false, reader: false, user: true} {
		if got := a.Token().UseOnly; got != want {
			t.Errorf("a client that may only use keys is told: %v, not %v", got, want)
		}
	}
	// A template that names an attribute twice: SoftHSM 2.6.1 takes the last.
	twice := func(c *wire.GenerateKey, a pkcs11.Attribute) *wire.GenerateKey {
		c.Template = append(c.Template, a)
		return c
	}
	dataAndKey := &wire.CreateObject{Template: pkcs11.Template{pkcs11.Ulong(pkcs11.CKA_CLASS, pkcs11.CKO_DATA),
		pkcs11.Ulong(pkcs11.CKA_KEY_TYPE, pkcs11.CKK_AES), pkcs11.Bytes(pkcs11.CKA_VALUE, make([]byte, 16)),
		pkcs11.Ulong(pkcs11.CKA_CLASS, pkcs11.CKO_SECRET_KEY)}}
	for _, c := range []struct {
		what string
		got  pkcs11.RV
		want pkcs11.RV
	}{
		{"reader: token key", reader.do(generate("x", true)), pkcs11.CKR_TOKEN_WRITE_PROTECTED},
		{"reader: session key", reader.do(generate("x", false)), pkcs11.CKR_OK},
		{"reader: session key, and then one on the token", reader.do(twice(generate("x", false), pkcs11.Bool(pkcs11.CKA_TOKEN, true))), pkcs11.CKR_TEMPLATE_INCONSISTENT},
		{"reader: session key, made one on the token", reader.do(&wire.SetAttributeValue{Object: reader.key("x", false), Template: pkcs11.Template{pkcs11.Bool(pkcs11.CKA_TOKEN, true)}}), pkcs11.CKR_TOKEN_WRITE_PROTECTED},
		{"reader: destroys", reader.do(&wire.DestroyObject{Object: find(reader)}), pkcs11.CKR_TOKEN_WRITE_PROTECTED},
		{"reader: uses", reader.encrypt(find(reader)), pkcs11.CKR_OK},
		{"user: token key", user.do(generate("x", true)), pkcs11.CKR_FUNCTION_NOT_SUPPORTED},
		{"user: session key", user.do(generate("x", false)), pkcs11.CKR_FUNCTION_NOT_SUPPORTED},
		{"user: data, and then a key", user.do(dataAndKey), pkcs11.CKR_TEMPLATE_INCONSISTENT},
		{"user: uses", user.encrypt(find(user)), pkcs11.CKR_OK},
		{"user: destroys", user.do(&wire.DestroyObject{Object: find(user)}), pkcs11.CKR_ACTION_PROHIBITED},
		{"user: SO", user.do(&wire.Login{User: pkcs11.CKU_SO, Pin: pkcs11.PIN(hosttest.OfficerPIN)}), pkcs11.CKR_USER_TYPE_INVALID},
		{"user: C_SetPIN", user.do(&wire.SetPIN{Old: pkcs11.PIN(hosttest.UserPIN), New: pkcs11.PIN("5678")}), pkcs11.CKR_FUNCTION_NOT_SUPPORTED},
		{"user: C_InitPIN", user.do(&wire.InitPIN{Pin: pkcs11.PIN("5678")}), pkcs11.CKR_FUNCTION_NOT_SUPPORTED},
		{"user: C_InitToken", user.do(&wire.InitToken{Pin: pkcs11.PIN(hosttest.OfficerPIN)}), pkcs11.CKR_FUNCTION_NOT_SUPPORTED},
		{"user: X_Join", user.do(&wire.Join{Officer: pkcs11.PIN(hosttest.OfficerPIN), Pin: pkcs11.PIN(hosttest.UserPIN), Secret: make([]byte, 32)}), pkcs11.CKR_FUNCTION_NOT_SUPPORTED},
		{"owner: C_SetPIN", owner.do(&wire.SetPIN{Old: pkcs11.PIN(hosttest.UserPIN), New: pkcs11.PIN("5678")}), pkcs11.CKR_OK},
		{"owner: destroys", owner.do(&wire.DestroyObject{Object: key}), pkcs11.CKR_OK},
	} {
		if c.got != c.want {
			t.Errorf("%s: %v, not %v", c.what, c.got, c.want)
		}
	}
}

func TestAuditSaysWhoDidWhat(t *testing.T) {
	b := start(t, func(c *appliance.Config) { c.Limits.Audit = appliance.Duration(50 * time.Millisecond) })
	web := b.client("web", ca)
	a := web.connect()
	a.login(hosttest.UserPIN)
	key := a.key("secret-label", true)
	for range 500 {
		if rv := a.encrypt(key); rv != pkcs11.CKR_OK {
			t.Fatal(rv)
		}
	}
	a.Close()
	b.tells("client-disconnected", "client=web")
	b.tells("msg=audit", "client=web", "certificate="+web.print.Short(), "from=127.0.0.1:", "token=ca", "function=C_Login", "result=CKR_OK")
	b.tells("msg=audit", "function=C_GenerateKey", "result=CKR_OK")
	total, lines := 0, 0
	for line := range strings.Lines(b.logged()) {
		if has(line, []string{"msg=audit", "function=C_Encrypt ", "key=", "result=CKR_OK"}) {
			var n int
			_, count, _ := strings.Cut(line, "count=")
			fmt.Sscan(count, &n)
			total += n
			lines++
		}
	}
	if total != 500 || lines > 250 {
		t.Errorf("%d encryptions are told in %d lines", total, lines)
	}
	for _, secret := range []string{"=" + hosttest.UserPIN, "secret-label"} {
		if strings.Contains(b.logged(), secret) {
			t.Errorf("the log holds %q", secret)
		}
	}
}

// N4: running calls finish, nobody new is let in, and the listener ends.
func TestDrain(t *testing.T) {
	b := start(t, nil)
	web := b.client("web", ca)
	a := web.connect()
	draining := a.Conn.(interface{ Draining() <-chan struct{} }).Draining()
	b.stop()
	<-draining
	a.works() // what runs goes on
	if why := web.refused("ca"); !strings.Contains(why, "refused") {
		t.Errorf("a new connection got %q", why)
	}
	a.Close()
	<-b.done
	b.tells("connection-draining", "client=web", "the appliance goes down for maintenance")
}

// A client that is removed is cut off at the next look; one that is not goes on.
func TestTheRegisterIsReadAgain(t *testing.T) {
	b := start(t, nil)
	web, mail := b.client("web", ca), b.client("mail", ca)
	a, other := web.connect(), mail.connect()
	if err := b.register.Change("web", func(*appliance.Client) (*appliance.Client, error) { return nil, nil }); err != nil {
		t.Fatal(err)
	}
	b.listener.Reload()
	a.ended()
	other.works()
	if why := web.refused("ca"); !strings.Contains(why, string(wire.RefusedUnknown)) {
		t.Errorf("refused for %q", why)
	}
	late := b.client("late", ca).connect() // registered while the listener runs
	late.works()
}

// Registered by telephone, with the fingerprint alone: when the client has come, the
// register shows when its certificate ends.
func TestExpiryOfAFingerprintIsLearnt(t *testing.T) {
	b := start(t, nil)
	web := b.client("web")
	err := b.register.Change("web", func(*appliance.Client) (*appliance.Client, error) {
		return &appliance.Client{Name: "web", Certificates: []appliance.Certificate{{Fingerprint: web.print}}, Grants: []appliance.Grant{ca}}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	web.connect().works()
	c, err := b.register.Client("web")
	if err != nil || c.Expires().IsZero() {
		t.Errorf("%+v, %v", c, err)
	}
}

// A client that is removed is cut off at once, also while its connection drains and
// has time left.
func TestRemovedWhileItDrains(t *testing.T) {
	b := start(t, func(c *appliance.Config) { c.Limits.ConnectionAge = appliance.Duration(time.Millisecond) })
	web := b.client("web", ca)
	a := web.connect()
	<-a.Conn.(interface{ Draining() <-chan struct{} }).Draining()
	a.works()
	if err := b.register.Change("web", func(*appliance.Client) (*appliance.Client, error) { return nil, nil }); err != nil {
		t.Fatal(err)
	}
	b.listener.Reload()
	a.ended()
	b.tells("client-disconnected", "client=web", string(wire.RefusedUnknown))
}

// What a grant loses is refused at once to who is connected, and its connection goes in
// peace: the next one knows of it.
func TestAGrantChangesDuringAConnection(t *testing.T) {
	b := start(t, nil)
	officer := appliance.Grant{Token: "ca", Officer: true}
	web, chief, moved := b.client("web", ca), b.client("chief", officer), b.client("moved", officer)
	a, so, other := web.connect(), chief.connect(), moved.connect()
	a.login(hosttest.UserPIN)
	key := a.key("k", true)
	change := func(name string, change func(*appliance.Client)) {
		t.Helper()
		err := b.register.Change(name, func(c *appliance.Client) (*appliance.Client, error) {
			if c == nil {
				c = &appliance.Client{Name: name}
			}
			change(c)
			return c, nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	change("web", func(c *appliance.Client) { c.Grants[0].ReadOnly = true })
	change("chief", func(c *appliance.Client) { c.Grants[0].Officer = false })
	change("moved", func(c *appliance.Client) { c.Certificates = nil })
	change("taken", func(c *appliance.Client) {
		c.Certificates, c.Grants = []appliance.Certificate{{Fingerprint: moved.print}}, []appliance.Grant{officer}
	})
	b.listener.Reload()
	select {
	case <-a.Conn.(interface{ Draining() <-chan struct{} }).Draining():
	case <-time.After(patience):
		t.Error("the connection does not drain")
	}
	if rv := a.do(generate("x", true)); rv != pkcs11.CKR_TOKEN_WRITE_PROTECTED {
		t.Errorf("a key on the token: %v", rv)
	}
	if rv := a.encrypt(key); rv != pkcs11.CKR_OK {
		t.Errorf("use of a key: %v", rv)
	}
	if flags := web.connect().Token().Token.Flags; flags&pkcs11.CKF_WRITE_PROTECTED == 0 {
		t.Error("the next connection does not know")
	}
	b.tells("connection-draining", "client=web", "read-only")
	so.ended() // it may have logged in as the security officer
	other.ended()
	b.tells("client-disconnected", "client=moved", "client taken")
}
