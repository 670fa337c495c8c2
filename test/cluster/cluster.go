// SPDX-License-Identifier: Apache-2.0

// Package cluster makes a whole world in a folder: SoftHSM tokens joined to a
// group, as `oneslot sandbox` makes them, whose member processes can be killed,
// stopped and kept away. Applications get it through Env. It learns what goes on
// from `oneslot status`, like an operator.
package cluster

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"oneslot.dev/oneslot/config"
)

// A Cluster is one group of SoftHSM tokens, and the engines that run on it.
type Cluster struct {
	Dir     string // everything is in it
	Program string // oneslot
	Module  string // what applications load
	Token   string // the group's label, and that of each member's own token
	PIN     string
	SOPIN   string
	Conf    string   // the group's configuration
	Log     string   // the engines' log
	Members []string // names, in the order of the group
	SoftHSM string   // the members' own module

	runtime string // folder of the engines' sockets
}

// New makes the tokens and joins them. The programs are in the folder bin.
func New(bin, dir string, members int, options ...string) (*Cluster, error) {
	c := &Cluster{Dir: dir, Program: filepath.Join(bin, "oneslot")}
	sandbox := exec.Command(c.Program, append([]string{"sandbox", dir, fmt.Sprintf("--members=%d", members)}, options...)...)
	out, err := sandbox.Output()
	if err != nil {
		return nil, failed(sandbox, err)
	}
	for name, place := range map[string]*string{
		"MODULE": &c.Module, "TOKEN": &c.Token, "PIN": &c.PIN, "SO_PIN": &c.SOPIN, "ONESLOT_CONF": &c.Conf,
	} {
		_, value, _ := strings.Cut(string(out), "export "+name+"='")
		*place, _, _ = strings.Cut(value, "'\n")
		if *place == "" {
			return nil, fmt.Errorf("oneslot sandbox does not say %s:\n%s", name, out)
		}
	}
	cfg, err := config.Load(c.Conf)
	if err != nil {
		return nil, err
	}
	c.Log, c.runtime = cfg.Log.File, cfg.Runtime()
	for _, m := range cfg.Members {
		c.Members, c.SoftHSM = append(c.Members, m.Name), m.Module
	}
	return c, nil
}

// failed adds to the error of a command what it said.
func failed(c *exec.Cmd, err error) error {
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		err = fmt.Errorf("%w: %s", err, exit.Stderr)
	}
	return fmt.Errorf("%s: %w", strings.Join(c.Args, " "), err)
}

// Env is what an application needs in its environment, beside what it has.
func (c *Cluster) Env() []string {
	return []string{
		"ONESLOT_CONF=" + c.Conf, "MODULE=" + c.Module, "TOKEN=" + c.Token, "PIN=" + c.PIN,
		// No engine of the system or of the user may get in between.
		"ONESLOT_SOCKET=", "XDG_RUNTIME_DIR=" + filepath.Join(c.Dir, "run"),
	}
}

// Command prepares to run a program as an application.
func (c *Cluster) Command(name string, args ...string) *exec.Cmd {
	command := exec.Command(name, args...)
	command.Env = append(os.Environ(), c.Env()...)
	return command
}

// Bare is the setting with which SoftHSM shows the member's own token.
func (c *Cluster) Bare(member string) string {
	return "SOFTHSM2_CONF=" + filepath.Join(c.Dir, member, "softhsm2.conf")
}

// Set adds options to the group, in the words of the configuration. Engines
// that run already do not see them.
func (c *Cluster) Set(lines ...string) error {
	f, err := os.OpenFile(c.Conf, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(strings.Join(lines, "\n") + "\n")
	return errors.Join(err, f.Close())
}

// Away makes a member unable to come back, and ends its processes, which do not see
// its tokens vanish: no HSM shows that. A member that has none stays away as well.
func (c *Cluster) Away(member string) error {
	if err := c.signal(member, syscall.SIGSTOP, false); err != nil {
		return err
	}
	tokens := filepath.Join(c.Dir, member, "tokens")
	if err := os.Rename(tokens, tokens+".away"); err != nil {
		return err
	}
	return c.signal(member, syscall.SIGKILL, false)
}

// Back undoes Away. The engines notice by themselves.
func (c *Cluster) Back(member string) error {
	tokens := filepath.Join(c.Dir, member, "tokens")
	return os.Rename(tokens+".away", tokens)
}
