// SPDX-License-Identifier: Apache-2.0

// Package membertest is the contract of member.Member as a test, so that what
// groups are tested with (fake) behaves as what they run with (local, remote).
package membertest

import (
	"context"
	"errors"
	"testing"
	"time"

	"oneslot.dev/oneslot/member"
	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/wire"
)

// A Subject is a member with an initialised token behind it.
type Subject struct {
	Member member.Member
	PIN    string
}

// ample is longer than any call takes, on however busy a machine.
var ample = member.Limits{Silence: 2 * time.Minute, Stuck: 2 * time.Minute}

// Run checks the contract on a subject. make is called for each part of it.
func Run(t *testing.T, make func(t *testing.T) Subject) {
	for name, part := range map[string]func(*testing.T, Subject){
		"describes its token":                describes,
		"a login is of the connection":       loginIsOfTheConnection,
		"connections are strangers":          connectionsAreStrangers,
		"calls of a message run in order":    callsRunInOrder,
		"a closed connection says so":        closedConnection,
		"close ends what is under way":       closeEndsCalls,
		"a context that ended sends nothing": endedContext,
		"signs of life are noted":            signsOfLife,
	} {
		t.Run(name, func(t *testing.T) { part(t, make(t)) })
	}
}

func connect(t *testing.T, s Subject) member.Conn {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	c, err := s.Member.Connect(ctx)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func open(t *testing.T, c member.Conn) member.Session {
	t.Helper()
	s, err := c.Open(wire.GroupView)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// do runs calls that the member must answer.
func do(t *testing.T, s member.Session, calls ...wire.Call) int {
	t.Helper()
	n, err := s.Do(t.Context(), ample, calls...)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func random() *wire.GenerateRandom {
	return &wire.GenerateRandom{RandomRoom: wire.Room{Capacity: 16}}
}

func login(s Subject) *wire.Login {
	return &wire.Login{User: pkcs11.CKU_USER, Pin: pkcs11.PIN(s.PIN)}
}

// generate asks for a private key, which needs a login.
func generate() *wire.GenerateKey {
	return &wire.GenerateKey{Mechanism: pkcs11.Mechanism{Type: pkcs11.CKM_AES_KEY_GEN, Null: true}, Template: pkcs11.Template{
		pkcs11.Bool(pkcs11.CKA_TOKEN, false), pkcs11.Bool(pkcs11.CKA_PRIVATE, true), pkcs11.Ulong(pkcs11.CKA_VALUE_LEN, 32)}}
}

func describes(t *testing.T, s Subject) {
	c := connect(t, s)
	if pkcs11.Unpad(c.Token().Token.Serial[:]) == "" {
		t.Error("the token has no serial number")
	}
	if c.Err() != nil {
		t.Errorf("a connection that stands has an error: %v", c.Err())
	}
}

func loginIsOfTheConnection(t *testing.T, s Subject) {
	c := connect(t, s)
	first, second := open(t, c), open(t, c)
	make := generate()
	if do(t, second, make); make.RV != pkcs11.CKR_USER_NOT_LOGGED_IN {
		t.Errorf("before the login: %v", make.RV)
	}
	in := login(s)
	if do(t, first, in); in.RV != pkcs11.CKR_OK {
		t.Fatal(in.RV)
	}
	if do(t, second, make); make.RV != pkcs11.CKR_OK {
		t.Errorf("another session after the login: %v", make.RV)
	}
}

// connectionsAreStrangers: login and handles of one mean nothing on another, as
// to one PKCS#11 application those of another (field-L6).
func connectionsAreStrangers(t *testing.T, s Subject) {
	one, other := open(t, connect(t, s)), open(t, connect(t, s))
	do(t, one, login(s))
	make := generate()
	if do(t, other, make); make.RV != pkcs11.CKR_USER_NOT_LOGGED_IN {
		t.Errorf("logged in by another's login: %v", make.RV)
	}
	do(t, one, make)
	do(t, other, login(s))
	identify := wire.Identify{Object: make.Key}
	if do(t, other, &identify); identify.RV == pkcs11.CKR_OK {
		t.Error("another's session object can be reached")
	}
}

func callsRunInOrder(t *testing.T, s Subject) {
	session := open(t, connect(t, s))
	calls := []wire.Call{random(), &wire.Identify{Object: 1 << 40}, random()}
	if n := do(t, session, calls...); n != 2 {
		t.Errorf("%d calls ran, want the two up to the failure", n)
	}
	if rv := calls[1].Result(); rv != pkcs11.CKR_OBJECT_HANDLE_INVALID {
		t.Errorf("the failure: %v", rv)
	}
	if n := do(t, session, random(), random()); n != 2 {
		t.Errorf("afterwards %d calls ran", n)
	}
}

func closedConnection(t *testing.T, s Subject) {
	c := connect(t, s)
	session := open(t, c)
	c.Close()
	c.Close()
	select {
	case <-c.Done():
	case <-time.After(ample.Stuck):
		t.Fatal("not done after Close")
	}
	if c.Err() == nil {
		t.Error("no error after Close")
	}
	var fault *member.Fault
	if _, err := session.Do(t.Context(), ample, random()); !errors.As(err, &fault) || fault.Sent {
		t.Errorf("a call on it: %v, want one that was not sent", err)
	}
	if _, err := c.Open(wire.GroupView); !errors.As(err, &fault) {
		t.Errorf("a session on it: %v", err)
	}
}

// closeEndsCalls closes the connection while callers are busy on it. Each comes
// back, with its answer or a Fault.
func closeEndsCalls(t *testing.T, s Subject) {
	c := connect(t, s)
	begun, ended := make(chan struct{}, 8), make(chan error, 8)
	for range 8 {
		session := open(t, c)
		go func() {
			for i := 0; ; i++ {
				_, err := session.Do(context.Background(), ample, random())
				if i == 0 {
					begun <- struct{}{}
				}
				if err != nil {
					ended <- err
					return
				}
			}
		}()
	}
	for range 8 {
		<-begun
	}
	c.Close()
	for range 8 {
		var fault *member.Fault
		if err := <-ended; !errors.As(err, &fault) {
			t.Errorf("%v, want a Fault", err)
		}
	}
}

func endedContext(t *testing.T, s Subject) {
	session := open(t, connect(t, s))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var fault *member.Fault
	if _, err := session.Do(ctx, ample, random()); !errors.As(err, &fault) || fault.Sent {
		t.Errorf("%v, want a Fault that was not sent", err)
	}
}

func signsOfLife(t *testing.T, s Subject) {
	c := connect(t, s)
	session := open(t, c)
	before := c.LastSign()
	for range 3 {
		do(t, session, &wire.Probe{})
	}
	if !c.LastSign().After(before) {
		t.Error("answers are no signs of life")
	}
}
