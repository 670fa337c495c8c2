// SPDX-License-Identifier: Apache-2.0

package main

import (
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"

	"oneslot.dev/oneslot/host"
	"oneslot.dev/oneslot/wire"
)

// child serves one engine and ends with it.
type child struct {
	FD     int    `name:"fd" default:"3" help:"Descriptor of the socket to the engine."`
	Module string `required:"" help:"Path of the vendor's module."`
	Token  string `help:"Label of the token."`
	Serial string `help:"Serial number of the token."`
	Init   string `help:"Text for the module's C_Initialize."`
}

// engineChild recognises the command line that an engine starts a member process
// with. An application waits for it, so the commands for people are not built.
func engineChild(args []string) *child {
	if len(args) == 0 || args[0] != "child" {
		return nil
	}
	c := &child{}
	flags := flag.NewFlagSet("child", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.IntVar(&c.FD, "fd", 3, "")
	flags.StringVar(&c.Module, "module", "", "")
	flags.StringVar(&c.Token, "token", "", "")
	flags.StringVar(&c.Serial, "serial", "", "")
	flags.StringVar(&c.Init, "init", "", "")
	if flags.Parse(args[1:]) != nil || flags.NArg() > 0 || c.Module == "" {
		return nil // the parser of all commands says what is wrong
	}
	return c
}

// Run serves until the engine closes the connection, or is gone.
func (c *child) Run() error {
	if err := seal(); err != nil {
		return err
	}
	conn, err := inherited(c.FD)
	if err != nil {
		return err
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	token := host.New(host.Config{Module: c.Module, Label: c.Token, Serial: c.Serial, Init: c.Init, Log: log})
	return wire.ServeSockets(conn, token)
}

// seal keeps PINs that pass through out of core files and away from debuggers,
// and the terminal's signals away from a process that the engine ends.
func seal() error {
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("no protection against core files: %w", err)
	}
	if err := unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{}); err != nil {
		return fmt.Errorf("no protection against core files: %w", err)
	}
	signal.Ignore(syscall.SIGINT, syscall.SIGHUP, syscall.SIGPIPE)
	// Vendor modules print. What they say belongs into the log.
	return unix.Dup2(int(os.Stderr.Fd()), int(os.Stdout.Fd()))
}

// inherited is the connection that the parent left open.
func inherited(fd int) (*net.UnixConn, error) {
	unix.CloseOnExec(fd)
	file := os.NewFile(uintptr(fd), "engine")
	if file == nil {
		return nil, fmt.Errorf("descriptor %d is not open", fd)
	}
	conn, err := net.FileConn(file)
	if err != nil {
		return nil, fmt.Errorf("descriptor %d is no socket: %w", fd, err)
	}
	socket, ok := conn.(*net.UnixConn)
	if !ok {
		return nil, fmt.Errorf("descriptor %d is no Unix socket", fd)
	}
	return socket, file.Close()
}
