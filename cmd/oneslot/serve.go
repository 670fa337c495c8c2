// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"oneslot.dev/oneslot/control"
	"oneslot.dev/oneslot/engine"
)

// serveCommand is one engine for many applications.
type serveCommand struct {
	Config string `help:"The configuration. Default: $ONESLOT_CONF, else the user's, else the system's." placeholder:"FILE"`
	Socket string `help:"Where applications connect. Default: engine.sock in the runtime folder. They look for it in $XDG_RUNTIME_DIR/oneslot and /run/oneslot; elsewhere they need ONESLOT_SOCKET=PATH." placeholder:"PATH"`
}

// Help explains when it is wanted.
func (*serveCommand) Help() string {
	return "Applications of the same user find the engine by its socket and need none of their own. It ends on SIGTERM, and with it the PKCS#11 state of its applications."
}

// Run serves until it is told to end.
func (c *serveCommand) Run(ctx context.Context, d *desk) error {
	started := time.Now()
	cfg, path, err := load(c.Config)
	if err != nil {
		return err
	}
	log, closeLog := openLog(cfg, d.err)
	defer closeLog()
	socket := c.Socket
	if socket == "" {
		if err := control.Prepare(cfg.Runtime()); err != nil {
			return err
		}
		socket = filepath.Join(cfg.Runtime(), "engine.sock")
	}
	listener, err := listenEngine(socket)
	if err != nil {
		return err
	}
	defer listener.Close()
	e := newEngine(d, cfg, log)
	stop := openControl(ctx, e, cfg, path, started, false, log)
	defer stop()
	log.Info("serving applications", "socket", socket, "configuration", path)
	if !foundByModules(d.getenv, socket) {
		log.Warn("applications do not look for an engine there: they start their own unless ONESLOT_SOCKET=" + socket + " is in their environment")
	}
	notify("READY=1\nSTATUS=serving applications at " + socket)
	defer context.AfterFunc(ctx, func() { notify("STOPPING=1") })()
	return accept(ctx, e, listener, log)
}

// foundByModules says whether modules look for an engine there without being told
// (module/engine.c), as far as their environment is this one.
func foundByModules(getenv func(string) string, socket string) bool {
	path, err := filepath.Abs(socket)
	if err != nil {
		return false
	}
	folder := getenv("XDG_RUNTIME_DIR")
	return path == "/run/oneslot/engine.sock" || folder != "" && path == filepath.Join(folder, "oneslot", "engine.sock")
}

// listenEngine opens the socket for applications. A stale one is replaced; one
// that answers belongs to another engine.
func listenEngine(path string) (*net.UnixListener, error) {
	address := &net.UnixAddr{Name: path, Net: "unix"}
	if conn, err := net.DialUnix("unix", nil, address); err == nil {
		conn.Close()
		return nil, fmt.Errorf("%s: another engine serves there: stop it, or choose another --socket", path)
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	listener, err := net.ListenUnix("unix", address)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		listener.Close()
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return listener, nil
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

// accept serves applications until ctx ends, and then waits for the last.
func accept(ctx context.Context, e *engine.Engine, listener *net.UnixListener, log *slog.Logger) error {
	var applications sync.WaitGroup
	defer applications.Wait()
	defer context.AfterFunc(ctx, func() { listener.Close() })()
	for {
		conn, err := listener.AcceptUnix()
		if err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return fmt.Errorf("accept: %w", err)
		}
		applications.Go(func() {
			if err := e.Serve(ctx, conn); err != nil {
				log.Warn("an application's first connection ended", "reason", err)
			}
		})
	}
}
