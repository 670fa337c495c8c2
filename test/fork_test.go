// SPDX-License-Identifier: Apache-2.0

package test_test

import (
	"bytes"
	"crypto"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/hex"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"oneslot.dev/oneslot/test/cluster"
	"oneslot.dev/oneslot/test/token"
)

// signer makes the key "k" and returns what verifies it. This process is no
// application any more then.
func (w *world) signer() *rsa.PublicKey {
	w.t.Helper()
	a := w.login()
	pair, _ := a.rsa(token.Label("k"))
	public, err := a.RSAPublic(a.s, pair.Public)
	w.must(err)
	w.must(a.Finalize())
	return public
}

// compile builds an application of testdata.
func (w *world) compile(name string) string {
	w.t.Helper()
	out := filepath.Join(w.Dir, name)
	script := "cc -std=gnu11 -D_GNU_SOURCE -g -O1 -Wall -Wextra -Werror -Wno-unused-function -I../module/test/testdata $(pkg-config --cflags p11-kit-1) testdata/" + name + ".c -ldl -o " + out
	if text, err := exec.Command("sh", "-c", script).CombinedOutput(); err != nil {
		w.t.Fatalf("%s: %v\n%s", name, err, text)
	}
	return out
}

// signs runs an application to the end, also that of its children, and verifies
// all signatures that they print.
func (w *world) signs(public *rsa.PublicKey, want int, name string, args ...string) {
	w.t.Helper()
	c := w.Command(w.compile(name), append([]string{w.Module}, args...)...)
	var out, complaints bytes.Buffer
	c.Stdout, c.Stderr = &out, &complaints // Wait waits for their end of file
	w.must(c.Start())
	defer time.AfterFunc(5*time.Minute, func() { c.Process.Kill() }).Stop()
	if err := c.Wait(); err != nil || complaints.Len() > 0 {
		w.t.Errorf("%s %v: %v\n%s", name, args, err, complaints.String())
	}
	verified := 0
	for line := range strings.Lines(out.String()) {
		fields := strings.Fields(line)
		if len(fields) != 3 || fields[0] != "signature" {
			w.t.Fatalf("printed %q", line)
		}
		data, _ := hex.DecodeString(fields[1])
		signature, _ := hex.DecodeString(fields[2])
		sum := sha256.Sum256(data)
		if err := rsa.VerifyPKCS1v15(public, crypto.SHA256, sum[:], signature); err != nil {
			w.t.Errorf("%q: %v", data, err)
		}
		verified++
	}
	if verified != want {
		w.t.Errorf("%d signatures verified, want %d", verified, want)
	}
	w.alone()
}

// alone waits until no engine and no member process is left.
func (w *world) alone() {
	w.t.Helper()
	w.must(cluster.Await("every process ends with its application", func() (bool, error) {
		return len(w.Processes()) == 0, nil
	}))
}

// Field-H1, H2: a child before and after its own C_Initialize, one that
// finalizes, exits, ends without a word, or uses a handle from before; each time
// the parent goes on.
func TestForks(t *testing.T) {
	if !inProcess(t) {
		return
	}
	w := newWorld(t, 2)
	// The parent signs 7 times around each of 5 children; those sign 5, 0, 0, 1, 1.
	w.signs(w.signer(), 5*7+5+1+1, "fork", "forks")
}

func TestTwentyChildrenAtOnce(t *testing.T) {
	if !inProcess(t) {
		return
	}
	w := newWorld(t, 2)
	w.signs(w.signer(), 20*5+50+1, "fork", "twenty")
}

// nginx: a daemon, whose workers have an empty environment and know only what
// was resolved before.
func TestDaemonWithEmptiedEnvironment(t *testing.T) {
	if !inProcess(t) {
		return
	}
	w := newWorld(t, 2)
	w.signs(w.signer(), 1+4+1, "fork", "daemon")
}

// Field-H10.
func TestLoadingAHundredTimesGrowsNothing(t *testing.T) {
	if !inProcess(t) {
		return
	}
	w := newWorld(t, 1)
	w.signs(w.signer(), 100, "reload")
}
