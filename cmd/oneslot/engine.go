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
	"path/filepath"
	"runtime/debug"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"oneslot.dev/oneslot/config"
	"oneslot.dev/oneslot/control"
	"oneslot.dev/oneslot/engine"
	"oneslot.dev/oneslot/member"
)

// engineCommand is the private engine of one application. The module starts it;
// it ends with the application.
type engineCommand struct {
	FD int `help:"Descriptor of the connection with the application." name:"fd" required:""`
}

// privateEngine recognises the command line that the module starts an engine
// with. An application waits for it, so the commands for people are not built.
func privateEngine(args []string) *engineCommand {
	if len(args) != 3 || args[0] != "engine" || args[1] != "--fd" {
		return nil
	}
	fd, err := strconv.Atoi(args[2])
	if err != nil {
		return nil // the parser says what is wrong
	}
	return &engineCommand{FD: fd}
}

// Run serves the application.
func (c *engineCommand) Run(ctx context.Context, d *desk) error {
	conn, err := inherited(c.FD)
	if err != nil {
		return err
	}
	started := time.Now()
	cfg, path, err := load("")
	readable := cfg
	if err != nil && path != "" {
		readable = config.Salvage(path) // the reason goes where it is looked for
	}
	log, closeLog := openLog(readable, nil)
	defer closeLog()
	if err != nil {
		log.Error("C_Initialize failed: " + err.Error())
		engine.Refuse(conn)
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if err := endWith(cancel, conn); err != nil {
		log.Warn("the application's end is noticed only by its connections", "reason", err)
	}
	e := newEngine(d, cfg, log)
	stop := func() {}
	defer func() { stop() }()
	e.OnBegun(func() { stop = openControl(ctx, e, cfg, path, started, true, log) })
	if err := e.Serve(ctx, conn); err != nil && !errors.Is(err, io.EOF) {
		log.Warn("the application's first connection ended", "reason", err)
	}
	return nil
}

// garbagePercent lets the heap grow to five times what lives in it before it is
// collected: an engine keeps little and makes much for each call.
const garbagePercent = 400

// newEngine makes an engine whose members run where the configuration says.
func newEngine(d *desk, cfg *config.Config, log *slog.Logger) *engine.Engine {
	debug.SetGCPercent(garbagePercent)
	return engine.New(cfg, func(m config.Member) member.Member {
		made, err := d.reach(cfg, &m)
		if err != nil {
			return unreachable{m.Name, err}
		}
		return made
	}, log)
}

// unreachable is a member that cannot even be tried; the others serve.
type unreachable struct {
	name string
	why  error
}

func (u unreachable) Name() string { return u.name }

func (u unreachable) Connect(context.Context) (member.Conn, error) {
	return nil, &member.Fault{Member: u.name, Err: u.why}
}

// inherited takes a connection from whoever started this process.
func inherited(fd int) (*net.UnixConn, error) {
	unix.CloseOnExec(fd)
	file := os.NewFile(uintptr(fd), "application")
	if file == nil {
		return nil, fmt.Errorf("descriptor %d: not open: this command is for the module, not for people", fd)
	}
	defer file.Close()
	conn, err := net.FileConn(file)
	if err != nil {
		return nil, fmt.Errorf("descriptor %d: %w: this command is for the module, not for people", fd, err)
	}
	socket, ok := conn.(*net.UnixConn)
	if !ok {
		conn.Close()
		return nil, fmt.Errorf("descriptor %d: no Unix socket: this command is for the module, not for people", fd)
	}
	return socket, nil
}

// endWith ends the engine when the application's process ends, also if
// children of it still hold its end of the connection.
func endWith(end context.CancelFunc, conn *net.UnixConn) error {
	raw, err := conn.SyscallConn()
	if err != nil {
		return err
	}
	var peer *unix.Ucred
	var credErr error
	err = raw.Control(func(fd uintptr) {
		peer, credErr = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	})
	if err = errors.Join(err, credErr); err != nil {
		return err
	}
	pidfd, err := unix.PidfdOpen(int(peer.Pid), 0)
	if err != nil {
		return fmt.Errorf("process %d: %w", peer.Pid, err)
	}
	go func() {
		defer unix.Close(pidfd)
		wait := []unix.PollFd{{Fd: int32(pidfd), Events: unix.POLLIN}}
		for {
			if n, err := unix.Poll(wait, -1); n > 0 || err != nil && err != unix.EINTR {
				end()
				return
			}
		}
	}()
	return nil
}

// openLog opens the log of an engine. Without a file it goes to fallback, or
// to the file that config.Surroundings.LogFile names.
func openLog(cfg *config.Config, fallback io.Writer) (*slog.Logger, func()) {
	level, path := slog.LevelInfo, ""
	if cfg != nil {
		level, path = cfg.Log.Level, cfg.Log.File
	}
	if path == "" && fallback == nil {
		path = config.Here().LogFile()
	}
	out, done := fallback, func() {}
	if path != "" {
		_ = os.MkdirAll(filepath.Dir(path), 0o750) // opening says what is wrong
		file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o640)
		if err == nil {
			out, done = file, func() { file.Close() }
		}
	}
	if out == nil {
		out = io.Discard
	}
	return slog.New(slog.NewTextHandler(out, &slog.HandlerOptions{Level: level})), done
}

// watchLater is how long after its start a private engine begins to follow its
// configuration. Beginning takes 1 to 2 ms, most of it for the watcher's buffer.
const watchLater = time.Second

// openControl follows the configuration file and lets tools see the engine. It
// serves without them if it must.
func openControl(ctx context.Context, e *engine.Engine, cfg *config.Config, path string, started time.Time, private bool, log *slog.Logger) func() {
	w := &watch{path: path, present: cfg, apply: e.Reload, log: log}
	follow := func() {
		if err := w.follow(ctx); err != nil {
			log.Warn("changes of the configuration are not noticed", "configuration", path, "reason", err)
		}
	}
	if private {
		time.AfterFunc(watchLater, follow) // the application waits; what is changed until then is seen then
	} else {
		follow()
	}
	stop, err := control.Serve(ctx, cfg.Runtime(), func() control.Status {
		s := e.Status()
		s.Configuration, s.ConfigurationError = path, w.problem()
		s.Engine = control.Engine{PID: os.Getpid(), Version: version(), Started: started, Private: private}
		return s
	}, control.Order{Name: "recover", Run: e.Recover})
	if err != nil {
		log.Warn("oneslot status cannot see this engine", "reason", err)
		return func() {}
	}
	return stop
}
