// SPDX-License-Identifier: Apache-2.0

package test_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	p11 "github.com/miekg/pkcs11"

	"oneslot.dev/oneslot/test/token"
)

// A multi is a kind of multi-part operation, or two of them that are fed with one input.
type multi struct {
	name string
	uses []string // the members' functions that it is made of
	init func(p11.SessionHandle) error
	part func(s p11.SessionHandle, i int) ([]byte, error)
	end  func(p11.SessionHandle) ([]byte, error)
}

// parts is what is fed in, none of it a whole number of blocks.
var parts = [][]byte{bytes.Repeat([]byte("a"), 21), bytes.Repeat([]byte("b"), 100), bytes.Repeat([]byte("c"), 33)}

// multis are all kinds, with keys on the token.
func (a *app) multis() []multi {
	a.w.t.Helper()
	must := a.w.must
	aes, _, err := a.Secret(a.s, p11.CKK_AES, true)
	must(err)
	mac, _, err := a.Secret(a.s, p11.CKK_GENERIC_SECRET, true)
	must(err)
	pair, _ := a.rsa()
	cbc := []*p11.Mechanism{p11.NewMechanism(p11.CKM_AES_CBC_PAD, make([]byte, 16))}
	gcm := func() []*p11.Mechanism {
		return []*p11.Mechanism{p11.NewMechanism(p11.CKM_AES_GCM, p11.NewGCMParams(make([]byte, 12), []byte("aad"), 128))}
	}
	whole := bytes.Join(parts, nil)
	encrypted := func(m []*p11.Mechanism) (cut [][]byte) {
		must(a.EncryptInit(a.s, m, aes))
		all, err := a.Encrypt(a.s, whole)
		must(err)
		for _, p := range parts[1:] {
			cut, all = append(cut, all[:len(p)]), all[len(p):]
		}
		return append(cut, all)
	}
	ctr := []*p11.Mechanism{p11.NewMechanism(p11.CKM_AES_CTR, append(ulong(128), make([]byte, 16)...))} // puts out all at once
	fromCBC, fromGCM, fromCTR := encrypted(cbc), encrypted(gcm()), encrypted(ctr)
	must(a.SignInit(a.s, simple(p11.CKM_SHA256_HMAC), mac))
	code, err := a.Sign(a.s, whole)
	must(err)
	none := func(feed func(p11.SessionHandle, []byte) error) func(p11.SessionHandle, int) ([]byte, error) {
		return func(s p11.SessionHandle, i int) ([]byte, error) { return nil, feed(s, parts[i]) }
	}
	some := func(feed func(p11.SessionHandle, []byte) ([]byte, error), in [][]byte) func(p11.SessionHandle, int) ([]byte, error) {
		return func(s p11.SessionHandle, i int) ([]byte, error) { return feed(s, in[i]) }
	}
	begin := func(init func(p11.SessionHandle, []*p11.Mechanism, p11.ObjectHandle) error, m []*p11.Mechanism, key p11.ObjectHandle) func(p11.SessionHandle) error {
		return func(s p11.SessionHandle) error { return init(s, m, key) }
	}
	digest := func(s p11.SessionHandle) error { return a.DigestInit(s, simple(p11.CKM_SHA256)) }
	verify := func(s p11.SessionHandle) ([]byte, error) { return nil, a.VerifyFinal(s, code) }
	both := func(one, other func(p11.SessionHandle) error) func(p11.SessionHandle) error {
		return func(s p11.SessionHandle) error { return errors.Join(one(s), other(s)) }
	}
	ends := func(one, other func(p11.SessionHandle) ([]byte, error)) func(p11.SessionHandle) ([]byte, error) {
		return func(s p11.SessionHandle) ([]byte, error) {
			first, err := one(s)
			second, also := other(s)
			return append(append(first, '|'), second...), errors.Join(err, also)
		}
	}
	sign, check := begin(a.SignInit, simple(p11.CKM_SHA256_HMAC), mac), begin(a.VerifyInit, simple(p11.CKM_SHA256_HMAC), mac)
	return []multi{
		{"encrypt CBC", []string{"C_EncryptUpdate", "C_EncryptFinal"}, begin(a.EncryptInit, cbc, aes), some(a.EncryptUpdate, parts), a.EncryptFinal},
		{"encrypt GCM", nil, begin(a.EncryptInit, gcm(), aes), some(a.EncryptUpdate, parts), a.EncryptFinal},
		{"decrypt CBC", []string{"C_DecryptUpdate", "C_DecryptFinal"}, begin(a.DecryptInit, cbc, aes), some(a.DecryptUpdate, fromCBC), a.DecryptFinal},
		{"decrypt GCM", nil, begin(a.DecryptInit, gcm(), aes), some(a.DecryptUpdate, fromGCM), a.DecryptFinal},
		{"digest", []string{"C_DigestUpdate", "C_DigestFinal"}, digest, none(a.DigestUpdate), a.DigestFinal},
		{"digest of a key", []string{"C_DigestKey"}, digest, func(s p11.SessionHandle, i int) ([]byte, error) {
			if i == 1 {
				return nil, a.DigestKey(s, mac)
			}
			return nil, a.DigestUpdate(s, parts[i])
		}, a.DigestFinal},
		{"sign", []string{"C_SignUpdate", "C_SignFinal"}, begin(a.SignInit, simple(p11.CKM_SHA256_RSA_PKCS), pair.Private), none(a.SignUpdate), a.SignFinal},
		{"verify", []string{"C_VerifyUpdate", "C_VerifyFinal"}, check, none(a.VerifyUpdate), verify},
		{"digest and encrypt", []string{"C_DigestUpdate", "C_EncryptUpdate"}, both(digest, begin(a.EncryptInit, cbc, aes)), some(a.DigestEncryptUpdate, parts), ends(a.EncryptFinal, a.DigestFinal)},
		{"decrypt and digest", []string{"C_DigestUpdate", "C_DecryptUpdate"}, both(digest, begin(a.DecryptInit, ctr, aes)), some(a.DecryptDigestUpdate, fromCTR), ends(a.DecryptFinal, a.DigestFinal)},
		{"sign and encrypt", []string{"C_SignUpdate", "C_EncryptUpdate"}, both(sign, begin(a.EncryptInit, cbc, aes)), some(a.SignEncryptUpdate, parts), ends(a.EncryptFinal, a.SignFinal)},
		{"decrypt and verify", []string{"C_VerifyUpdate", "C_DecryptUpdate"}, both(check, begin(a.DecryptInit, ctr, aes)), some(a.DecryptVerifyUpdate, fromCTR), ends(a.DecryptFinal, verify)},
	}
}

// A fed is one operation in a session of its own.
type fed struct {
	multi
	s   p11.SessionHandle
	out []byte
	err error
}

func (a *app) begin(m multi) *fed {
	a.w.t.Helper()
	s, err := a.Session()
	a.w.must(err)
	r := &fed{multi: m, s: s}
	r.err = m.init(s)
	return r
}

// feed feeds part i, or ends the operation if that was the last.
func (r *fed) feed(i int) {
	if r.err != nil {
		return
	}
	var out []byte
	if i < len(parts) {
		out, r.err = r.part(r.s, i)
	} else {
		out, r.err = r.end(r.s)
	}
	r.out = append(r.out, out...)
}

// undisturbed is what the operations put out.
func (a *app) undisturbed(all []multi) map[string][]byte {
	a.w.t.Helper()
	out := map[string][]byte{}
	for _, m := range all {
		r := a.begin(m)
		for i := range len(parts) + 1 {
			r.feed(i)
		}
		if r.err != nil {
			a.w.t.Fatalf("%s, undisturbed: %v", m.name, r.err)
		}
		out[m.name] = r.out
		a.w.must(a.CloseSession(r.s))
	}
	return out
}

// L4, F4; field-J1: every member's process ends between any two parts of any kind of
// operation, and the application does not notice.
func TestMembersEndBetweenParts(t *testing.T) {
	if !inProcess(t) {
		return
	}
	w := newWorld(t, 3)
	a := w.login()
	all := a.multis()
	want := a.undisturbed(all)
	for lost := range len(parts) + 1 {
		var runs []*fed
		for _, m := range all {
			runs = append(runs, a.begin(m))
		}
		for i := range len(parts) + 1 {
			if i == lost {
				for _, member := range w.Members {
					w.replaced(member, w.Kill)
					w.must(w.Ready())
				}
			}
			for _, r := range runs {
				r.feed(i)
			}
		}
		for _, r := range runs {
			if r.err != nil || !bytes.Equal(r.out, want[r.name]) {
				t.Errorf("%s, lost before part %d: %v, output right: %v", r.name, lost, r.err, bytes.Equal(r.out, want[r.name]))
			}
			w.must(a.CloseSession(r.s))
		}
	}
}

// L4, F4, H3: a member's process ends in the middle of a call of any kind of operation,
// before or after its token acted.
func TestAnswerToAPartIsLost(t *testing.T) {
	if !inProcess(t) {
		return
	}
	w, lost := newLosingWorld(t, 3)
	a := w.login()
	for i := range 3 { // so that the members number their keys unlike
		_, _, err := a.Secret(a.s, p11.CKK_AES, true, token.Label(fmt.Sprint("other ", i)))
		w.must(err)
	}
	all := a.multis()
	want := a.undisturbed(all)
	for _, m := range all {
		for _, function := range m.uses {
			for _, when := range []string{"before", "after"} {
				what := fmt.Sprintf("%s, %s, %s", m.name, function, when)
				armed := filepath.Join(lost, function)
				r := a.begin(m)
				r.feed(0)
				w.must(os.WriteFile(armed, []byte(when), 0o600))
				for i := range len(parts) {
					r.feed(1 + i)
				}
				if r.err != nil || !bytes.Equal(r.out, want[m.name]) {
					t.Errorf("%s: %v, output right: %v", what, r.err, bytes.Equal(r.out, want[m.name]))
				}
				if _, err := os.Stat(armed); err == nil {
					t.Errorf("%s: no process made this call: this is no test", what)
					w.must(os.Remove(armed))
				}
				w.must(a.CloseSession(r.s))
				w.must(w.Ready())
			}
		}
	}
}

// F4: beyond replay_limit an operation of any kind ends with CKR_DEVICE_ERROR when its
// member is lost, and its session can be used at once.
func TestBeyondTheReplayLimit(t *testing.T) {
	if !inProcess(t) {
		return
	}
	w := newWorld(t, 2)
	w.must(w.Set(`replay_limit = "64B"`))
	a := w.login()
	all := a.multis()
	want := a.undisturbed(all)
	var runs []*fed
	for _, m := range all {
		r := a.begin(m)
		r.feed(0)
		r.feed(1)
		r.feed(2)
		runs = append(runs, r)
	}
	for _, member := range w.Members {
		w.replaced(member, w.Kill)
		w.must(w.Ready())
	}
	for _, r := range runs {
		lost := r.name != "digest of a key" // of which not enough was fed
		if r.feed(3); lost && !errors.Is(r.err, p11.Error(p11.CKR_DEVICE_ERROR)) || !lost && r.err != nil {
			t.Errorf("%s: %v", r.name, r.err)
		}
		again := &fed{multi: r.multi, s: r.s}
		again.err = r.init(r.s)
		for i := range len(parts) + 1 {
			again.feed(i)
		}
		if again.err != nil || !bytes.Equal(again.out, want[r.name]) {
			t.Errorf("%s, once more in the same session: %v", r.name, again.err)
		}
	}
}
