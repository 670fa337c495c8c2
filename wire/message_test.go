// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"oneslot.dev/oneslot/pkcs11"
)

// Calls run until one does not return CKR_OK. A member that answers otherwise would have
// a verification that it never made pass for CKR_OK (H3).
func TestAnswersThatStopEarly(t *testing.T) {
	answered := func(rvs ...pkcs11.RV) []byte {
		var calls []Call
		for i, rv := range rvs {
			c := []Call{&VerifyInit{}, &Verify{}}[i]
			c.setResult(rv)
			calls = append(calls, c)
		}
		return appendAnswers(nil, calls)
	}
	refusedLate := answered(pkcs11.CKR_OK, pkcs11.CKR_SESSION_COUNT)
	refusedLate[len(refusedLate)-16] = byte(NumberOpenSession)
	for _, c := range []struct {
		what   string
		answer []byte
		n      int // 0: malformed
	}{
		{"both", answered(pkcs11.CKR_OK, pkcs11.CKR_OK), 2},
		{"the last fails", answered(pkcs11.CKR_OK, pkcs11.CKR_SIGNATURE_INVALID), 2},
		{"the first fails", answered(pkcs11.CKR_KEY_HANDLE_INVALID), 1},
		{"no session", appendRefusal(nil, pkcs11.CKR_SESSION_COUNT), 1},
		{"the last is left out", answered(pkcs11.CKR_OK), 0},
		{"one ran on after a failure", answered(pkcs11.CKR_KEY_HANDLE_INVALID, pkcs11.CKR_OK), 0},
		{"the session was refused after a call of it", refusedLate, 0},
	} {
		n, err := ParseAnswers(c.answer, []Call{&VerifyInit{}, &Verify{}})
		if n != c.n || errors.Is(err, ErrMalformed) != (c.n == 0) || err != nil && c.n != 0 {
			t.Errorf("%s: %d calls, %v", c.what, n, err)
		}
	}
}

// F6: an answer that cannot be carried is the request's failure. It would end the
// connection with one member after the other.
func TestAnswersThatCannotBeCarried(t *testing.T) {
	const overhead = 1 + 4 + 4 + 8 + 4 // of one answer
	for _, size := range []int{MaxFrame - 100, MaxFrame, 3 * MaxFrame} {
		call := &GenerateRandom{Random: Data(make([]byte, size))}
		answer := appendAnswers(make([]byte, 9), []Call{&SeedRandom{}, call, &SeedRandom{}})[9:]
		got := &GenerateRandom{}
		n, err := ParseAnswers(answer, []Call{&SeedRandom{}, got, &SeedRandom{}})
		switch {
		case err != nil || len(answer) > MaxFrame:
			t.Errorf("%d bytes: an answer of %d, %v", size, len(answer), err)
		case size+3*overhead <= MaxFrame && (n != 3 || got.RV != pkcs11.CKR_OK || len(got.Random.Data) != size):
			t.Errorf("%d bytes: %d calls, %v", size, n, got.RV)
		case size >= MaxFrame && (n != 2 || got.RV != pkcs11.CKR_DEVICE_MEMORY):
			t.Errorf("%d bytes: %d calls, %v", size, n, got.RV)
		}
	}
}

// Why a member has no token reaches logs and terminals as one line.
func TestWhyThereIsNoTokenIsOneLine(t *testing.T) {
	why := errors.New("no\nevent=\x1b[31m\u202etoken" + strings.Repeat("!", MaxFrame/2))
	_, err := ParseAnswers(appendUnavailable(nil, why), []Call{&Verify{}})
	if err == nil || !strings.Contains(err.Error(), "token!!!") || strings.ContainsAny(err.Error(), "\n\x1b\u202e") || len(err.Error()) > maxWelcome {
		t.Errorf("%.100q, %d bytes", err, len(err.Error()))
	}
}

// answering is a session whose Login says what is expected, as far as there is one.
type answering struct {
	NoCryptoki
	NoToken
	pin []byte
}

func (*answering) Close() {}

func (s *answering) Login(_ context.Context, c *Login) pkcs11.RV {
	s.pin = bytes.Clone(c.Pin)
	return pkcs11.CKR_OK
}

// A request may hold a PIN. However its answer ends, nothing of it stays in the memory
// that it came in.
func TestRequestsAreWiped(t *testing.T) {
	login := AppendRequest(nil, []Call{&Login{Pin: pkcs11.PIN("secret-pin")}})
	gone := errors.New("the peer is gone")
	for what, c := range map[string]struct {
		request []byte
		session HostSession
		send    error
	}{
		"answered":                      {login, &answering{}, nil},
		"an answer that nobody takes":   {login, &answering{}, gone},
		"a session that was refused":    {login, nil, nil},
		"a request with something more": {append(bytes.Clone(login), 0), &answering{}, nil},
		"a call that no member answers": {AppendRequest(nil, []Call{&Login{Pin: pkcs11.PIN("secret-pin")}, &Attach{}}), &answering{}, nil},
	} {
		message := bytes.Clone(c.request)
		left := [][]byte{message}
		receive := func() ([]byte, error) {
			if len(left) == 0 {
				return nil, io.EOF
			}
			defer func() { left = nil }()
			return left[0], nil
		}
		ServeMessages(t.Context(), c.session, pkcs11.CKR_SESSION_COUNT, 0, receive, func([]byte) error { return c.send })
		if s, _ := c.session.(*answering); s != nil && what == "answered" && string(s.pin) != "secret-pin" {
			t.Errorf("%s: the PIN was %q", what, s.pin)
		}
		if len(bytes.Trim(message, "\x00")) > 0 {
			t.Errorf("%s: %q is left", what, message)
		}
	}
}

// F3: how long a peer has been silent does not depend on what the time of day is set to.
func TestAMomentIsNoTimeOfDay(t *testing.T) {
	life := NewLife()
	life.Heard(time.Now())
	if at := life.LastSign(); at == at.Round(0) {
		t.Errorf("%v has nothing but the time of day", at)
	}
	if silent := time.Since(life.LastSign()); silent < 0 || silent > time.Minute {
		t.Errorf("silent for %v", silent)
	}
}
