// SPDX-License-Identifier: Apache-2.0

package appliance_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"oneslot.dev/oneslot/host/hosttest"
	"oneslot.dev/oneslot/member"
	"oneslot.dev/oneslot/member/local"
	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/wire"
)

// BenchmarkCall measures a short call (C_GenerateRandom of 32 bytes) on one
// token, by a local member and by an appliance on loopback, with so many callers:
// the time of each, and the processor's time on both ends together.
func BenchmarkCall(b *testing.B) {
	_, members := both(b)
	for _, name := range []string{"local", "appliance"} {
		conn, err := members[name].Connect(context.Background())
		if err != nil {
			b.Fatal(err)
		}
		for _, callers := range []int{1, 8, 32} {
			b.Run(fmt.Sprintf("%s/%d", name, callers), func(b *testing.B) { calls(b, conn, callers) })
		}
		conn.Close()
	}
}

// spent is the processor's time, in ns, that this process and its children that
// serve members have had. Threads that ended are not in it.
func spent(b *testing.B) (ns float64) {
	processes := []string{"self"}
	lists, _ := filepath.Glob("/proc/self/task/*/children")
	for _, list := range lists {
		text, _ := os.ReadFile(list)
		processes = append(processes, strings.Fields(string(text))...)
	}
	for _, process := range processes {
		threads, _ := filepath.Glob("/proc/" + process + "/task/*/schedstat")
		for _, thread := range threads {
			text, err := os.ReadFile(thread)
			if err != nil {
				continue // it ended
			}
			var ran float64
			if _, err := fmt.Sscan(string(text), &ran); err != nil {
				b.Fatal(err)
			}
			ns += ran
		}
	}
	return ns
}

// both is one token as a local member and on an appliance.
func both(b *testing.B) (*bench, map[string]member.Member) {
	a := start(b, nil)
	env := "SOFTHSM2_CONF=" + a.config.Tokens[0].Env["SOFTHSM2_CONF"]
	return a, map[string]member.Member{
		"local": local.New(local.Config{Name: "l", Program: hosttest.Program(b), Module: hosttest.SoftHSM, Token: "ca",
			Env: append(os.Environ(), env)}),
		"appliance": a.client("web", ca).member("ca"),
	}
}

func calls(b *testing.B, conn member.Conn, callers int) {
	var all sync.WaitGroup
	work := make(chan struct{}, b.N)
	for range b.N {
		work <- struct{}{}
	}
	close(work)
	sessions := make([]member.Session, callers)
	for i := range sessions {
		var err error
		if sessions[i], err = conn.Open(wire.TokenView); err != nil {
			b.Fatal(err)
		}
		defer sessions[i].Close()
		sessions[i].Do(context.Background(), member.Limits{Silence: patience, Stuck: patience}, &wire.Probe{})
	}
	b.ResetTimer()
	before := spent(b)
	for _, s := range sessions {
		all.Go(func() {
			for range work {
				call := wire.GenerateRandom{RandomRoom: wire.Room{Capacity: 32}}
				if _, err := s.Do(context.Background(), member.Limits{Silence: patience, Stuck: patience}, &call); err != nil || call.RV != pkcs11.CKR_OK {
					b.Error(err, call.RV)
					return
				}
			}
		})
	}
	all.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "calls/s")
	b.ReportMetric((spent(b)-before)/float64(b.N), "cpu-ns/op")
}

// BenchmarkConnect measures from nothing to the description of the token: the
// start of the process, TLS, and loading the module.
func BenchmarkConnect(b *testing.B) {
	_, members := both(b)
	for _, name := range []string{"local", "appliance"} {
		b.Run(name, func(b *testing.B) {
			for range b.N {
				conn, err := members[name].Connect(context.Background())
				if err != nil {
					b.Fatal(err)
				}
				conn.Close()
			}
		})
	}
}

// BenchmarkFirstSignature measures from nothing to the first signature (here: a
// MAC): connecting, login, finding the key, and using it.
func BenchmarkFirstSignature(b *testing.B) {
	a, members := both(b)
	owner := a.client("owner", ca).connect()
	owner.login(hosttest.UserPIN)
	owner.must(&wire.GenerateKey{
		Mechanism: pkcs11.Mechanism{Type: pkcs11.CKM_GENERIC_SECRET_KEY_GEN},
		Template: pkcs11.Template{
			pkcs11.Ulong(pkcs11.CKA_VALUE_LEN, 32), pkcs11.Bool(pkcs11.CKA_TOKEN, true), pkcs11.Bool(pkcs11.CKA_PRIVATE, true),
			pkcs11.Bool(pkcs11.CKA_SIGN, true), pkcs11.Bytes(pkcs11.CKA_LABEL, []byte("first")),
		},
	})
	for _, name := range []string{"local", "appliance"} {
		b.Run(name, func(b *testing.B) {
			for range b.N {
				conn, err := members[name].Connect(context.Background())
				if err != nil {
					b.Fatal(err)
				}
				one := &application{Conn: conn, t: b}
				one.session = one.open()
				if rv := one.login(hosttest.UserPIN); rv != pkcs11.CKR_OK {
					b.Fatal(rv)
				}
				found := &wire.Find{Template: pkcs11.Template{pkcs11.Bytes(pkcs11.CKA_LABEL, []byte("first"))}}
				one.must(found)
				one.must(&wire.SignInit{Mechanism: pkcs11.Mechanism{Type: pkcs11.CKM_SHA256_HMAC}, Key: found.Found[0].Object})
				one.must(&wire.Sign{Data: wire.Data([]byte("data")), SignatureRoom: wire.Room{Capacity: 32}})
				conn.Close()
			}
		})
	}
}

// BenchmarkMemory tells what the process of a connection takes.
func BenchmarkMemory(b *testing.B) {
	a := start(b, nil)
	conn, err := a.client("web", ca).member("ca").Connect(context.Background())
	if err != nil {
		b.Fatal(err)
	}
	defer conn.Close()
	_, process, _ := strings.Cut(a.tells("client-connected"), "process=")
	process, _, _ = strings.Cut(process, " ")
	text, err := os.ReadFile("/proc/" + process + "/smaps_rollup")
	if err != nil {
		b.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		var kib float64
		if n, _ := fmt.Sscanf(line, "Pss_Anon: %f", &kib); n == 1 {
			b.ReportMetric(kib/1024, "MiB-own")
		}
		if n, _ := fmt.Sscanf(line, "Rss: %f", &kib); n == 1 {
			b.ReportMetric(kib/1024, "MiB-resident")
		}
	}
}
