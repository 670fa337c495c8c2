// SPDX-License-Identifier: Apache-2.0

package test_test

import (
	"slices"
	"testing"

	p11 "github.com/miekg/pkcs11"
)

// A request that the vendor's module does not stand takes down two processes and
// spares the third member, which goes on with the work of others (G5).
func TestARequestThatCrashesModulesSparesTheOthers(t *testing.T) {
	if !inProcess(t) {
		return
	}
	w := newWorld(t, 3)
	w.must(w.Set(`recovery = "manual"`))
	w.vendor()
	a := w.login()
	defer a.Finalize()
	last := w.PIDs("c")
	if err := a.SeedRandom(a.s, []byte("crash")); err != p11.Error(p11.CKR_DEVICE_ERROR) {
		t.Errorf("the request that crashes modules: %v", err)
	}
	w.must(w.Gone("a"))
	w.must(w.Gone("b"))
	if now := w.PIDs("c"); !slices.Equal(now, last) {
		t.Errorf("the third member has process %v, had %v", now, last)
	}
	if _, err := a.GenerateRandom(a.s, 16); err != nil {
		t.Errorf("the third member does not serve: %v", err)
	}
}
