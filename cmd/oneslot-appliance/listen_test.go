// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"oneslot.dev/oneslot/certificate"
	"oneslot.dev/oneslot/host/hosttest"
	"oneslot.dev/oneslot/member/remote"
)

const patience = time.Minute

// A desk is an appliance as its operator sees it: a folder and the program.
type desk struct {
	t            *testing.T
	folder, conf string
}

func newDesk(t *testing.T) *desk {
	soft := hosttest.Token(t, "ca")
	d := &desk{t: t, folder: t.TempDir()}
	d.conf = filepath.Join(d.folder, "appliance.toml")
	d.write(fmt.Sprintf("listen = \"127.0.0.1:0\"\ncertificate = \"a.crt\"\nkey = \"a.key\"\nregister = \"clients\"\nlog = \"log\"\n"+
		"[[token]]\nname = \"ca\"\nmodule = %q\nlabel = \"ca\"\n[token.env]\nSOFTHSM2_CONF = %q\n", hosttest.SoftHSM, soft.Conf))
	return d
}

func (d *desk) write(conf string) {
	d.t.Helper()
	if err := os.WriteFile(d.conf, []byte(conf), 0o600); err != nil {
		d.t.Fatal(err)
	}
}

// run runs a command and returns what it prints, errors included.
func (d *desk) run(good bool, args ...string) string {
	d.t.Helper()
	out, err := exec.Command(hosttest.Program(d.t), args...).CombinedOutput()
	if (err == nil) != good {
		d.t.Errorf("%s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

func (d *desk) holds(text string, words ...string) {
	d.t.Helper()
	for _, w := range words {
		if !strings.Contains(text, w) {
			d.t.Errorf("no %q in:\n%s", w, text)
		}
	}
}

// Two people register a client by telephone: one reads the fingerprint out, the
// other types it.
func TestRegisteringAClient(t *testing.T) {
	d := newDesk(t)
	cert, err := certificate.WriteNew(certificate.Wish{Name: "web", Valid: 90 * 24 * time.Hour}, filepath.Join(d.folder, "web.crt"), filepath.Join(d.folder, "web.key"))
	if err != nil {
		t.Fatal(err)
	}
	print := certificate.Of(cert).String()
	spoken := strings.ToLower(strings.ReplaceAll(strings.TrimPrefix(print, "sha256:"), "-", " "))
	c := "--config=" + d.conf
	d.holds(d.run(false, "client", "add", c, "web", "--token=ca"), "by what is it known")
	d.holds(d.run(false, "client", "add", c, "web", "--fingerprint="+spoken), "nothing is granted")
	d.holds(d.run(false, "client", "add", c, "web", "--fingerprint="+spoken, "--token=nosuch"), `offers no token "nosuch"`)
	d.holds(d.run(false, "client", "add", c, "web", "--fingerprint=abc", "--token=ca"), "no SHA-256 fingerprint")
	d.holds(d.run(false, "client", "add", c, "../web", "--fingerprint="+spoken, "--token=ca"), "cannot be used")
	d.holds(d.run(true, "client", "add", c, "web", "--fingerprint="+spoken, "--token=ca", "--read-only"), print, "not known", "ca (read-only)")
	d.holds(d.run(false, "client", "add", c, "other", "--fingerprint="+print, "--token=ca"), "the one of client web already")
	// The file follows, and tells the expiry; the fingerprint alone does not take it back.
	expires := cert.NotAfter.UTC().Format(time.DateOnly)
	d.holds(d.run(true, "client", "add", c, "web", "--certificate="+filepath.Join(d.folder, "web.crt")), expires)
	d.holds(d.run(true, "client", "add", c, "web", "--fingerprint="+print, "--also"), expires)
	next, err := certificate.WriteNew(certificate.Wish{Name: "web", Valid: time.Hour}, filepath.Join(d.folder, "web2.crt"), filepath.Join(d.folder, "web2.key"))
	if err != nil {
		t.Fatal(err)
	}
	d.holds(d.run(false, "client", "add", c, "web", "--certificate="+filepath.Join(d.folder, "web2.crt")), "--also")
	d.holds(d.run(true, "client", "add", c, "web", "--certificate="+filepath.Join(d.folder, "web2.crt"), "--also"), print, certificate.Of(next).String())
	d.holds(d.run(true, "client", "list", c), "web", "ca (read-only)", certificate.Of(cert).Short())
	d.holds(d.run(true, "client", "show", c, "web", "--json"), `"read_only": true`, print)
	d.run(true, "client", "remove", c, "web", "--fingerprint="+print)
	if text := d.run(true, "client", "show", c, "web"); strings.Contains(text, print) {
		t.Errorf("a certificate was not removed:\n%s", text)
	}
	d.run(true, "client", "remove", c, "web")
	d.holds(d.run(false, "client", "show", c, "web"), "is not registered")
	d.holds(d.run(false, "drain", c), "no listener is at work")
}

// A listener that cannot begin says why, and what to do.
func TestAListenerThatCannotBegin(t *testing.T) {
	d := newDesk(t)
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	text, err := os.ReadFile(d.conf)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ line, by, want string }{
		{`"127.0.0.1:0"`, fmt.Sprintf("%q", taken.Addr()), "another program listens there"},
		{`"127.0.0.1:0"`, `"192.0.2.1:7411"`, "it is no address of this host"},
		{`"log"`, `"nowhere/log"`, "has to write there; or correct log"},
	} {
		d.write(strings.Replace(string(text), c.line, c.by, 1))
		d.holds(d.run(false, "listen", "--config", d.conf), c.want)
	}
}

// As under systemd: the socket is handed over, states are told, SIGHUP reads the
// configuration again, SIGTERM drains.
func TestListenUnderSystemd(t *testing.T) {
	d := newDesk(t)
	server := strings.TrimSpace(strings.Split(d.run(true, "cert", "new", "--config", d.conf), "\n")[0])
	server, _, _ = strings.Cut(server, "oneslot-member:")
	if _, err := certificate.WriteNew(certificate.Wish{Name: "web", Valid: time.Hour}, filepath.Join(d.folder, "web.crt"), filepath.Join(d.folder, "web.key")); err != nil {
		t.Fatal(err)
	}
	d.run(true, "client", "add", "--config", d.conf, "web", "--certificate", filepath.Join(d.folder, "web.crt"), "--token=ca")

	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	handed, err := ln.(*net.TCPListener).File()
	if err != nil {
		t.Fatal(err)
	}
	address := ln.Addr().String()
	ln.Close()
	told, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: filepath.Join(d.folder, "notify"), Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer told.Close()
	listen := exec.Command("sh", "-c", `LISTEN_PID=$$ exec "$0" "$@"`, hosttest.Program(t), "listen", "--config", d.conf)
	listen.Env = append(os.Environ(), "LISTEN_FDS=1", "NOTIFY_SOCKET="+filepath.Join(d.folder, "notify"))
	listen.ExtraFiles = []*os.File{handed}
	var out bytes.Buffer
	listen.Stdout, listen.Stderr = &out, &out
	if err := listen.Start(); err != nil {
		t.Fatal(err)
	}
	handed.Close()
	defer listen.Process.Kill()
	hear := func(want string) {
		t.Helper()
		told.SetReadDeadline(time.Now().Add(patience))
		buf := make([]byte, 4096)
		n, err := told.Read(buf)
		if err != nil || !strings.Contains(string(buf[:n]), want) {
			t.Fatalf("systemd heard %q, %v; want %q\n%s", buf[:n], err, want, out.String())
		}
	}
	hear("READY=1")
	d.holds(d.run(false, "listen", "--config", d.conf), "another listener is at work")

	m := remote.New(remote.Config{Name: "m", Address: address, Token: "ca", Certificate: filepath.Join(d.folder, "web.crt"),
		Key: filepath.Join(d.folder, "web.key"), Server: server})
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	conn, err := m.Connect(ctx)
	if err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}

	// A log that was rotated is opened anew; a configuration that is wrong
	// leaves the old one in force.
	good, _ := os.ReadFile(d.conf)
	log := filepath.Join(d.folder, "log")
	if err := os.Rename(log, log+".1"); err != nil {
		t.Fatal(err)
	}
	d.write("nonsense")
	listen.Process.Signal(syscall.SIGHUP)
	hear("RELOADING=1")
	hear("the changed configuration is wrong")
	if again, err := m.Connect(ctx); err != nil {
		t.Errorf("after a wrong configuration: %v", err)
	} else {
		again.Close()
	}
	d.write(string(good))
	listen.Process.Signal(syscall.SIGHUP)
	hear("RELOADING=1")
	hear("READY=1")
	text, _ := os.ReadFile(log)
	d.holds(string(text), "configuration-not-reloaded", "configuration-reloaded")

	go func() {
		<-conn.(interface{ Draining() <-chan struct{} }).Draining()
		conn.Close()
	}()
	d.run(true, "drain", "--config", d.conf)
	hear("STOPPING=1")
	if err := listen.Wait(); err != nil {
		t.Errorf("the listener ended with %v\n%s", err, out.String())
	}
}
