// SPDX-License-Identifier: Apache-2.0

package test_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
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
touch usr/lib/oneslot-pkcs11.so
mount --bind "$2/oneslot-pkcs11.so" usr/lib/oneslot-pkcs11.so
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

// permitted tries what starting one needs of the machine.
const permitted = `set -eu
mount --make-rprivate /
mount -t tmpfs tmpfs "$1"
mkdir "$1/upper" "$1/work" "$1/root"
mount -t overlay overlay -o "lowerdir=/,upperdir=$1/upper,workdir=$1/work" "$1/root"
mount -t cgroup2 cgroup2 /sys/fs/cgroup
mkdir "/sys/fs/cgroup/$2"
rmdir "/sys/fs/cgroup/$2"
`

// onlyRead says whether this machine lets nobody start a systemd: a container seldom has a
// control group to give. Then systemd's own parser has to be content with the units, and
// that is all that is tested.
func onlyRead(t *testing.T) bool {
	t.Helper()
	folder := t.TempDir()
	out, err := exec.Command("unshare", "--mount", "--cgroup", "sh", "-c", permitted, "sh", folder, filepath.Base(filepath.Dir(folder))).CombinedOutput()
	if err == nil {
		return false
	}
	t.Logf("no systemd can be started here, so the units are only read: %s", out)
	files, err := filepath.Glob("../packaging/oneslot-*.*")
	if err != nil || len(files) < 3 {
		t.Fatal(files, err)
	}
	verify := exec.Command("systemd-analyze", "verify")
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		text = bytes.ReplaceAll(text, []byte("/usr/bin/oneslot"), []byte(filepath.Join(bin, "oneslot")))
		place := filepath.Join(folder, strings.Replace(filepath.Base(file), "@.", "@daemon.", 1))
		verify.Args = append(verify.Args, place)
		if err := os.WriteFile(place, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := verify.CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("systemd-analyze verify: %v\n%s", err, out)
	}
	return true
}

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
			n.t.Logf("the units:\n%s\nthe appliance's log:\n%s", s.out("systemctl", "status", "--no-pager", "oneslot-*"), s.out("sh", "-c", "cat /var/log/oneslot/*"))
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
	return s.stateOf("oneslot-appliance.service", property)
}

func (s *systemd) stateOf(unit, property string) string {
	return strings.TrimSpace(s.out("systemctl", "show", "--value", "--property", property, unit))
}

func (s *systemd) awaitState(property, want string) {
	s.n.t.Helper()
	s.n.await(fmt.Sprintf("%s of the unit to be %q", property, want), func() bool { return strings.HasPrefix(s.state(property), want) })
}
