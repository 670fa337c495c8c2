// SPDX-License-Identifier: Apache-2.0

package test_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// vendor has the members use vendor.c in place of SoftHSM itself.
func (w *world) vendor() { w.t.Helper(); w.library("vendor") }

// library has the members use one of ours, which is around SoftHSM.
func (w *world) library(name string) {
	w.t.Helper()
	conf, err := os.ReadFile(w.Conf)
	w.must(err)
	w.must(os.WriteFile(w.Conf, []byte(strings.ReplaceAll(string(conf), w.SoftHSM, w.module(name))), 0o600))
}

// module builds a vendor's module of testdata.
func (w *world) module(name string) string {
	w.t.Helper()
	so := filepath.Join(w.Dir, name+".so")
	script := "cc -shared -fPIC -std=gnu11 -D_GNU_SOURCE -g -Wall -Wextra -Werror -Wno-unused-function -I../module/test/testdata" +
		" $(pkg-config --cflags p11-kit-1) testdata/" + name + ".c -ldl -lpthread -o " + so
	if text, err := exec.Command("sh", "-c", script).CombinedOutput(); err != nil {
		w.t.Fatalf("%s.c: %v\n%s", name, err, text)
	}
	return so
}

// What a token writes into the parameter of a mechanism reaches the application:
// versions, key material, output, IVs (PKCS#11 2.40, mechanisms, 2.26 ff.).
func TestParametersReturn(t *testing.T) {
	if !inProcess(t) {
		return
	}
	w := newWorld(t, 3)
	w.vendor()
	w.runs("returned")
}

// An IV that a token chooses when it is too late to tell makes the call fail:
// nothing is encrypted under an IV that nobody has.
func TestLateVectorsAreRefused(t *testing.T) {
	if !inProcess(t) {
		return
	}
	w := newWorld(t, 2)
	w.vendor()
	t.Setenv("VENDOR_LATE", "1")
	w.runs("returned")
}

// runs runs an application to its good end.
func (w *world) runs(name string) {
	w.t.Helper()
	if out, err := w.Command(w.compile(name), w.Module).CombinedOutput(); err != nil || len(out) > 0 {
		w.t.Errorf("%s: %v\n%s", name, err, out)
	}
	w.alone()
}
