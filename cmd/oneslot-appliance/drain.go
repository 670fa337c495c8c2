// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"oneslot.dev/oneslot/host/appliance"
)

// drain ends a listener without a failed call of its clients (rule N4).
type drain struct {
	Config string        `default:"${config}" help:"Configuration of the appliance." placeholder:"FILE"`
	Wait   time.Duration `default:"10m" help:"How long to wait for the end."`
}

// Run asks the listener to drain and waits for its end.
func (c *drain) Run() error {
	config, err := appliance.LoadConfig(c.Config)
	if err != nil {
		return err
	}
	pid, err := listenerOf(config.Register)
	if err != nil {
		return err
	}
	// From here on the number cannot come to mean another process.
	handle, err := unix.PidfdOpen(pid, 0)
	if errors.Is(err, unix.ESRCH) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("process %d: %w", pid, err)
	}
	defer unix.Close(handle)
	if again, err := listenerOf(config.Register); err != nil || again != pid {
		return errors.New("the listener ended meanwhile")
	}
	if err := unix.PidfdSendSignal(handle, unix.SIGTERM, nil, 0); err != nil {
		return fmt.Errorf("process %d: %w", pid, err)
	}
	fmt.Fprintf(os.Stderr, "oneslot-member: process %d drains: clients take their work elsewhere\n", pid)
	wait := []unix.PollFd{{Fd: int32(handle), Events: unix.POLLIN}}
	for end := time.Now().Add(c.Wait); ; {
		n, err := unix.Poll(wait, int(max(time.Until(end), 0).Milliseconds()))
		switch {
		case err == unix.EINTR:
		case err != nil:
			return err
		case n == 0:
			return fmt.Errorf("process %d still drains after %v: its log names the connections; a second SIGTERM ends it at once, with what is under way", pid, c.Wait)
		default:
			return nil
		}
	}
}

// listenerFile holds the process number of the listener, which keeps it locked.
func listenerFile(register string) string { return filepath.Join(register, "listener.pid") }

// lockListener notes that this process is the listener of the register.
func lockListener(register string) (unlock func(), err error) {
	if err := appliance.Register(register).Prepare(); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(listenerFile(register), os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW, 0o644)
	if errors.Is(err, os.ErrPermission) {
		return nil, fmt.Errorf("register: %w: it has to belong to the user that the listener runs as, here number %d", err, os.Getuid())
	}
	if err != nil {
		return nil, fmt.Errorf("register: %w", err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		return nil, fmt.Errorf("register %s: another listener is at work with it", register)
	}
	if err := errors.Join(f.Truncate(0), writeAt(f, strconv.Itoa(os.Getpid())+"\n")); err != nil {
		f.Close()
		return nil, fmt.Errorf("register: %w", err)
	}
	return func() { f.Close() }, nil
}

func writeAt(f *os.File, text string) error {
	_, err := f.WriteAt([]byte(text), 0)
	return err
}

// listenerOf is the process number of the listener that is at work.
func listenerOf(register string) (int, error) {
	none := fmt.Errorf("no listener is at work with the register %s", register)
	f, err := os.Open(listenerFile(register))
	if errors.Is(err, os.ErrNotExist) {
		return 0, none
	}
	if err != nil {
		return 0, fmt.Errorf("register: %w", err)
	}
	defer f.Close()
	if syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB) == nil {
		return 0, none // nobody holds it
	}
	text, err := io.ReadAll(io.LimitReader(f, 32))
	if err != nil {
		return 0, err
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil || pid < 2 {
		return 0, fmt.Errorf("%s holds no process number", f.Name())
	}
	return pid, nil
}
