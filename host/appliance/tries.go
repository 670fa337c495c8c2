// SPDX-License-Identifier: Apache-2.0

package appliance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"oneslot.dev/oneslot/pkcs11"
)

// tries limits how often a client may give a wrong PIN (field-L7), for all of
// its connections together. The state stands in a file of the register, which
// each process opens while it still may, and outlives all of them.
//
// A try counts as wrong before it is made, and is taken back when the PIN was
// right: so a client gains nothing by hanging up. A byte of the file is locked
// for each try that is under way, which tells it from one that was wrong.
type tries struct {
	file  *os.File
	most  int
	pause time.Duration
	now   func() time.Time
	turn  chan struct{} // one try at a time in this process: locks are the file's
}

const (
	stateLock = 1 << 20
	slotsAt   = 1<<20 + 1

	// turnPatience is how long a login waits for others of the same client
	// that use up the tries which are left; they mostly take milliseconds.
	turnPatience = 15 * time.Second
	turnRetry    = 10 * time.Millisecond

	// Each wrong PIN after a pause doubles the next pause, so often.
	mostDoublings = 8
)

// A record is what is remembered of a client on a token.
type record struct {
	Wrong    int       `json:"wrong"`     // PINs since the last right one, and tries under way
	Last     time.Time `json:"last"`      // when the last of them began
	UnderWay []int64   `json:"under_way"` // bytes that are locked for tries, if their process lives
}

// A try is one that is counted and not yet made, or under way.
type try struct {
	token string
	slot  int64     // the byte that is locked for it
	wrong bool      // PINs of this client were wrong before
	alone bool      // no other of this client was under way when it began
	last  time.Time // when the one before it began
}

// caution is what a token says of the PIN before it compares another one.
type caution int

const (
	careless caution = iota
	countLow         // a PIN was wrong since the last right one
	lastTry          // it locks at the next wrong one
)

var (
	errThrottled = errors.New("too many wrong PINs of this client: it has to wait (limits: login_tries, login_pause)")
	errLastTry   = errors.New("the token locks at the next wrong PIN, and this client's last one was wrong: log in by another client first")
	errTurn      = errors.New("other logins of this client are under way and do not end")
)

func (r Register) triesFile(client string) string {
	return filepath.Join(string(r), client+".tries")
}

func (r Register) tries(client string, l *Limits) (*tries, error) {
	f, err := os.OpenFile(r.triesFile(client), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("register: %w", err)
	}
	return &tries{f, l.LoginTries, time.Duration(l.LoginPause), time.Now, make(chan struct{}, 1)}, nil
}

// guard lets a login reach the token if the client has a try left. What the token says of
// the PIN, look asks once the try is counted. When the token is about to lock, that try is
// not for a client that got PINs wrong; and once one was wrong, tries of a client come one
// after the other, since what the token says is old while another is under way. An error
// says why the login was not made; when the file cannot be had, that is in doubt against
// the client.
func (t *tries) guard(ctx context.Context, token string, look func() caution, login func() pkcs11.RV) error {
	ctx, cancel := context.WithTimeout(ctx, turnPatience)
	defer cancel()
	select {
	case t.turn <- struct{}{}:
		defer func() { <-t.turn }()
	case <-ctx.Done():
		return errTurn
	}
	one, err := t.begin(ctx, token, false)
	if err != nil {
		return err
	}
	said := look()
	if said != careless && !one.alone {
		if err := t.giveBack(one); err != nil {
			return err
		}
		if one, err = t.begin(ctx, token, true); err != nil {
			return err
		}
		said = look()
	}
	if said == lastTry && one.wrong {
		return errors.Join(errLastTry, t.giveBack(one))
	}
	defer t.unlock(one.slot)
	return t.end(one, login())
}

// begin takes a try; if alone is wanted, when no other of this client is under way.
func (t *tries) begin(ctx context.Context, token string, alone bool) (*try, error) {
	retry := time.NewTicker(turnRetry)
	defer retry.Stop()
	for {
		one, err := t.attempt(token, alone)
		if !errors.Is(err, errTurn) {
			return one, err
		}
		select {
		case <-ctx.Done():
			return nil, errTurn
		case <-retry.C:
		}
	}
}

// attempt is errTurn while tries that are under way have to end first.
func (t *tries) attempt(token string, alone bool) (*try, error) {
	if err := t.lock(stateLock); isLocked(err) {
		return nil, errTurn // for a moment, or by a process that stands still
	} else if err != nil {
		return nil, err
	}
	defer t.unlock(stateLock)
	all, err := t.read()
	if err != nil {
		return nil, err
	}
	free := t.settle(all)
	r := all[token]
	if now := t.now(); r.Last.After(now) {
		// The clock was ahead when it began, and would keep the client waiting until then.
		r.Last = now
		all[token] = r
		if err := t.write(all); err != nil {
			return nil, err
		}
	}
	over, others := r.Wrong-t.most, len(r.UnderWay)
	one := &try{token: token, slot: free, wrong: r.Wrong > others, alone: others == 0, last: r.Last}
	switch {
	case free < 0, !one.alone && (alone || one.wrong || over >= 0):
		return nil, errTurn
	case over >= 0 && t.now().Before(r.Last.Add(t.pause<<min(over, mostDoublings))):
		return nil, errThrottled
	}
	if err := t.lock(free); err != nil {
		return nil, err
	}
	r.Wrong++
	r.Last = t.now()
	r.UnderWay = append(r.UnderWay, free)
	all[token] = r
	if err := t.write(all); err != nil {
		t.unlock(free)
		return nil, err
	}
	return one, nil
}

// settle drops the tries whose process is gone from those that are under way: they stay
// wrong. It returns a byte that can be locked for a try, -1 if there is none.
func (t *tries) settle(all map[string]record) (free int64) {
	free = -1
	locked := map[int64]bool{}
	for i := range t.most {
		at := slotsAt + int64(i)
		if t.lock(at) != nil {
			locked[at] = true
			continue
		}
		t.unlock(at)
		free = at
	}
	for token, r := range all {
		r.UnderWay = slices.DeleteFunc(r.UnderWay, func(at int64) bool { return !locked[at] })
		all[token] = r
	}
	return free
}

// end notes the outcome of a try. Others that are under way stay counted until theirs.
func (t *tries) end(one *try, rv pkcs11.RV) error {
	return t.change(one, func(r *record) {
		switch {
		case rv == pkcs11.CKR_OK:
			r.Wrong = len(r.UnderWay)
		case !wrongPIN(rv): // it was not compared
			r.Wrong = max(r.Wrong-1, 0)
		}
	})
}

// giveBack takes a try back that was not made: it is as if it had never begun.
func (t *tries) giveBack(one *try) error {
	defer t.unlock(one.slot)
	return t.change(one, func(r *record) {
		r.Wrong = max(r.Wrong-1, 0)
		if one.alone {
			r.Last = one.last
		}
	})
}

// change changes the record of a try that ends.
func (t *tries) change(one *try, change func(*record)) error {
	if err := t.lockState(); err != nil {
		return err
	}
	defer t.unlock(stateLock)
	all, err := t.read()
	if err != nil {
		return err
	}
	r := all[one.token]
	r.UnderWay = slices.DeleteFunc(r.UnderWay, func(at int64) bool { return at == one.slot })
	change(&r)
	all[one.token] = r
	if r.Wrong == 0 {
		delete(all, one.token)
	}
	return t.write(all)
}

// wrongPIN says whether a token compared the PIN and found it wrong. X_Join
// tells its two PINs apart by CKR_PIN_INVALID.
func wrongPIN(rv pkcs11.RV) bool {
	switch rv {
	case pkcs11.CKR_PIN_INCORRECT, pkcs11.CKR_PIN_INVALID, pkcs11.CKR_PIN_LEN_RANGE, pkcs11.CKR_PIN_LOCKED:
		return true
	}
	return false
}

func (t *tries) read() (map[string]record, error) {
	all := map[string]record{}
	// What stands behind the first value was longer before.
	err := json.NewDecoder(io.NewSectionReader(t.file, 0, stateLock)).Decode(&all)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s: %w", t.file.Name(), err)
	}
	return all, nil
}

func (t *tries) write(all map[string]record) error {
	text, err := json.Marshal(all)
	if err != nil {
		return err
	}
	if _, err = t.file.WriteAt(text, 0); err != nil {
		return err
	}
	return t.file.Truncate(int64(len(text)))
}

// lockState locks the state, which others do for a moment each. A process that stands
// still with the lock keeps nobody for ever.
func (t *tries) lockState() error {
	ctx, cancel := context.WithTimeout(context.Background(), turnPatience)
	defer cancel()
	retry := time.NewTicker(turnRetry)
	defer retry.Stop()
	for {
		err := t.lock(stateLock)
		if !isLocked(err) {
			return err
		}
		select {
		case <-retry.C:
		case <-ctx.Done():
			return errTurn
		}
	}
}

// isLocked says whether it is another who has a lock.
func isLocked(err error) bool { return errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EACCES) }

// lock locks one byte of the file, for this open file and not for the process:
// the connections of one test are one process. It does not wait.
func (t *tries) lock(at int64) error {
	for {
		err := unix.FcntlFlock(t.file.Fd(), unix.F_OFD_SETLK, &unix.Flock_t{Type: unix.F_WRLCK, Start: at, Len: 1})
		if err != unix.EINTR {
			return err
		}
	}
}

func (t *tries) unlock(at int64) {
	unix.FcntlFlock(t.file.Fd(), unix.F_OFD_SETLK, &unix.Flock_t{Type: unix.F_UNLCK, Start: at, Len: 1})
}
