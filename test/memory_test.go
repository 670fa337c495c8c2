// SPDX-License-Identifier: Apache-2.0

package test_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	p11 "github.com/miekg/pkcs11"

	"oneslot.dev/oneslot/test/token"
)

// What an engine is to hold in 60 MiB.
const (
	manyObjects  = 10_000
	manySessions = 1_000
)

// BenchmarkEngineMemory tells how much memory an engine takes whose application
// has found 10 000 objects on three members, and has 1 000 sessions of which each
// has used a key.
func BenchmarkEngineMemory(b *testing.B) {
	w := newWorld(b, 3)
	w.populate()
	b.ResetTimer()
	for range b.N {
		a := w.login()
		_, key := a.aes()
		found, err := a.Find(a.s, token.Class(p11.CKO_DATA))
		w.must(err)
		if len(found) != manyObjects {
			b.Fatalf("%d objects", len(found))
		}
		for range manySessions {
			s, err := a.Session()
			w.must(err)
			_, err = key.Do(s)
			w.must(err)
		}
		for _, p := range w.Processes() {
			if p.Member == "" {
				b.ReportMetric(resident(b, p.PID, "VmRSS"), "MiB-resident")
				b.ReportMetric(resident(b, p.PID, "VmHWM"), "MiB-highest")
				b.ReportMetric(resident(b, p.PID, "RssAnon"), "MiB-own")
			}
		}
		w.must(a.Close())
	}
}

// populate puts the objects on every member: public ones, which SoftHSM writes as they
// are, so that they can be made of one. It would take many minutes to make them.
func (w *world) populate() {
	w.t.Helper()
	const number = "00000000"
	folder := func(member string) string {
		all, _ := filepath.Glob(filepath.Join(w.Dir, member, "tokens", "*", "token.object"))
		if len(all) != 1 {
			w.t.Fatalf("member %s has the tokens %v", member, all)
		}
		return filepath.Dir(all[0])
	}
	w.bare(w.Members[0], func(a *app) {
		_, err := a.CreateObject(a.s, []*p11.Attribute{
			token.Class(p11.CKO_DATA), p11.NewAttribute(p11.CKA_TOKEN, true), p11.NewAttribute(p11.CKA_PRIVATE, false),
			token.Label("customer object " + number), p11.NewAttribute(p11.CKA_APPLICATION, "test"),
			p11.NewAttribute(p11.CKA_VALUE, "the value of object "+number),
		})
		w.must(err)
	})
	files, _ := filepath.Glob(filepath.Join(folder(w.Members[0]), "*.object"))
	var model []byte
	for _, name := range files {
		if text, err := os.ReadFile(name); err == nil && bytes.Contains(text, []byte(number)) {
			model = text
			w.must(os.Remove(name))
		}
	}
	for _, member := range w.Members {
		tokens := folder(member)
		for i := range manyObjects {
			text := bytes.ReplaceAll(model, []byte(number), fmt.Appendf(nil, "%08d", i+1))
			w.must(os.WriteFile(filepath.Join(tokens, fmt.Sprintf("populate-%08d.object", i+1)), text, 0o600))
		}
	}
}

// resident is what the kernel says of the memory of a process, in MiB.
func resident(b *testing.B, pid int, what string) float64 {
	b.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		b.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		var kib float64
		if n, _ := fmt.Sscanf(line, what+": %f", &kib); n == 1 {
			return kib / 1024
		}
	}
	b.Fatalf("the kernel does not say %s", what)
	return 0
}
