// SPDX-License-Identifier: Apache-2.0

package appliance_test

import (
	"context"
	"fmt"
	"os"
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
// token, by a local member and by an appliance on loopback, with so many callers.
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
