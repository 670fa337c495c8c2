// SPDX-License-Identifier: Apache-2.0

package module_test

import (
	"os"
	"path/filepath"
	"testing"
)

// TestRepliesChangedAtRandom makes the same changes in each run, so that it
// depends on no clock and finds again what it once found.
func TestRepliesChangedAtRandom(t *testing.T) {
	rounds := "50000"
	if testing.Short() {
		rounds = "5000"
	}
	dir, err := os.MkdirTemp("", "oneslot")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	run(t, sanitized.command(t, "fuzz_reply", filepath.Join(dir, "s"), rounds))
}
