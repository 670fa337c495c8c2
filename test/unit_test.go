// SPDX-License-Identifier: Apache-2.0

package test_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	p11 "github.com/miekg/pkcs11"

	"oneslot.dev/oneslot/test/token"
)

// A manual is what a file of docs says.
type manual struct {
	t          testing.TB
	file, text string
}

func readManual(t testing.TB) manual { return readFile(t, "appliance.md") }

func readFile(t testing.TB, file string) manual {
	text, err := os.ReadFile("../docs/" + file)
	if err != nil {
		t.Fatal(err)
	}
	return manual{t, file, string(text)}
}

var codeBlock = regexp.MustCompile("(?ms)^```[a-z]*\n(.*?)^```$")

// block is the one that says something.
func (m manual) block(says string) string {
	m.t.Helper()
	for _, found := range codeBlock.FindAllStringSubmatch(m.text, -1) {
		if strings.Contains(found[1], says) {
			return found[1]
		}
	}
	m.t.Fatalf("docs/%s has no block that says %q", m.file, says)
	return ""
}

// applianceUnit makes the appliance of docs/appliance.md, by the steps that stand
// there, and has member a of the client be on it.
func (n *network) applianceUnit() *systemd {
	n.t.Helper()
	s, m := n.systemd(), readManual(n.t)
	conf := m.block(`listen = "0.0.0.0:7411"`)
	conf = regexp.MustCompile(`(?m)^# (log = )`).ReplaceAllString(conf, "$1") // there is no journal here
	s.write("/etc/oneslot/appliance.toml", conf)
	s.write("/etc/softhsm/ca.conf", "directories.tokendir = /var/lib/softhsm/tokens\nobjectstore.backend = file\n")
	s.shell(m.block("useradd --system"))
	s.run("runuser", "-u", "oneslot", "--", "env", "SOFTHSM2_CONF=/etc/softhsm/ca.conf",
		"softhsm2-util", "--init-token", "--free", "--label", "ca", "--so-pin", n.SOPIN, "--pin", n.PIN)
	s.write("/etc/systemd/system/oneslot-appliance.service.d/override.conf", m.block("ReadWritePaths="))
	s.shell("systemctl daemon-reload\n" + m.block("systemctl restart"))

	own := strings.TrimSpace(n.oneslot("cert", "show", filepath.Join(n.Dir, "sandbox.crt")))
	s.member("client", "add", "web", "--fingerprint", own, "--token", "ca")
	text, err := os.ReadFile(n.Conf)
	n.must(err)
	for line, value := range map[string]string{
		"address": "127.0.0.1:7411", "token": "ca", "server": strings.TrimSpace(s.run("oneslot-member", "cert", "show", "/etc/oneslot/appliance.crt")),
	} {
		text = regexp.MustCompile(`(?m)^`+line+` = .*$`).ReplaceAll(text, fmt.Appendf(nil, "%s = %q", line, value))
	}
	n.must(os.WriteFile(n.Conf, text, 0o600))
	return s
}

// N1, N2, O3: the unit file, on a systemd: what it forbids is forbidden, and the
// appliance can do all that it has to. It writes tokens, register, log and tries,
// reads its configuration again, and comes back when it dies.
func TestNetworkUnit(t *testing.T) {
	if !inNamespace(t) || onlyRead(t) {
		return
	}
	n := newNetwork(t, 1)
	s := n.applianceUnit()
	k := n.open()
	session, err := k.Session()
	n.must(err)
	if err := k.Ctx.Login(session, p11.CKU_USER, "0000"); err != p11.Error(p11.CKR_PIN_INCORRECT) {
		t.Errorf("C_Login with a wrong PIN: %v", err)
	}
	if said := s.run("cat", "/var/lib/oneslot/clients/web.tries"); !strings.Contains(said, `"wrong":1`) {
		t.Errorf("the appliance does not remember a wrong PIN: %s", said)
	}
	n.must(k.Ctx.Login(session, p11.CKU_USER, n.PIN))
	n.must(n.Ready())
	a := &app{Token: k, w: n.world, s: session}
	_, work := a.rsa(token.Label("kept"))
	load := a.load(2, append(a.everything(), work)...)
	n.must(n.Works("a"))
	if said := s.member("client", "show", "web"); strings.Contains(said, "not known") {
		t.Errorf("the register has not learnt when the certificate ends:\n%s", said)
	}
	s.confined("oneslot-appliance.service", "oneslot", map[string]string{"/var/lib/oneslot": "rw", "/var/log/oneslot": "rw"})

	// As logrotate does.
	before := s.state("MainPID")
	s.shell("mv /var/log/oneslot/appliance.log /var/log/oneslot/appliance.log.1; systemctl reload oneslot-appliance")
	n.await("a log that is opened anew", func() bool {
		return strings.Contains(s.out("cat", "/var/log/oneslot/appliance.log"), "configuration-reloaded")
	})
	s.shell("mv /etc/oneslot/appliance.toml /etc/oneslot/good; echo nonsense >/etc/oneslot/appliance.toml; systemctl reload oneslot-appliance")
	s.awaitState("StatusText", "listening; the changed configuration is wrong: ")
	s.shell("mv /etc/oneslot/good /etc/oneslot/appliance.toml; systemctl reload oneslot-appliance")
	s.awaitState("StatusText", "listening")
	n.must(n.Works("a"))
	unharmed(t, load)
	if now := s.state("MainPID"); now != before {
		t.Errorf("process %s was the listener before, %s after it read its configuration", before, now)
	}

	s.run("kill", "-KILL", before)
	n.must(n.Gone("a"))
	n.must(n.Ready())
	if state := s.state("ActiveState"); state != "active" {
		t.Errorf("once its listener was killed the unit is %s", state)
	}
	a.one(p11.CKO_PRIVATE_KEY, "kept")
	s.run("systemctl", "stop", "oneslot-appliance")
	if result := s.state("Result"); result != "success" || s.state("ActiveState") != "inactive" {
		t.Errorf("stopped: %s, %s", s.state("ActiveState"), result)
	}
}

// confined checks that a unit's restrictions are in force for its two processes: systemd
// leaves out, without an error, what it cannot do. Folders beside the usual ones are told.
func (s *systemd) confined(unit, account string, folders map[string]string) {
	s.n.t.Helper()
	processes := strings.Fields(s.run("cat", "/sys/fs/cgroup"+s.stateOf(unit, "ControlGroup")+"/cgroup.procs"))
	if len(processes) != 2 {
		s.n.t.Errorf("the unit has the processes %v", processes)
	}
	for folder, want := range map[string]string{
		"/": "ro", "/etc": "ro", "/usr": "ro", "/var": "ro", "/home": "ro", "/proc/sys": "ro", "/sys/fs/cgroup": "ro",
		"/var/lib/softhsm": "rw", "/tmp": "rw",
	} {
		folders[folder] = want
	}
	number := strings.TrimSpace(s.run("id", "-u", account))
	for _, pid := range processes {
		status := strings.ReplaceAll(s.run("cat", "/proc/"+pid+"/status"), "\t", " ")
		for _, line := range []string{"NoNewPrivs: 1", "Seccomp: 2", "CapBnd: 0000000000000000", "CapEff: 0000000000000000", "Uid: " + number + " " + number} {
			if !strings.Contains(status, line) {
				s.n.t.Errorf("process %s has no %q:\n%s", pid, line, status)
			}
		}
		mounts := strings.Split(s.run("cat", "/proc/"+pid+"/mounts"), "\n")
		for folder, want := range folders {
			if got := access(mounts, folder); got != want {
				s.n.t.Errorf("process %s has %s on %s, not %s", pid, got, folder, want)
			}
		}
	}
}

// access says whether a folder can be written, by what is mounted.
func access(mounts []string, folder string) (how string) {
	longest := -1
	for _, line := range mounts {
		fields := strings.Fields(line)
		if len(fields) < 4 {
			continue
		}
		at := strings.TrimSuffix(fields[1], "/") + "/"
		if strings.HasPrefix(folder+"/", at) && len(at) >= longest {
			longest, how = len(at), "rw"
			if slices.Contains(strings.Split(fields[3], ","), "ro") {
				how = "ro"
			}
		}
	}
	return how
}

// N1, N4: systemd holds the port. The first client starts the appliance, and while it
// is started anew clients wait and lose no call.
func TestNetworkUnitWithSocket(t *testing.T) {
	if !inNamespace(t) || onlyRead(t) {
		return
	}
	n := newNetwork(t, 1)
	n.must(n.Set(`probe_timeout = "40s"`, `command_timeout = "50s"`)) // how long calls wait for a member
	s := n.applianceUnit()
	s.shell(readManual(t).block("systemctl enable --now oneslot-appliance.socket"))
	if state := s.state("ActiveState"); state != "inactive" {
		t.Errorf("before a client comes the unit is %s", state)
	}
	a := n.login()
	if state := s.state("ActiveState"); state != "active" {
		t.Errorf("with a client the unit is %s", state)
	}
	_, work := a.rsa(token.Label("kept"))
	load := a.load(2, work)
	for range 2 {
		n.must(n.Works("a"))
		before := s.state("MainPID")
		s.run("systemctl", "restart", "oneslot-appliance")
		n.await("another listener", func() bool { now := s.state("MainPID"); return now != "0" && now != before })
		n.must(n.Ready())
	}
	n.must(n.Works("a"))
	unharmed(t, load)
	s.shell(readManual(t).block("systemctl stop oneslot-appliance.socket oneslot-appliance"))
	n.must(n.Gone("a"))
	if state := s.state("ActiveState"); state != "inactive" {
		t.Errorf("stopped, with a client that tries again, the unit is %s", state)
	}
}
