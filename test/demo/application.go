// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"oneslot.dev/oneslot/test/cluster"
)

// An application is p11stress at work.
type application struct {
	command *exec.Cmd
	ended   chan struct{} // its output is complete
	errors  bytes.Buffer  // read after ended
	total   result        // read after ended
	counted bool          // whether there is a total

	mu   sync.Mutex // guards last
	last int        // the last second that was reported
}

// A result is what p11stress says of a second, or of all.
type result struct {
	verified, failed, wrong int
	longest                 time.Duration
}

const resultFormat = "%d verified, %d failed, %d wrong, longest %s"

func readResult(text string) (r result, err error) {
	var longest string
	if _, err = fmt.Sscanf(text, resultFormat, &r.verified, &r.failed, &r.wrong, &longest); err == nil {
		r.longest, err = time.ParseDuration(longest)
	}
	return r, err
}

// launch starts the application; each second of it goes to second.
func launch(c *cluster.Cluster, program string, threads int, second func(n int, r result)) (*application, error) {
	a := &application{ended: make(chan struct{})}
	a.command = c.Command(program, "-for=0", "-work=rsa", "-key="+keyLabel, fmt.Sprintf("-threads=%d", threads))
	// What the terminal sends to us is not for the application: we end it.
	a.command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	a.command.Stderr = &a.errors
	out, err := a.command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := a.command.Start(); err != nil {
		return nil, err
	}
	go func() {
		defer close(a.ended)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			a.heard(lines.Text(), second)
		}
	}()
	return a, nil
}

func (a *application) heard(line string, second func(int, result)) {
	what, text, _ := strings.Cut(line, ": ")
	r, err := readResult(text)
	if err != nil {
		return
	}
	if what == "total" {
		a.total, a.counted = r, true
		return
	}
	var n int
	if _, err := fmt.Sscanf(what, "second %d", &n); err == nil {
		second(n, r)
		a.mu.Lock()
		a.last = n
		a.mu.Unlock()
	}
}

// seconds waits until so many more seconds were reported.
func (a *application) seconds(ctx context.Context, n int) error {
	a.mu.Lock()
	until := a.last + n
	a.mu.Unlock()
	return await(ctx, "the application signs", func() (bool, error) {
		select {
		case <-a.ended:
			return false, fmt.Errorf("the application ended: %s", strings.TrimSpace(a.errors.String()))
		default:
		}
		a.mu.Lock()
		defer a.mu.Unlock()
		return a.last >= until, nil
	})
}

// stop lets it finish its calls and wait for its totals.
func (a *application) stop() error {
	_ = a.command.Process.Signal(syscall.SIGINT) // it may have ended
	impatient := time.AfterFunc(patience, func() { _ = a.command.Process.Kill() })
	defer impatient.Stop()
	<-a.ended
	return a.command.Wait()
}
