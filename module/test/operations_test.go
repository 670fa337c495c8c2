// SPDX-License-Identifier: Apache-2.0

package module_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/wire"
)

// An operationsEngine answers what testdata/operations.c asks, and keeps for each
// session which key its signing is with, as the standard says (PKCS#11 2.40, 5.11).
type operationsEngine struct {
	mu     sync.Mutex
	seen   []string
	fail   string // the call that fails next, and how often it comes until then
	count  int
	rv     pkcs11.RV
	active map[uint64]uint64 // key by session; nil: nothing is kept
}

func (o *operationsEngine) answer(call wire.Call) {
	o.mu.Lock()
	defer o.mu.Unlock()
	name := call.Number().String()
	if name != "X_Attach" {
		o.seen = append(o.seen, name)
	}
	if name == o.fail {
		if o.count--; o.count == 0 {
			o.fail = ""
			wire.Refuse(call, o.rv)
			return
		}
	}
	some := func(room wire.Room) wire.Bytes {
		if room.Null {
			return wire.LengthOnly(3)
		}
		return wire.Data([]byte("sig"))
	}
	switch c := call.(type) {
	case *wire.SignInit:
		wire.Refuse(c, o.begin(c.Session, c.Key))
	case *wire.Sign:
		if o.active == nil {
			c.Signature = some(c.SignatureRoom)
			return
		}
		wire.Refuse(c, o.sign(c.Session, &c.Signature))
	case *wire.SignOnce:
		if o.active == nil {
			c.Signature = some(c.SignatureRoom)
			return
		}
		rv := o.begin(c.Session, c.Key)
		if rv == pkcs11.CKR_OK {
			rv = o.sign(c.Session, &c.Signature)
		}
		wire.Refuse(c, rv)
	case *wire.SignFinal:
		c.Signature = some(c.SignatureRoom)
	case *wire.Decrypt:
		c.Data = some(c.DataRoom)
	case *wire.DecryptOnce:
		c.Data = some(c.DataRoom)
	case *wire.Digest:
		c.Digest = some(c.DigestRoom)
	case *wire.DigestOnce:
		c.Digest = some(c.DigestRoom)
	case *wire.Encrypt:
		c.Encrypted = some(c.EncryptedRoom)
	case *wire.EncryptOnce:
		c.Encrypted = some(c.EncryptedRoom)
	case *wire.GenerateRandom:
		c.Random = wire.Data([]byte("rnd"))
	}
}

func (o *operationsEngine) begin(session, key uint64) pkcs11.RV {
	if o.active == nil {
		return pkcs11.CKR_OK
	}
	if o.active[session] != 0 {
		return pkcs11.CKR_OPERATION_ACTIVE
	}
	o.active[session] = key
	return pkcs11.CKR_OK
}

func (o *operationsEngine) sign(session uint64, out *wire.Bytes) pkcs11.RV {
	key := o.active[session]
	if key == 0 {
		return pkcs11.CKR_OPERATION_NOT_INITIALIZED
	}
	delete(o.active, session)
	*out = wire.Data([]byte{byte(key)})
	return pkcs11.CKR_OK
}

// follow does what the application says: it orders a failure, or tells what the
// engine will see from here to the next line of this kind.
func (o *operationsEngine) follow(t *testing.T, e *testEngine) func(line string) {
	expected := "X_Hello"
	return func(line string) {
		o.mu.Lock()
		defer o.mu.Unlock()
		rest, order := strings.CutPrefix(line, "! ")
		switch {
		case strings.HasPrefix(rest, "hang up"):
			e.hangUp()
		case order:
			fmt.Sscan(rest, &o.fail, &o.count, &o.rv)
		default:
			if seen := strings.Join(o.seen, " "); seen != expected {
				t.Errorf("the engine saw\n\t%s\nand not\n\t%s", seen, expected)
			}
			expected, o.seen = line, nil
		}
	}
}

// An Init that repeats the last one of its session goes with the call that
// belongs to it, only then, and never in a way that an application could tell
// (module/operation.h).
func TestOperations(t *testing.T) {
	for _, part := range []string{"repeat", "kinds", "changes", "needed", "failures", "lengths", "information", "child", "gone"} {
		t.Run(part, func(t *testing.T) {
			both(t, func(t *testing.T, v variant) {
				o := &operationsEngine{}
				e := &testEngine{frames: true, framed: o.answer}
				c := v.command(t, "operations", part)
				c.Env = append(c.Env, "ONESLOT_SOCKET="+e.listen(t))
				converse(t, c, o.follow(t, e))
			})
		})
	}
}

// H3: threads that share a session, while another thread has all that was put
// off carried out. Whose Init succeeds signs with his key, and nobody else.
func TestOperationsOfThreads(t *testing.T) {
	both(t, func(t *testing.T, v variant) {
		o := &operationsEngine{active: map[uint64]uint64{}}
		e := &testEngine{frames: true, framed: o.answer}
		c := v.command(t, "sharers")
		c.Env = append(c.Env, "ONESLOT_SOCKET="+e.listen(t))
		run(t, c)
		o.mu.Lock()
		defer o.mu.Unlock()
		once := 0
		for _, name := range o.seen {
			if name == "X_SignOnce" {
				once++
			}
		}
		t.Logf("%d calls, %d of them both in one", len(o.seen), once)
		if once == 0 {
			t.Error("no Init was put off")
		}
	})
}
