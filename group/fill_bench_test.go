// SPDX-License-Identifier: Apache-2.0

package group

import (
	"bytes"
	"fmt"
	"os"
	"testing"

	"oneslot.dev/oneslot/config"
	"oneslot.dev/oneslot/host/hosttest"
	"oneslot.dev/oneslot/member"
	"oneslot.dev/oneslot/member/local"
	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/wire"
)

// BenchmarkFill measures how many keys each second an empty member gets that
// joins: member processes on SoftHSM, 500 AES keys and 250 pairs of EC keys. A
// pair counts as two, since both halves are copied. All of the time from the
// start of the group until the member is ready counts, with the pauses of the sync.
func BenchmarkFill(b *testing.B) {
	full := joined(b, "full")
	populate(b, full)
	b.ResetTimer()
	for range b.N {
		b.StopTimer()
		empty := joined(b, "empty")
		g := New(twoMembers(), []member.Member{local.New(full), local.New(empty)}, wire.GroupView, func(e Event) {
			if e.Code == ObjectNotCopied {
				b.Errorf("%s: %s %v", e.Member, e.Text, e.Cause)
			}
		})
		b.StartTimer()
		g.Start()
		g.Settle(b.Context())
		if rv := g.Login(pkcs11.CKU_USER, pkcs11.PIN(hosttest.UserPIN)); rv != pkcs11.CKR_OK {
			b.Fatal(rv)
		}
		g.await(b.Context(), func() bool { return g.seats[1].state == Ready })
		b.StopTimer()
		if n := g.Snapshot().Members[1].Objects; n != fillKeys {
			b.Errorf("the member has %d objects, want %d", n, fillKeys)
		}
		g.Close()
		b.StartTimer()
	}
	b.ReportMetric(float64(fillKeys*b.N)/b.Elapsed().Seconds(), "keys/s")
}

const fillKeys = 1000

func twoMembers() config.Group {
	options := config.DefaultGroup("g")
	options.Members = []string{"full", "empty"}
	return options
}

// joined makes a token in the domain of the benchmark.
func joined(b *testing.B, name string) local.Config {
	token := hosttest.Token(b, name)
	s := hosttest.Open(b, hosttest.Start(b, token), wire.GroupView)
	s.Must(&wire.Join{Officer: []byte(hosttest.OfficerPIN), Pin: []byte(hosttest.UserPIN), Secret: bytes.Repeat([]byte{1}, 32)})
	return local.Config{Name: name, Program: hosttest.Program(b), Module: hosttest.SoftHSM, Token: name,
		Env: append(os.Environ(), token.Env())}
}

// populate makes the keys, as applications do: most are non-extractable.
func populate(b *testing.B, full local.Config) {
	options := config.DefaultGroup("full")
	g := New(options, []member.Member{local.New(full)}, wire.GroupView, func(Event) {})
	defer g.Close()
	g.Start()
	g.Settle(b.Context())
	if rv := g.Login(pkcs11.CKU_USER, pkcs11.PIN(hosttest.UserPIN)); rv != pkcs11.CKR_OK {
		b.Fatal(rv)
	}
	p256 := pkcs11.Bytes(pkcs11.CKA_EC_PARAMS, []byte("\x06\x08\x2a\x86\x48\xce\x3d\x03\x01\x07"))
	for i := range fillKeys / 2 {
		name := pkcs11.Template{pkcs11.Bytes(pkcs11.CKA_LABEL, fmt.Appendf(nil, "key %d", i)), pkcs11.Bytes(pkcs11.CKA_ID, fmt.Append(nil, i))}
		_, rv := g.Create(func(h *Hold) ([]uint64, pkcs11.RV, error) {
			call := wire.GenerateKey{Mechanism: pkcs11.Mechanism{Type: pkcs11.CKM_AES_KEY_GEN},
				Template: append(name[:2:2], pkcs11.Ulong(pkcs11.CKA_VALUE_LEN, 32), pkcs11.Bool(pkcs11.CKA_PRIVATE, true), pkcs11.Bool(pkcs11.CKA_ENCRYPT, true))}
			_, err := h.Do(&call)
			return []uint64{call.Key}, call.RV, err
		})
		if rv == pkcs11.CKR_OK && i%2 == 0 {
			_, rv = g.Create(func(h *Hold) ([]uint64, pkcs11.RV, error) {
				call := wire.GenerateKeyPair{Mechanism: pkcs11.Mechanism{Type: pkcs11.CKM_EC_KEY_PAIR_GEN},
					Public: append(name[:2:2], p256), Private: append(name[:2:2], pkcs11.Bool(pkcs11.CKA_PRIVATE, true), pkcs11.Bool(pkcs11.CKA_SIGN, true))}
				_, err := h.Do(&call)
				return []uint64{call.PublicKey, call.PrivateKey}, call.RV, err
			})
		}
		if rv != pkcs11.CKR_OK {
			b.Fatal(rv)
		}
	}
}
