// SPDX-License-Identifier: Apache-2.0

package test_test

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	p11 "github.com/miekg/pkcs11"

	"oneslot.dev/oneslot/test/token"
)

// H1; field-B2: a handle that was found in one session works in every other one, also
// when the first is closed, and whichever member does the work.
func TestHandleInAnotherSession(t *testing.T) {
	if !inProcess(t) {
		return
	}
	w := newWorld(t, 2)
	a := w.login()
	pair, _ := a.rsa(token.Label("k"))
	first, err := a.Session()
	w.must(err)
	found, err := a.Find(first, token.Class(p11.CKO_PRIVATE_KEY), token.Label("k"))
	w.must(err)
	if len(found) != 1 || found[0] != pair.Private {
		t.Fatalf("found %v, made %v", found, pair.Private)
	}
	w.must(a.CloseSession(first))
	public, err := a.RSAPublic(a.s, pair.Public)
	w.must(err)
	work := a.SignRSA(found[0], public)
	load := a.load(4, work) // each thread has a session of its own
	for _, member := range w.Members {
		w.must(w.Works(member))
	}
	w.replaced("a", w.Kill) // which found it
	w.must(w.Ready())
	w.must(w.Works("a"))
	unharmed(t, load)
}

// G4; field-E4: members and group have one label. With group_only an application that
// looks for it sees one token; without, the group's comes last.
func TestMembersWithTheLabelOfTheGroup(t *testing.T) {
	if !inProcess(t) {
		return
	}
	for _, only := range []bool{true, false} {
		w := newWorld(t, 2)
		w.edit("group_only = true\n", fmt.Sprintf("group_only = %v\n", only))
		k := w.open()
		w.must(w.Ready())
		slots, err := k.GetSlotList(true)
		w.must(err)
		var models []string
		for _, slot := range slots {
			info, err := k.GetTokenInfo(slot)
			w.must(err)
			if info.Label == w.Token {
				models = append(models, info.Model)
			}
		}
		want := map[bool]int{true: 1, false: 3}[only]
		if len(models) != want || strings.HasPrefix(models[want-1], "SoftHSM") {
			t.Errorf("group_only %v: tokens with the label are %v", only, models)
		}
		w.must(k.Finalize())
	}
}

// R4; field-F1: 64 threads that log in at once and sign, while a member is lost: one
// login succeeds, all others hear that the user is logged in already, and nothing else.
func TestLoginsRace(t *testing.T) {
	if !inProcess(t) {
		return
	}
	w := newWorld(t, 2)
	w.signer()
	k, err := token.Open(w.Module, w.Token)
	w.must(err)
	defer k.Close()
	stays, err := k.Session() // so that the login does not end with the last session
	w.must(err)
	w.must(w.Ready())
	const threads = 64
	var in, already atomic.Int64
	var all sync.WaitGroup
	begin := make(chan struct{})
	for range threads {
		all.Go(func() {
			<-begin
			if err := loginAndSign(k, w.PIN, &in, &already); err != nil {
				t.Error(err)
			}
		})
	}
	close(begin)
	w.await("a login", func() bool { return in.Load() > 0 })
	w.replaced("a", w.Kill)
	all.Wait()
	if in.Load() != 1 || already.Load() != threads-1 {
		t.Errorf("%d logins succeeded, %d of %d were told that there was one already", in.Load(), already.Load(), threads)
	}
	w.must(w.Ready())
	if info, err := k.GetSessionInfo(stays); err != nil || info.State != p11.CKS_RW_USER_FUNCTIONS {
		t.Errorf("the state is %v, %v", info.State, err)
	}
}

func loginAndSign(k *token.Token, pin string, in, already *atomic.Int64) error {
	s, err := k.Session()
	if err != nil {
		return err
	}
	switch err := k.Ctx.Login(s, p11.CKU_USER, pin); {
	case err == nil:
		in.Add(1)
	case errors.Is(err, p11.Error(p11.CKR_USER_ALREADY_LOGGED_IN)):
		already.Add(1)
	default:
		return fmt.Errorf("C_Login: %w", err)
	}
	found, err := k.Find(s, token.Class(p11.CKO_PRIVATE_KEY))
	if err != nil || len(found) != 1 {
		return fmt.Errorf("%d keys, %w", len(found), err)
	}
	for range 5 {
		if err := k.SignInit(s, simple(p11.CKM_SHA256_RSA_PKCS), found[0]); err != nil {
			return fmt.Errorf("C_SignInit: %w", err)
		}
		if _, err := k.Sign(s, []byte("data")); err != nil {
			return fmt.Errorf("C_Sign: %w", err)
		}
	}
	return k.CloseSession(s)
}

// field-H7: initialising twice and finalising twice are refused and change nothing; and
// the application may use a member's own library beside the group, and finalise it.
func TestTwoUsersInOneProcess(t *testing.T) {
	if !inProcess(t) {
		return
	}
	w := newWorld(t, 2)
	a := w.login()
	works := a.everything()
	if err := a.Initialize(); !errors.Is(err, p11.Error(p11.CKR_CRYPTOKI_ALREADY_INITIALIZED)) {
		t.Errorf("the second C_Initialize: %v", err)
	}
	a.use(works...)
	load := a.load(2, works...)
	for _, member := range w.Members {
		w.bare(member, func(own *app) {
			if err := own.Initialize(); !errors.Is(err, p11.Error(p11.CKR_CRYPTOKI_ALREADY_INITIALIZED)) {
				t.Errorf("SoftHSM itself: %v", err)
			}
			if n := own.count(token.Class(p11.CKO_PRIVATE_KEY)); n == 0 {
				t.Error("the member's own token has no keys")
			}
			w.must(w.Works(member))
		})
	}
	unharmed(t, load)
	if strings.Contains(w.log(), "event=member-down") {
		t.Error("a member was dropped")
	}
	w.must(a.Finalize())
	if err := a.Finalize(); !errors.Is(err, p11.Error(p11.CKR_CRYPTOKI_NOT_INITIALIZED)) {
		t.Errorf("the second C_Finalize: %v", err)
	}
}

// field-J6: the state of an operation is not saved, since another member could not
// restore it; the operation goes on, also on another member, and one that comes from
// elsewhere is not taken.
func TestOperationStateIsNotSaved(t *testing.T) {
	if !inProcess(t) {
		return
	}
	w := newWorld(t, 2)
	a := w.login()
	w.must(a.DigestInit(a.s, simple(p11.CKM_SHA256)))
	w.must(a.DigestUpdate(a.s, []byte("one ")))
	if state, err := a.GetOperationState(a.s); !errors.Is(err, p11.Error(p11.CKR_STATE_UNSAVEABLE)) {
		t.Errorf("C_GetOperationState: %x, %v", state, err)
	}
	if err := a.SetOperationState(a.s, make([]byte, 64), 0, 0); !errors.Is(err, p11.Error(p11.CKR_SAVED_STATE_INVALID)) {
		t.Errorf("C_SetOperationState: %v", err)
	}
	for _, member := range w.Members {
		w.replaced(member, w.Kill)
	}
	w.must(w.Ready())
	w.must(a.DigestUpdate(a.s, []byte("and two")))
	got, err := a.DigestFinal(a.s)
	w.must(err)
	if want := sha256.Sum256([]byte("one and two")); !slices.Equal(got, want[:]) {
		t.Errorf("the digest is %x", got)
	}
}

// H5; field-K4: no list, and lists of allowed mechanisms, read and act the same on every member,
// and a list of a wrong length is refused.
func TestAllowedMechanisms(t *testing.T) {
	if !inProcess(t) {
		return
	}
	w := newWorld(t, 3)
	a := w.login()
	one := ulong(p11.CKM_SHA256_RSA_PKCS_PSS)
	keys := map[string]struct {
		list    []*p11.Attribute
		refused bool // PKCS#1
	}{
		"absent": {nil, false},
		"PSS":    {[]*p11.Attribute{p11.NewAttribute(p11.CKA_ALLOWED_MECHANISMS, one)}, true},
		"two":    {[]*p11.Attribute{p11.NewAttribute(p11.CKA_ALLOWED_MECHANISMS, append(one, ulong(p11.CKM_SHA256_RSA_PKCS)...))}, false},
	}
	read := map[string][]byte{}
	for name, key := range keys {
		pair, err := a.RSA(a.s, append(key.list, token.Label(name))...)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		read[name], err = a.Attribute(a.s, pair.Private, p11.CKA_ALLOWED_MECHANISMS)
		w.must(err)
		for range 2 * len(w.Members) {
			err := a.SignInit(a.s, simple(p11.CKM_SHA256_RSA_PKCS), pair.Private)
			if err == nil {
				_, err = a.Sign(a.s, []byte("data"))
			}
			if refused := errors.Is(err, p11.Error(p11.CKR_MECHANISM_INVALID)); err != nil && !refused || refused != key.refused {
				t.Errorf("%s: signing with PKCS#1: %v", name, err)
			}
		}
	}
	if len(read["absent"]) != 0 || len(read["PSS"]) != len(one) || len(read["two"]) != 2*len(one) {
		t.Errorf("read %v", read)
	}
	for _, member := range w.Members {
		w.bare(member, func(own *app) {
			for name, want := range read {
				got, err := own.Attribute(own.s, own.one(p11.CKO_PRIVATE_KEY, name), p11.CKA_ALLOWED_MECHANISMS)
				if err != nil || !slices.Equal(got, want) {
					t.Errorf("member %s: %s: %x, %v", member, name, got, err)
				}
			}
		})
	}
	for _, bad := range [][]byte{one[:3], {}} { // SoftHSM refuses NULL; an empty list is in test/differential
		if _, err := a.RSA(a.s, p11.NewAttribute(p11.CKA_ALLOWED_MECHANISMS, bad)); !errors.Is(err, p11.Error(p11.CKR_ATTRIBUTE_VALUE_INVALID)) {
			t.Errorf("a list of %d bytes: %v", len(bad), err)
		}
	}
}

// ulong is a CK_ULONG in memory.
func ulong(v uint) []byte {
	return p11.NewAttribute(p11.CKA_CLASS, v).Value
}

// field-H12: eight threads on one session. Each signature is of the data of the thread
// that got it, and the session is usable afterwards.
func TestThreadsOnOneSession(t *testing.T) {
	if !inProcess(t) {
		return
	}
	w := newWorld(t, 2)
	w.signs(w.signer(), 8*20+1, "threads")
}

// field-H8, H11: handlers, signal stack and threads of the application stay as they are,
// and a write to an engine that is gone does not end it, though it does not ignore SIGPIPE.
func TestSignalsAreTheApplications(t *testing.T) {
	if !inProcess(t) {
		return
	}
	w := newWorld(t, 2)
	w.signer()
	app := w.obedient("signals")
	if line, err := app.out.ReadString('\n'); err != nil || !strings.HasPrefix(line, "signature ") {
		t.Fatalf("it said %q, %v", line, err)
	}
	for _, p := range w.Processes() {
		if p.Name == "oneslot" {
			w.must(syscall.Kill(p.PID, syscall.SIGKILL))
		}
	}
	w.alone()
	_, err := io.WriteString(app.in, "go on\n")
	w.must(err)
	app.end()
}
