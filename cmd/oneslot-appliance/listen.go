// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"oneslot.dev/oneslot/host/appliance"
)

// defaultConfig is where an appliance's configuration stands if none is named.
const defaultConfig = "/etc/oneslot/appliance.toml"

// listen makes a network HSM of the tokens of the configuration.
type listen struct {
	Config string `default:"${config}" help:"Configuration of the appliance." placeholder:"FILE"`
}

// Run serves until SIGTERM or SIGINT, then drains; at a second one it ends at once.
func (c *listen) Run() error {
	config, err := appliance.LoadConfig(c.Config)
	if err != nil {
		return err
	}
	out := &logFile{path: config.Log}
	if err := out.open(); err != nil {
		return fmt.Errorf("log: %w: user number %d, as which this runs, has to write there; or correct log in the configuration", err, os.Getuid())
	}
	unlock, err := lockListener(config.Register)
	if err != nil {
		return err
	}
	defer unlock()
	ln, err := listenSocket(config.Listen)
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	l := &appliance.Listener{
		Program: append([]string{self}, connectionCommand...),
		Env:     connectionEnv(os.Environ()),
		Load:    func() (*appliance.Config, error) { return appliance.LoadConfig(c.Config) },
		Log:     slog.New(slog.NewTextHandler(out, nil)),
	}
	ctx, drain := context.WithCancel(context.Background())
	defer drain()
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, syscall.SIGHUP, syscall.SIGTERM, syscall.SIGINT)
	go func() {
		for s := range signals {
			switch {
			case s == syscall.SIGHUP:
				reload(l, out)
			case ctx.Err() != nil:
				l.Kill()
			default:
				notify("STOPPING=1\nSTATUS=draining")
				drain()
			}
		}
	}()
	notify("READY=1\nSTATUS=listening on " + ln.Addr().String())
	return l.Serve(ctx, ln)
}

func reload(l *appliance.Listener, out *logFile) {
	var now unix.Timespec
	unix.ClockGettime(unix.CLOCK_MONOTONIC, &now)
	notify(fmt.Sprintf("RELOADING=1\nMONOTONIC_USEC=%d", now.Nano()/1000))
	out.open() // rotated, perhaps; if not, the old one is kept
	status := "STATUS=listening"
	if err := l.Reload(); err != nil {
		status = "STATUS=listening; the changed configuration is wrong: " + strings.ReplaceAll(err.Error(), "\n", "; ")
	}
	notify("READY=1\n" + status)
}

// connectionEnv is what the vendor's modules see: all but what systemd says to
// the listener. How many processors Go is to use the listener knows already: a process
// that has to find out sets up more than it needs.
func connectionEnv(env []string) []string {
	env = slices.DeleteFunc(slices.Clone(env), func(v string) bool {
		return strings.HasPrefix(v, "LISTEN_") || strings.HasPrefix(v, "NOTIFY_SOCKET=") || strings.HasPrefix(v, "WATCHDOG_") ||
			strings.HasPrefix(v, "GOMAXPROCS=")
	})
	return append(env, fmt.Sprintf("GOMAXPROCS=%d", runtime.GOMAXPROCS(0)))
}

// listenSocket is the socket that systemd hands over, else one on the address.
func listenSocket(address string) (net.Listener, error) {
	if pid, _ := strconv.Atoi(os.Getenv("LISTEN_PID")); pid == os.Getpid() && os.Getenv("LISTEN_FDS") == "1" {
		const first = 3 // sd_listen_fds(3)
		unix.CloseOnExec(first)
		file := os.NewFile(first, "listen")
		defer file.Close()
		ln, err := net.FileListener(file)
		if err != nil {
			return nil, fmt.Errorf("the socket from systemd: %w", err)
		}
		if _, ok := ln.(*net.TCPListener); !ok {
			return nil, fmt.Errorf("the socket from systemd is no TCP socket: correct the socket unit")
		}
		return ln, nil
	}
	if address == "" {
		return nil, fmt.Errorf("listen: no address: add listen = \"0.0.0.0:7411\" to the configuration")
	}
	ln, err := net.Listen("tcp", address)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		err = fmt.Errorf("%w: another program listens there, an appliance perhaps, or systemd with oneslot-appliance.socket (ss -ltnp shows which)", err)
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		err = fmt.Errorf("%w: it is no address of this host; 0.0.0.0 stands for all", err)
	case errors.Is(err, syscall.EACCES):
		err = fmt.Errorf("%w: ports below 1024 are for root: take another", err)
	}
	return ln, err
}

// notify tells systemd, if it is there (sd_notify(3)).
func notify(state string) {
	path := os.Getenv("NOTIFY_SOCKET")
	if path == "" {
		return
	}
	conn, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		return
	}
	defer conn.Close()
	io.WriteString(conn, state)
}

// logFile is a log that can be opened anew when it was rotated.
type logFile struct {
	path string
	file *os.File
}

// open opens the file, at the place of an earlier one.
func (l *logFile) open() error {
	if l.path == "" {
		if l.file == nil { // set once: writers read it without a lock
			l.file = os.Stderr
		}
		return nil
	}
	file, err := os.OpenFile(l.path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o640)
	if err != nil {
		return err
	}
	if l.file == nil {
		l.file = file
		return nil
	}
	defer file.Close()
	// The number stays: writers need no lock.
	return unix.Dup3(int(file.Fd()), int(l.file.Fd()), unix.O_CLOEXEC)
}

func (l *logFile) Write(b []byte) (int, error) { return l.file.Write(b) }
