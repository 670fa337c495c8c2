// SPDX-License-Identifier: Apache-2.0

package test_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	p11 "github.com/miekg/pkcs11"

	"oneslot.dev/oneslot/test/token"
)

// A systemd of its own, with a copy of this system's files to do with as it likes. All
// of it is gone with the test. Nothing but the network is shared with the test.
type systemd struct {
	n   *network
	pid int // of systemd
}

// enclose makes a control group, $1, the root of what the commands that follow see of
// them: two systemds in one would end each other's processes.
const enclose = `set -eu
mount --make-rprivate /
mount -t cgroup2 cgroup2 /sys/fs/cgroup
mkdir "/sys/fs/cgroup/$1"
echo $$ >"/sys/fs/cgroup/$1/cgroup.procs"
shift
exec "$@"
`

// forget removes it, and what systemd has made in it.
const forget = `set -eu
mount --make-rprivate /
mount -t cgroup2 cgroup2 /sys/fs/cgroup
find "/sys/fs/cgroup/$1" -depth -type d -exec rmdir {} +
`

// boot starts systemd, in namespaces of its own: $1 is a folder to work in, $2 that of the
// programs, $3 that of the units, which are installed as a package would.
const boot = `set -eu
mount -t tmpfs -o mode=755 tmpfs "$1"
mkdir "$1/upper" "$1/work" "$1/root"
mount -t overlay overlay -o "lowerdir=/,upperdir=$1/upper,workdir=$1/work" "$1/root"
cd "$1/root"
mount --rbind /dev dev
mount -t proc proc proc
mount -t sysfs sysfs sys
mount -t cgroup2 cgroup2 sys/fs/cgroup
mount -t tmpfs -o mode=755 tmpfs run
mount -t tmpfs -o mode=1777 tmpfs tmp
for program in oneslot oneslot-member oneslot-appliance; do
	touch usr/bin/$program
	mount --bind "$2/$program" usr/bin/$program
done
rm -rf etc/systemd/system etc/oneslot var/lib/oneslot var/log/oneslot var/lib/softhsm/tokens/*
mkdir -p etc/systemd/system
cp "$3"/*.service "$3"/*.socket etc/systemd/system
for target in basic sysinit multi-user network-online sockets shutdown; do
	echo '[Unit]' >etc/systemd/system/$target.target
done
touch run/console
mount --bind run/console dev/console
mkdir run/old
pivot_root . run/old
umount -l run/old
exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin container=oneslot SYSTEMD_UNIT_PATH=/etc/systemd/system SYSTEMD_GENERATOR_PATH=/none \
	/lib/systemd/systemd --system --unit=multi-user.target --show-status=no
`

// systemd starts one.
func (n *network) systemd() *systemd {
	n.t.Helper()
	units, err := filepath.Abs("../packaging")
	n.must(err)
	folder := filepath.Join(n.Dir, "systemd")
	n.must(os.Mkdir(folder, 0o755))
	group := filepath.Base(n.Dir)
	c := exec.Command("unshare", "--mount", "sh", "-c", enclose, "sh", group,
		"unshare", "--mount", "--pid", "--cgroup", "--ipc", "--uts", "--fork", "--kill-child", "sh", "-c", boot, "sh", folder, bin, units)
	var said strings.Builder
	c.Stdout, c.Stderr = &said, &said
	c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	n.must(c.Start())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = c.Wait()
	}()
	s := &systemd{n: n}
	n.t.Cleanup(func() {
		if n.t.Failed() {
			n.t.Logf("the units:\n%s\nthe appliance's log:\n%s", s.out("systemctl", "status", "--no-pager", "oneslot-appliance.*"), s.out("sh", "-c", "cat /var/log/oneslot/*"))
		}
		_ = c.Process.Kill()
		<-ended
		n.await("an end of all processes", func() bool {
			return exec.Command("unshare", "--mount", "sh", "-c", forget, "sh", group).Run() == nil
		})
	})
	n.await("systemd to start (needs root, and the package systemd)", func() bool {
		select {
		case <-ended:
			n.t.Fatalf("systemd is not started:\n%s", said.String())
		default:
		}
		if all := children(c.Process.Pid); len(all) == 1 {
			s.pid = all[0]
		}
		return s.pid != 0 && strings.TrimSpace(s.out("systemctl", "is-system-running")) == "running"
	})
	return s
}

// command is one that runs where systemd does, as root.
func (s *systemd) command(args ...string) *exec.Cmd {
	enter := []string{"--target", fmt.Sprint(s.pid), "--mount", "--pid", "--cgroup", "--ipc", "--uts", "env", "SYSTEMD_UNIT_PATH=/etc/systemd/system"}
	c := exec.Command("nsenter", append(enter, args...)...)
	c.Env = []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root", "LC_ALL=C"}
	return c
}

// out runs a command and returns what it prints, whether it succeeds or not.
func (s *systemd) out(args ...string) string {
	out, _ := s.command(args...).CombinedOutput()
	return string(out)
}

// run runs a command, which must succeed.
func (s *systemd) run(args ...string) string {
	s.n.t.Helper()
	out, err := s.command(args...).CombinedOutput()
	if err != nil {
		s.n.t.Fatalf("%s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// shell runs lines of a shell.
func (s *systemd) shell(lines string) string {
	s.n.t.Helper()
	return s.run("sh", "-euc", lines)
}

// member runs a command of oneslot-member as the appliance's operator does.
func (s *systemd) member(args ...string) string {
	s.n.t.Helper()
	return s.run(append([]string{"runuser", "-u", "oneslot", "--", "oneslot-member"}, args...)...)
}

func (s *systemd) write(file, text string) {
	s.n.t.Helper()
	c := s.command("sh", "-euc", `mkdir -p "$(dirname "$0")"; cat >"$0"`, file)
	c.Stdin = strings.NewReader(text)
	if out, err := c.CombinedOutput(); err != nil {
		s.n.t.Fatalf("%s: %v\n%s", file, err, out)
	}
}

// state is a property of the appliance's unit.
func (s *systemd) state(property string) string {
	return strings.TrimSpace(s.out("systemctl", "show", "--value", "--property", property, "oneslot-appliance.service"))
}

func (s *systemd) awaitState(property, want string) {
	s.n.t.Helper()
	s.n.await(fmt.Sprintf("%s of the unit to be %q", property, want), func() bool { return strings.HasPrefix(s.state(property), want) })
}

// A manual is what docs/appliance.md says.
type manual struct {
	t    testing.TB
	text string
}

func readManual(t testing.TB) manual {
	text, err := os.ReadFile("../docs/appliance.md")
	if err != nil {
		t.Fatal(err)
	}
	return manual{t, string(text)}
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
	m.t.Fatalf("docs/appliance.md has no block that says %q", says)
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
	if !inNamespace(t) {
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
	s.confined()

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

// confined checks that the unit's restrictions are in force for listener and
// connections: systemd leaves out, without an error, what it cannot do.
func (s *systemd) confined() {
	s.n.t.Helper()
	processes := strings.Fields(s.shell("cat /sys/fs/cgroup/system.slice/oneslot-appliance.service/cgroup.procs"))
	if len(processes) != 2 {
		s.n.t.Errorf("the unit has the processes %v", processes)
	}
	for _, pid := range processes {
		status := strings.ReplaceAll(s.run("cat", "/proc/"+pid+"/status"), "\t", " ")
		account := strings.TrimSpace(s.run("id", "-u", "oneslot"))
		for _, line := range []string{"NoNewPrivs: 1", "Seccomp: 2", "CapBnd: 0000000000000000", "CapEff: 0000000000000000", "Uid: " + account + " " + account} {
			if !strings.Contains(status, line) {
				s.n.t.Errorf("process %s has no %q:\n%s", pid, line, status)
			}
		}
		mounts := strings.Split(s.run("cat", "/proc/"+pid+"/mounts"), "\n")
		for folder, want := range map[string]string{
			"/": "ro", "/etc": "ro", "/usr": "ro", "/var": "ro", "/home": "ro", "/proc/sys": "ro", "/sys/fs/cgroup": "ro",
			"/var/lib/oneslot": "rw", "/var/log/oneslot": "rw", "/var/lib/softhsm": "rw", "/tmp": "rw",
		} {
			if got := access(mounts, folder); got != want {
				s.n.t.Errorf("process %s has %s on %s, not %s", pid, folder, got, want)
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
	if !inNamespace(t) {
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
