// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"oneslot.dev/oneslot/control"
)

// engines is a configuration and the runtime folder it names.
func engines(t *testing.T) (conf, dir string) {
	t.Helper()
	top, err := os.MkdirTemp("", "status") // short: sockets lie in it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(top) })
	conf = filepath.Join(top, "o.toml")
	text := "runtime_dir = \"run\"\n[[member]]\nname = \"a\"\nmodule = \"/m.so\"\ntoken = \"t\"\n"
	if err := os.WriteFile(conf, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return conf, filepath.Join(top, "run")
}

func TestStatusAsksTheEnginesOfTheConfiguration(t *testing.T) {
	b := newBench(t)
	conf, dir := engines(t)
	if code := b.run("status", "--config", conf); code != 0 || b.out.String() != "no engine is running\n" {
		t.Errorf("code %d, %s%s", code, b.out.String(), b.err.String())
	}
	if code := b.run("status", "--json", "--config", conf); code != 0 || b.out.String() != "[]\n" {
		t.Errorf("code %d, %s%s", code, b.out.String(), b.err.String())
	}
	stop, err := control.Serve(t.Context(), dir, func() control.Status {
		return control.Status{Engine: control.Engine{PID: os.Getpid(), Version: "v9"}, Groups: []control.Group{{Name: "ca", State: control.Serving}}}
	})
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	if code := b.run("status", "--config", conf); code != 0 || !strings.Contains(b.out.String(), "v9") {
		t.Errorf("code %d, %s%s", code, b.out.String(), b.err.String())
	}
	var got []control.Status
	if code := b.run("status", "--json", "--config", conf); code != 0 {
		t.Errorf("code %d, %s", code, b.err.String())
	}
	if err := json.Unmarshal(b.out.Bytes(), &got); err != nil || len(got) != 1 || got[0].Groups[0].State != control.Serving {
		t.Errorf("%v, %+v", err, got)
	}
}

func TestStatusOfAnEngineThatDoesNotAnswer(t *testing.T) {
	b := newBench(t)
	conf, dir := engines(t)
	if err := control.Prepare(dir); err != nil {
		t.Fatal(err)
	}
	mute, err := net.Listen("unix", filepath.Join(dir, "control-1.sock"))
	if err != nil {
		t.Fatal(err)
	}
	defer mute.Close()
	if code := b.run("status", "--config", conf); code != 1 || !strings.Contains(b.out.String(), "engine 1  not answering: no answer within 2s") {
		t.Errorf("code %d, %s%s", code, b.out.String(), b.err.String())
	}
}
