// SPDX-License-Identifier: Apache-2.0

package appliance

import (
	"context"
	"errors"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/wire"
)

// opened is the state of a client as one more process sees it, at a time that the
// test sets.
func opened(t *testing.T, r Register, now *time.Time) *tries {
	t.Helper()
	l := defaultLimits
	l.LoginPause = Duration(time.Minute)
	s, err := r.tries("web", &l)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.file.Close() })
	s.now = func() time.Time { return *now }
	return s
}

func says(c caution) func() caution { return func() caution { return c } }

func (t *tries) try(rv pkcs11.RV, said caution) (asked bool, err error) {
	err = t.guard(context.Background(), "ca", says(said), func() pkcs11.RV { asked = true; return rv })
	return asked, err
}

func TestPausesAfterWrongPINs(t *testing.T) {
	now := time.Now()
	r := Register(t.TempDir())
	step := func(what string, rv pkcs11.RV, wantAsked bool) {
		t.Helper()
		// Each try is another process.
		if asked, err := opened(t, r, &now).try(rv, careless); asked != wantAsked || asked != (err == nil) {
			t.Errorf("%s: the token was asked: %v, %v", what, asked, err)
		}
	}
	const wrong, right = pkcs11.CKR_PIN_INCORRECT, pkcs11.CKR_OK
	step("first", wrong, true)
	step("second", wrong, true)
	step("right", right, true)
	for range 3 {
		step("three more", wrong, true)
	}
	step("a fourth", right, false)
	now = now.Add(time.Minute)
	step("after the pause", wrong, true)
	now = now.Add(time.Minute)
	step("after half of the next", right, false)
	now = now.Add(time.Minute)
	step("after the next", right, true)
	step("once right", wrong, true)
	step("not compared", pkcs11.CKR_DEVICE_ERROR, true)
	step("not compared", pkcs11.CKR_DEVICE_ERROR, true)
	step("second wrong", wrong, true)
	step("third wrong", wrong, true)
	step("fourth", right, false)
}

// The clock was a year ahead when PINs were wrong, and is set right: the client waits for a
// pause, and not for a year.
func TestWrongPINsOfTheFuture(t *testing.T) {
	now := time.Now()
	future := now.AddDate(1, 0, 0)
	r := Register(t.TempDir())
	for range 3 {
		opened(t, r, &future).try(pkcs11.CKR_PIN_INCORRECT, careless)
	}
	for range 2 {
		if asked, err := opened(t, r, &now).try(pkcs11.CKR_OK, careless); asked || !errors.Is(err, errThrottled) {
			t.Errorf("at once: asked %v, %v", asked, err)
		}
		now = now.Add(30 * time.Second)
	}
	if asked, err := opened(t, r, &now).try(pkcs11.CKR_OK, careless); !asked || err != nil {
		t.Errorf("after the pause: asked %v, %v", asked, err)
	}
}

// A token that is about to lock is not asked for a client that got PINs wrong.
func TestTheLastTryIsForOthers(t *testing.T) {
	now := time.Now()
	r := Register(t.TempDir())
	if asked, err := opened(t, r, &now).try(pkcs11.CKR_OK, lastTry); !asked || err != nil {
		t.Errorf("a client without wrong PINs: %v", err)
	}
	opened(t, r, &now).try(pkcs11.CKR_PIN_INCORRECT, careless)
	if asked, err := opened(t, r, &now).try(pkcs11.CKR_OK, lastTry); asked || !errors.Is(err, errLastTry) {
		t.Errorf("a client with a wrong PIN: asked %v, %v", asked, err)
	}
}

// field-L7: a token that has two tries left, and says after the first wrong one that the next
// is the last. Two processes of a client give wrong PINs at once: whoever is second has the
// token asked again once the first has its answer, and does not get the last try. The other
// token of that client, where a try is under way all the time, takes nothing from that.
func TestTheLastTryAtOnce(t *testing.T) {
	now := time.Now()
	r := Register(t.TempDir())
	elsewhere, err := opened(t, r, &now).begin(t.Context(), "other", false)
	if err != nil || !elsewhere.alone {
		t.Fatalf("%+v, %v", elsewhere, err)
	}
	var left, looked atomic.Int64
	left.Store(2)
	second := make(chan struct{}) // closed when both have looked
	var all sync.WaitGroup
	var refused atomic.Int64
	for range 2 {
		s := opened(t, r, &now)
		all.Go(func() {
			err := s.guard(context.Background(), "ca", func() caution {
				last := left.Load() == 1
				if looked.Add(1) == 2 {
					close(second)
				}
				if last {
					return lastTry
				}
				return countLow
			}, func() pkcs11.RV {
				select {
				case <-second:
				case <-time.After(time.Minute):
					t.Error("the other one has not begun")
				}
				left.Add(-1)
				return pkcs11.CKR_PIN_INCORRECT
			})
			if errors.Is(err, errLastTry) {
				refused.Add(1)
			}
		})
	}
	all.Wait()
	if left.Load() != 1 || refused.Load() != 1 {
		t.Errorf("the token has %d tries left, and %d logins were refused", left.Load(), refused.Load())
	}
}

// A try that was given back is as if it had never begun: it prolongs no pause.
func TestATryThatIsGivenBack(t *testing.T) {
	now := time.Now()
	r := Register(t.TempDir())
	for range 3 {
		opened(t, r, &now).try(pkcs11.CKR_PIN_INCORRECT, careless)
	}
	now = now.Add(time.Minute)
	if asked, err := opened(t, r, &now).try(pkcs11.CKR_OK, lastTry); asked || !errors.Is(err, errLastTry) {
		t.Errorf("the last try: asked %v, %v", asked, err)
	}
	if asked, err := opened(t, r, &now).try(pkcs11.CKR_OK, countLow); !asked || err != nil {
		t.Errorf("once others logged in: asked %v, %v", asked, err)
	}
}

func TestCautionIsOfThePINThatIsGiven(t *testing.T) {
	user, officer := &wire.Login{User: pkcs11.CKU_USER}, &wire.Login{User: pkcs11.CKU_SO}
	for _, c := range []struct {
		call  wire.Call
		flags uint64
		want  caution
	}{
		{user, 0, careless},
		{user, pkcs11.CKF_USER_PIN_COUNT_LOW, countLow},
		{user, pkcs11.CKF_USER_PIN_COUNT_LOW | pkcs11.CKF_USER_PIN_FINAL_TRY, lastTry},
		{user, pkcs11.CKF_SO_PIN_FINAL_TRY | pkcs11.CKF_RNG, careless},
		{officer, pkcs11.CKF_USER_PIN_FINAL_TRY, careless},
		{officer, pkcs11.CKF_SO_PIN_COUNT_LOW, countLow},
		{&wire.InitToken{}, pkcs11.CKF_SO_PIN_FINAL_TRY, lastTry},
		{&wire.SetPIN{}, pkcs11.CKF_SO_PIN_FINAL_TRY, lastTry},
		{&wire.Join{}, pkcs11.CKF_USER_PIN_FINAL_TRY, lastTry},
	} {
		if got := cautionOf(c.call, c.flags); got != c.want {
			t.Errorf("%v with flags %x: %v, not %v", c.call.Number(), c.flags, got, c.want)
		}
	}
}

// A client that hangs up before the answer, or whose process dies, has used up
// its try.
func TestATryWithoutAnEndIsWrong(t *testing.T) {
	now := time.Now()
	r := Register(t.TempDir())
	for range 3 {
		s := opened(t, r, &now)
		if _, err := s.begin(t.Context(), "ca", false); err != nil {
			t.Fatal(err)
		}
		s.file.Close() // as the end of the process does
	}
	if asked, err := opened(t, r, &now).try(pkcs11.CKR_OK, careless); asked || !errors.Is(err, errThrottled) {
		t.Errorf("asked %v, %v", asked, err)
	}
}

// Many processes of a client log in at once, as many beside each other as there
// are tries: with the right PIN all of them get in, with a wrong one the token
// sees no more than the limit.
func TestLoginsAtOnce(t *testing.T) {
	for rv, want := range map[pkcs11.RV]int64{pkcs11.CKR_OK: 12, pkcs11.CKR_PIN_INCORRECT: 3} {
		now := time.Now()
		r := Register(t.TempDir())
		var asked atomic.Int64
		var three [4]chan struct{} // closed when so many are under way together
		for i := range three {
			three[i] = make(chan struct{})
		}
		var all sync.WaitGroup
		for range 12 {
			s := opened(t, r, &now)
			all.Go(func() {
				s.guard(context.Background(), "ca", says(careless), func() pkcs11.RV {
					n := asked.Add(1) - 1
					if n%3 == 2 {
						close(three[n/3])
					}
					select {
					case <-three[n/3]:
					case <-time.After(time.Minute):
						t.Errorf("%v: try %d stays alone", rv, n+1)
					}
					return rv
				})
			})
		}
		all.Wait()
		if asked.Load() != want {
			t.Errorf("%v: the token was asked %d times, not %d", rv, asked.Load(), want)
		}
	}
}

// What was longer before, or was cut off, is read as far as it makes sense; what
// makes none lets nobody try.
func TestTheFileOfTriesIsDamaged(t *testing.T) {
	now := time.Now()
	r := Register(t.TempDir())
	s := opened(t, r, &now)
	for text, want := range map[string]bool{"": true, "{}": true, `{"ca":{"wrong":1}}}}garbage`: true, `{"ca":`: false, "garbage": false} {
		if err := os.WriteFile(s.file.Name(), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if asked, err := opened(t, r, &now).try(pkcs11.CKR_OK, careless); asked != want {
			t.Errorf("%q: asked %v, %v", text, asked, err)
		}
	}
}

// F1: a process of the client stands still with the lock of the file. A login waits for it
// as long as for others of that client, and no longer; the token is not asked.
func TestTheFileOfTriesIsLocked(t *testing.T) {
	now := time.Now()
	r := Register(t.TempDir())
	still, login := opened(t, r, &now), opened(t, r, &now)
	if err := still.lock(stateLock); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	err := login.guard(ctx, "ca", says(careless), func() pkcs11.RV {
		t.Error("the token was asked")
		return pkcs11.CKR_OK
	})
	if !errors.Is(err, errTurn) {
		t.Errorf("%v", err)
	}
	still.unlock(stateLock)
	if asked, err := login.try(pkcs11.CKR_OK, careless); !asked || err != nil {
		t.Errorf("afterwards: asked %v, %v", asked, err)
	}
}
