// SPDX-License-Identifier: Apache-2.0

package host_test

import (
	"bytes"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"oneslot.dev/oneslot/host"
	"oneslot.dev/oneslot/host/hosttest"
	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/wire"
)

// A watched host counts what the direct path leaves to Go, or, with off set, has
// no direct path.
type watched struct {
	*host.Token
	off            bool
	entered, given atomic.Int32
}

type directSession interface {
	wire.HostSession
	wire.DirectSession
}

type watchedSession struct {
	directSession
	of *watched
}

type slowSession struct{ wire.HostSession }

func (w *watched) Open(view wire.View) (wire.HostSession, error) {
	s, err := w.Token.Open(view)
	if err != nil || w.off {
		return slowSession{s}, err
	}
	return &watchedSession{s.(directSession), w}, nil
}

func (s *watchedSession) Direct(in, out uintptr) ([]byte, error) {
	s.of.entered.Add(1)
	pending, err := s.directSession.Direct(in, out)
	if len(pending) > 0 {
		s.of.given.Add(1)
	}
	return pending, err
}

func (w *watched) serve(t *testing.T) *hosttest.Stream {
	ours, theirs, err := wire.SocketPair(unix.SOCK_SEQPACKET)
	if err != nil {
		t.Fatal(err)
	}
	defer theirs.Close()
	control, err := net.FileConn(theirs)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		wire.ServeSockets(control.(*net.UnixConn), w)
	}()
	client := wire.NewSockets(ours)
	t.Cleanup(func() { client.Close(); <-ended })
	return hosttest.Open(t, client, wire.GroupView)
}

// The direct path is tested within this process: SoftHSM takes its configuration
// once, so there is one token.
func TestDirect(t *testing.T) {
	soft := hosttest.Token(t, "direct")
	t.Setenv("SOFTHSM2_CONF", soft.Conf)
	token := host.New(host.Config{Module: hosttest.SoftHSM, Label: "direct"})
	t.Run("damage", func(t *testing.T) { damage(t, token) })
	t.Run("answers", func(t *testing.T) { answersAsGo(t, token) })
}

// What the direct path answers is what Go answers, byte for byte; what it does
// not know it leaves to Go.
func answersAsGo(t *testing.T, token *host.Token) {
	fast, slow := &watched{Token: token}, &watched{Token: token, off: true}
	s, other := fast.serve(t), slow.serve(t)
	s.Must(&wire.Join{Officer: []byte(hosttest.OfficerPIN), Pin: []byte(hosttest.UserPIN), Secret: secretOf(1)})
	s.Login()
	pair := rsaPair(s, false, "a")
	aes := keyOf(pkcs11.CKM_AES_KEY_GEN, slices.Concat(number(pkcs11.CKA_VALUE_LEN, 32), yes(pkcs11.CKA_ENCRYPT, pkcs11.CKA_DECRYPT)))(s)[0]
	data := wire.Data([]byte("what is signed"))
	block := wire.Data(make([]byte, 32))
	iv := bytes.Repeat([]byte{7}, 16)
	room := func(n uint64) wire.Room { return wire.Room{Capacity: n} }
	signature := sign(s, mechanism(pkcs11.CKM_SHA256_RSA_PKCS, nil), pair.PrivateKey, data.Data)
	rsa := func(t pkcs11.MechanismType, key uint64) *wire.SignInit {
		return &wire.SignInit{Mechanism: mechanism(t, nil), Key: key}
	}
	cases := []struct {
		name   string
		direct bool
		calls  func() []wire.Call
	}{
		{"sign", true, func() []wire.Call {
			return []wire.Call{rsa(pkcs11.CKM_SHA256_RSA_PKCS, pair.PrivateKey), &wire.Sign{Data: data, SignatureRoom: wide}}
		}},
		{"sign, exact room", true, func() []wire.Call {
			return []wire.Call{rsa(pkcs11.CKM_SHA256_RSA_PKCS, pair.PrivateKey), &wire.Sign{Data: data, SignatureRoom: room(uint64(len(signature)))}}
		}},
		{"sign, a key that cannot", true, func() []wire.Call {
			return []wire.Call{rsa(pkcs11.CKM_SHA256_RSA_PKCS, pair.PublicKey), &wire.Sign{Data: data, SignatureRoom: wide}}
		}},
		{"sign, no such key", true, func() []wire.Call {
			return []wire.Call{rsa(pkcs11.CKM_SHA256_RSA_PKCS, 1<<40), &wire.Sign{Data: data, SignatureRoom: wide}}
		}},
		{"sign, a parameter that may not be there", false, func() []wire.Call {
			return []wire.Call{&wire.SignInit{Mechanism: mechanism(pkcs11.CKM_SHA256_RSA_PKCS, iv), Key: pair.PrivateKey}, &wire.Sign{Data: data, SignatureRoom: wide}}
		}},
		{"sign, empty data", true, func() []wire.Call {
			return []wire.Call{rsa(pkcs11.CKM_SHA256_RSA_PKCS, pair.PrivateKey), &wire.Sign{Data: wire.Data([]byte{}), SignatureRoom: wide}}
		}},
		{"sign, NULL data", false, func() []wire.Call {
			return []wire.Call{rsa(pkcs11.CKM_SHA256_RSA_PKCS, pair.PrivateKey), &wire.Sign{Data: wire.Bytes{Null: true}, SignatureRoom: wide}}
		}},
		{"verify", true, func() []wire.Call {
			return []wire.Call{&wire.VerifyInit{Mechanism: mechanism(pkcs11.CKM_SHA256_RSA_PKCS, nil), Key: pair.PublicKey}, &wire.Verify{Data: data, Signature: wire.Data(signature)}}
		}},
		{"verify, wrong", true, func() []wire.Call {
			return []wire.Call{&wire.VerifyInit{Mechanism: mechanism(pkcs11.CKM_SHA256_RSA_PKCS, nil), Key: pair.PublicKey}, &wire.Verify{Data: block, Signature: wire.Data(signature)}}
		}},
		{"encrypt", true, func() []wire.Call {
			return []wire.Call{&wire.EncryptInit{Mechanism: mechanism(pkcs11.CKM_AES_CBC_PAD, iv), Key: aes}, &wire.Encrypt{Data: data, EncryptedRoom: wide}}
		}},
		{"encrypt, a parameter too long", true, func() []wire.Call {
			return []wire.Call{&wire.EncryptInit{Mechanism: mechanism(pkcs11.CKM_AES_CBC_PAD, iv[:15]), Key: aes}, &wire.Encrypt{Data: data, EncryptedRoom: wide}}
		}},
		{"decrypt, bad data", true, func() []wire.Call {
			return []wire.Call{&wire.DecryptInit{Mechanism: mechanism(pkcs11.CKM_AES_CBC_PAD, iv), Key: aes}, &wire.Decrypt{Encrypted: block, DataRoom: wide}}
		}},
		{"decrypt", true, func() []wire.Call {
			return []wire.Call{&wire.DecryptInit{Mechanism: mechanism(pkcs11.CKM_AES_ECB, nil), Key: aes}, &wire.Decrypt{Encrypted: block, DataRoom: wide}}
		}},
		{"digest", true, func() []wire.Call {
			return []wire.Call{&wire.DigestInit{Mechanism: mechanism(pkcs11.CKM_SHA384, nil)}, &wire.Digest{Data: data, DigestRoom: wide}}
		}},
		{"digest of much", false, func() []wire.Call {
			return []wire.Call{&wire.DigestInit{Mechanism: mechanism(pkcs11.CKM_SHA256, nil)}, &wire.Digest{Data: wire.Data(make([]byte, 200_000)), DigestRoom: wide}}
		}},
		{"no such mechanism", true, func() []wire.Call {
			return []wire.Call{&wire.DigestInit{Mechanism: mechanism(0x7fff, nil)}, &wire.Digest{Data: data, DigestRoom: wide}}
		}},
		{"another call", false, func() []wire.Call { return []wire.Call{&wire.GetSessionInfo{}} }},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			want, got := c.calls(), c.calls()
			other.Do(want...)
			s.Must(&wire.GenerateRandom{RandomRoom: room(8)}) // the session is on the direct path after it
			before := fast.given.Load()
			s.Do(got...)
			if direct := fast.given.Load() == before; direct != c.direct {
				t.Errorf("answered directly: %v", direct)
			}
			for i := range want {
				if !reflect.DeepEqual(got[i], want[i]) {
					t.Errorf("%v: %+v\nGo: %+v", want[i].Number(), got[i], want[i])
				}
			}
		})
	}
	t.Run("room that is too small", func(t *testing.T) { // leaves the operation active
		s, other := fast.serve(t), slow.serve(t)
		for _, s := range []*hosttest.Stream{s, other} {
			c := &wire.Sign{Data: data, SignatureRoom: room(8)}
			s.Do(&wire.GenerateRandom{RandomRoom: room(8)})
			s.Do(rsa(pkcs11.CKM_SHA256_RSA_PKCS, pair.PrivateKey), c)
			if c.Result() != pkcs11.CKR_BUFFER_TOO_SMALL || !c.Signature.Null || c.Signature.Length != uint64(len(signature)) {
				t.Errorf("%v: %+v", c.Result(), c.Signature)
			}
			c = &wire.Sign{Data: data, SignatureRoom: wide}
			s.Must(c)
			if !bytes.Equal(c.Signature.Data, signature) {
				t.Error("another signature")
			}
		}
	})
	t.Run("random", func(t *testing.T) {
		seen := map[string]bool{}
		for range 50 {
			c := &wire.GenerateRandom{RandomRoom: room(16)}
			s.Must(c)
			if len(c.Random.Data) != 16 || seen[string(c.Random.Data)] {
				t.Errorf("%x", c.Random.Data)
			}
			seen[string(c.Random.Data)] = true
		}
	})
	// H4, K6: nobody uses a domain key, also not by guessing its handle.
	t.Run("domain keys", func(t *testing.T) {
		s := fast.serve(t)
		s.Must(&wire.Describe{})
		s.Must(&wire.GenerateRandom{RandomRoom: room(8)})
		opened := 0
		for key := range aes + 200 { // SoftHSM counts handles up
			c := &wire.Sign{Data: data, SignatureRoom: wide}
			s.Do(&wire.SignInit{Mechanism: mechanism(pkcs11.CKM_SHA256_HMAC, nil), Key: key}, c)
			e := &wire.Encrypt{Data: block, EncryptedRoom: wide}
			s.Do(&wire.EncryptInit{Mechanism: mechanism(pkcs11.CKM_AES_ECB, nil), Key: key}, e)
			if len(c.Signature.Data) > 0 || len(e.Encrypted.Data) > 0 && key != aes {
				t.Errorf("the key with handle %d was used", key)
			}
			if len(e.Encrypted.Data) > 0 {
				opened++
			}
		}
		if opened != 1 {
			t.Errorf("%d keys encrypt, want the one that may", opened)
		}
	})
	// A session that nobody uses holds no thread: it waits in Go.
	t.Run("idle", func(t *testing.T) {
		entered := fast.entered.Load()
		for deadline := time.Now().Add(hosttest.Patience); fast.entered.Load() == entered; {
			if time.Now().After(deadline) {
				t.Fatal("the session never left the direct path")
			}
			timer := time.NewTimer(1500 * time.Millisecond)
			<-timer.C
			s.Must(&wire.GenerateRandom{RandomRoom: room(8)})
		}
	})
}

// F2: a call that takes long gives signs of life on the direct path, too.
func TestDirectGivesSignsOfLife(t *testing.T) {
	dir := t.TempDir()
	so, pipe := filepath.Join(dir, "waiting.so"), filepath.Join(dir, "pipe")
	script := "cc -shared -fPIC -Wall -Wextra -Werror -DSOFTHSM='\"" + hosttest.SoftHSM + "\"' $(pkg-config --cflags p11-kit-1) testdata/waiting.c -ldl -o " + so
	if out, err := exec.Command("sh", "-c", script).CombinedOutput(); err != nil {
		t.Fatalf("waiting.c: %v\n%s", err, out)
	}
	if err := unix.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	soft := hosttest.Token(t, "waiting")
	client := hosttest.StartModule(t, []string{soft.Env(), "WAITING=" + pipe}, "--module", so, "--token", soft.Label)
	s := hosttest.Open(t, client, wire.GroupView)
	s.Must(&wire.GenerateRandom{RandomRoom: wire.Room{Capacity: 8}}) // the next is answered directly
	done := make(chan struct{})
	call := &wire.GenerateRandom{RandomRoom: wire.Room{Capacity: 13}}
	go func() {
		defer close(done)
		s.Do(call)
	}()
	last := client.LastSign()
	for signs, deadline := 0, time.Now().Add(hosttest.Patience); signs < 2; {
		if now := client.LastSign(); now.After(last) {
			last = now
			signs++
		}
		if time.Now().After(deadline) {
			t.Fatal("no sign of life")
		}
		<-time.NewTimer(50 * time.Millisecond).C
	}
	select {
	case <-done:
		t.Fatal("the call did not wait")
	default:
	}
	if err := os.WriteFile(pipe, []byte{1}, 0); err != nil {
		t.Fatal(err)
	}
	<-done
	if call.Result() != pkcs11.CKR_OK {
		t.Error(call.Result())
	}
}
