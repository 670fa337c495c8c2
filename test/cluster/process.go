// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// Kill ends the member's processes, in all engines, as a crash would.
func (c *Cluster) Kill(member string) error { return c.signal(member, syscall.SIGKILL, true) }

// Pause stops the member's processes: they are there, and do nothing.
func (c *Cluster) Pause(member string) error { return c.signal(member, syscall.SIGSTOP, true) }

// Resume lets processes go on that were stopped and still are there.
func (c *Cluster) Resume(member string) error { return c.signal(member, syscall.SIGCONT, false) }

// PIDs are the member's processes, one for each application. They are looked up
// with the kernel, since `oneslot status` shows one, however many applications an
// engine serves.
func (c *Cluster) PIDs(member string) []int {
	var pids []int
	for _, p := range c.Processes() {
		if p.Member == member {
			pids = append(pids, p.PID)
		}
	}
	return pids
}

func (c *Cluster) signal(member string, signal syscall.Signal, must bool) error {
	pids := c.PIDs(member)
	if must && len(pids) == 0 {
		return fmt.Errorf("member %s has no process", member)
	}
	for _, pid := range pids {
		// One that is gone meanwhile needs no signal.
		if err := syscall.Kill(pid, signal); err != nil && err != syscall.ESRCH {
			return fmt.Errorf("member %s: process %d: %w", member, pid, err)
		}
	}
	return nil
}

// A Process is an engine or a member process of this cluster.
type Process struct {
	PID    int
	Name   string // of the program
	Parent int
	Member string // whose process it is; empty: an engine
}

// Processes finds what runs on this cluster by the environment it was started
// with, so also what no engine knows of any more.
func (c *Cluster) Processes() []Process {
	folders, _ := filepath.Glob("/proc/[0-9]*")
	var all []Process
	for _, folder := range folders {
		text, err := os.ReadFile(filepath.Join(folder, "environ"))
		environment := strings.Split(string(text), "\x00")
		if err != nil || !slices.Contains(environment, "ONESLOT_CONF="+c.Conf) {
			continue
		}
		// "pid (name) state parent …", of a process that may have ended since.
		stat, _ := os.ReadFile(filepath.Join(folder, "stat"))
		_, rest, _ := strings.Cut(string(stat), "(")
		name, rest, _ := strings.Cut(rest, ") ")
		if name == "oneslot-applian" { // the kernel keeps 15 bytes of a name
			name = "oneslot-member"
		}
		fields := strings.Fields(rest)
		if len(fields) < 2 || fields[0] == "Z" || name != "oneslot" && name != "oneslot-member" {
			continue
		}
		pid, _ := strconv.Atoi(filepath.Base(folder))
		parent, _ := strconv.Atoi(fields[1])
		p := Process{PID: pid, Name: name, Parent: parent}
		for _, member := range c.Members {
			if name == "oneslot-member" && slices.Contains(environment, c.Bare(member)) {
				p.Member = member
			}
		}
		all = append(all, p)
	}
	return all
}

// Close ends whatever still runs, also what is stopped.
func (c *Cluster) Close() {
	for _, p := range c.Processes() {
		_ = syscall.Kill(p.PID, syscall.SIGKILL)
	}
}
