// SPDX-License-Identifier: Apache-2.0

package local

import (
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"oneslot.dev/oneslot/wire"
)

const (
	// endPatience is how long a process may take from closing its sockets to its end.
	endPatience = 2 * time.Second

	// leftPatience is how long a process may take that was left to end by itself. Its own
	// bound comes first, so this one is for what does not run: it was stopped, say. A
	// program that ends need not wait for that: the kernel has a process group go on that
	// is stopped when the parent ends (_exit(2)), and SIGHUP, which comes first, is ignored.
	leftPatience = wire.LastCalls + endPatience
)

// A process is a member process. It is killed once its connection is closed, or left to
// finish what its vendor's module is at: killed within a login it may leave no token.
type process struct {
	*exec.Cmd
	ended chan struct{} // closed when it has; ProcessState says how
	left  atomic.Bool
	bound time.Duration // how long it may take if it was left
	over  sync.Once
}

// start starts a process, which Wait waits for from its end on.
func (m *Member) start(socket *os.File) (*process, error) {
	p := &process{Cmd: exec.Command(m.program, m.args...), ended: make(chan struct{}), bound: leftPatience}
	p.Env = m.env
	p.ExtraFiles = []*os.File{socket}
	p.Dir = "/"
	// A group of its own: what a terminal sends to the application is not
	// for the token.
	p.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := p.Start(); err != nil {
		return nil, err
	}
	go func() {
		p.Wait() // sets ProcessState
		close(p.ended)
	}()
	return p, nil
}

// end has the process end, now that its connection is closed. It waits for nothing.
func (p *process) end() {
	p.over.Do(func() {
		if !p.left.Load() {
			p.Process.Kill()
			return
		}
		go func() {
			if !p.within(p.bound) {
				p.Process.Kill()
			}
		}()
	})
}

// within says whether the process ends in time.
func (p *process) within(patience time.Duration) bool {
	late := time.NewTimer(patience)
	defer late.Stop()
	select {
	case <-p.ended:
		return true
	case <-late.C:
		return false
	}
}

// crashed says whether a process whose connection is gone ended by its own fault: Go ends
// with a status after a signal in C code. SIGKILL and SIGTERM come from outside. One that
// was left is not waited for.
func (p *process) crashed() bool {
	if p.left.Load() || !p.within(endPatience) {
		return false
	}
	status, ok := p.ProcessState.Sys().(syscall.WaitStatus)
	if !ok || p.ProcessState.Success() {
		return false
	}
	return !status.Signaled() || status.Signal() != syscall.SIGKILL && status.Signal() != syscall.SIGTERM
}
