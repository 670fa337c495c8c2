// SPDX-License-Identifier: Apache-2.0

package test_test

import (
	"strings"
	"testing"
)

// The unit of a shared engine, on a systemd, by the steps of docs/configuration.md: what it
// forbids is forbidden, applications of its account use it, those of others do not, and it
// comes back when it dies.
func TestNetworkUnitOfAnEngine(t *testing.T) {
	if !inNamespace(t) || onlyRead(t) {
		return
	}
	n := newNetwork(t, 1)
	s, m := n.systemd(), readFile(t, "configuration.md")
	const unit = "oneslot-engine@www-data.service"
	s.write("/etc/softhsm/ca.conf", "directories.tokendir = /var/lib/softhsm/tokens\nobjectstore.backend = file\n")
	s.write("/etc/oneslot/oneslot.toml", "[[member]]\nname = \"a\"\nmodule = \""+n.SoftHSM+"\"\ntoken = \"ca\"\nenv = { SOFTHSM2_CONF = \"/etc/softhsm/ca.conf\" }\n"+
		"[[group]]\nname = \"all\"\nmembers = [\"a\"]\n")
	s.shell("chmod -R a+rX /etc/oneslot /etc/softhsm; usermod --append --groups softhsm www-data")
	as := func(account string, args ...string) []string {
		socket := strings.TrimSpace(strings.SplitAfter(m.block("Environment=ONESLOT_SOCKET="), "Environment=")[1])
		return append([]string{"runuser", "-u", account, "--", "env", socket, "SOFTHSM2_CONF=/etc/softhsm/ca.conf"}, args...)
	}
	s.run(as("www-data", "softhsm2-util", "--init-token", "--free", "--label", "ca", "--so-pin", n.SOPIN, "--pin", n.PIN)...)
	s.write("/etc/systemd/system/oneslot-engine@www-data.service.d/override.conf", m.block("ReadWritePaths="))
	s.shell("systemctl daemon-reload\n" + m.block("systemctl enable --now oneslot-engine"))
	if text := s.stateOf(unit, "StatusText"); !strings.HasPrefix(text, "serving applications at /run/oneslot-www-data/oneslot/engine.sock") {
		t.Errorf("the unit's status is %q", text)
	}

	tool := []string{"pkcs11-tool", "--module", "/usr/lib/oneslot-pkcs11.so", "--token-label", "all", "--login", "--pin", n.PIN}
	s.run(as("www-data", append(tool, "--keypairgen", "--key-type", "EC:prime256v1", "--label", "kept")...)...)
	if out := s.run(as("www-data", append(tool, "--list-objects")...)...); !strings.Contains(out, "kept") {
		t.Errorf("another application: %s", out)
	}
	if out := s.out(as("nobody", append(tool, "--list-objects")...)...); !strings.Contains(out, "CKR_GENERAL_ERROR") {
		t.Errorf("another account's application: %s", out)
	}
	if out := s.shell(m.block("oneslot status")); !strings.Contains(out, "shared") || !strings.Contains(out, "/etc/oneslot/oneslot.toml") {
		t.Errorf("oneslot status:\n%s", out)
	}
	signing := s.command(as("www-data", append(tool, "--sign", "--mechanism", "ECDSA", "--label", "kept")...)...)
	data, err := signing.StdinPipe() // it waits for what it is to sign
	n.must(err)
	n.must(signing.Start())
	n.await("the application's member", func() bool {
		return len(strings.Fields(s.run("cat", "/sys/fs/cgroup"+s.stateOf(unit, "ControlGroup")+"/cgroup.procs"))) == 2
	})
	s.confined(unit, "www-data", map[string]string{"/run/oneslot-www-data": "rw", "/var/log": "ro"})
	if _, err := data.Write(make([]byte, 32)); err != nil {
		t.Error(err)
	}
	n.must(data.Close())
	if err := signing.Wait(); err != nil {
		t.Errorf("a signature: %v", err)
	}

	s.run("kill", "-KILL", s.stateOf(unit, "MainPID"))
	n.await("the engine to be there again", func() bool {
		return strings.Contains(s.out(as("www-data", append(tool, "--list-objects")...)...), "kept")
	})
	s.run("systemctl", "stop", unit)
	if result := s.stateOf(unit, "Result"); result != "success" || s.stateOf(unit, "ActiveState") != "inactive" {
		t.Errorf("stopped: %s, %s", s.stateOf(unit, "ActiveState"), result)
	}
}
