// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"oneslot.dev/oneslot/config"
)

const watched = `[[member]]
name = "a"
module = "/none.so"
token = "a"

[[member]]
name = "b"
module = "/none.so"
token = "b"

[[group]]
name = "g" # keep me
members = ["a", "b"]
`

// R5: a new file is put in force, a broken one is refused as a whole, and both
// are told.
func TestConfigurationIsFollowed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "oneslot.toml")
	write := func(text string) {
		t.Helper()
		fresh := path + ".new" // editors put a new file in the old one's place
		if err := os.WriteFile(fresh, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(fresh, path); err != nil {
			t.Fatal(err)
		}
	}
	write(watched)
	cfg, err := config.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	applied := make(chan *config.Config, 1)
	w := &watch{path: path, present: cfg, apply: func(c *config.Config) { applied <- c }, log: slog.New(slog.NewTextHandler(&log, nil))}
	if err := w.follow(t.Context()); err != nil {
		t.Fatal(err)
	}
	write(strings.Replace(watched, `["a", "b"]`, `["b", "a"]`, 1))
	if got := (<-applied).Groups[0].Members[0]; got != "b" {
		t.Errorf("the first member is %s", got)
	}

	write(strings.Replace(watched, `["a", "b"]`, `["b", "nobody"]`, 1))
	w.look()
	if problem := w.problem(); !strings.Contains(problem, "nobody") {
		t.Errorf("the broken file was not refused: %q", problem)
	}
	select {
	case c := <-applied:
		t.Errorf("a broken file was applied: %+v", c)
	default:
	}
	write(strings.Replace(watched, `["a", "b"]`, `["b"]`, 1))
	if got := (<-applied).Groups[0].Members; len(got) != 1 {
		t.Errorf("members %v", got)
	}
	if w.problem() != "" {
		t.Errorf("still refused: %s", w.problem())
	}
	for _, want := range []string{"configuration-changed", "configuration-refused", "configuration-right", "members is"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log lacks %s:\n%s", want, log.String())
		}
	}
}
