// SPDX-License-Identifier: Apache-2.0

// Command oneslot is the engine behind the module and the tools around it.
//
// Rules for what a user sees:
//
//   - Standard output carries the answer and nothing else, so that it can be
//     piped, parsed and given to eval. With --json it is one JSON document.
//   - Standard error carries everything else: errors, warnings, prompts. Each
//     begins with "oneslot: ", in lower case and without a full stop.
//   - An error says who, what, why, and what to do, in this order.
//   - Exit code 0: done, all is right. 1: not done, or something is wrong.
//     2: the command line cannot be understood; nothing was tried.
//   - A PIN or a secret is never an argument of a command (other users see
//     those), except for the throw-away tokens of a sandbox. None is printed.
//   - Nothing asks a question unless it needs a PIN from the terminal. What
//     cannot be undone has to be typed (--reset).
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"

	"oneslot.dev/oneslot/config"
	"oneslot.dev/oneslot/member"
)

// The commands. Each stands in the file of its name.
type commands struct {
	Check   checkCommand   `cmd:"" help:"Read the configuration, talk to every member, say what is right and wrong."`
	Status  statusCommand  `cmd:"" help:"Show groups and members as the running engines see them."`
	Group   groupCommand   `cmd:"" help:"Show and change groups, members, standby and recovery; take failed members back."`
	Sync    syncCommand    `cmd:"" aliases:"synchronize" help:"Say what is on which member, and bring members to hold the same."`
	Domain  domainCommand  `cmd:"" help:"Make tokens members of a domain, within which keys are copied."`
	Cert    certCommand    `cmd:"" help:"Make the certificate that shows appliances who this client is."`
	Sandbox sandboxCommand `cmd:"" help:"Make SoftHSM tokens, a domain and a configuration to try things with."`
	Serve   serveCommand   `cmd:"" help:"Run one engine for many applications."`
	Version versionCommand `cmd:"" help:"Print the version."`

	Engine engineCommand `cmd:"" hidden:"" help:"The private engine of an application; the module starts it."`
}

// A desk is what commands work with. Tests set up their own.
type desk struct {
	in     *os.File
	out    io.Writer // the answer
	err    io.Writer // everything else
	getenv func(string) string
	reach  func(*config.Config, *config.Member) (member.Member, error)
}

// note tells the user something beside the answer.
func (d *desk) note(format string, args ...any) {
	for line := range strings.SplitSeq(fmt.Sprintf(format, args...), "\n") {
		fmt.Fprintf(d.err, "oneslot: %s\n", line)
	}
}

// errWrong is the error of a command whose answer says already what is wrong.
var errWrong = errors.New("something is wrong")

func main() {
	shareProcessors()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	d := &desk{in: os.Stdin, out: os.Stdout, err: os.Stderr, getenv: os.Getenv, reach: reach}
	code := run(ctx, d, os.Args[1:])
	stop()
	os.Exit(code)
}

// shareProcessors leaves half of the machine to the application and the members,
// which are at work whenever the engine is. Idle processors of a Go program
// look for work when there is little; on small machines that costs a fifth of
// the signatures. $GOMAXPROCS overrides it. The module sets it for its engine, and
// members get it from here: what is told at its start sets up no more than it needs.
func shareProcessors() {
	if os.Getenv("GOMAXPROCS") == "" {
		half := max(1, runtime.NumCPU()/2)
		runtime.GOMAXPROCS(half)
		os.Setenv("GOMAXPROCS", strconv.Itoa(half))
	}
}

// run is main without the process.
func run(ctx context.Context, d *desk, args []string) int {
	if c := privateEngine(args); c != nil {
		return d.outcome(c.Run(ctx, d))
	}
	exit := -1
	parser, err := kong.New(&commands{},
		kong.Name("oneslot"),
		kong.Description("Several HSMs behind one PKCS#11 slot."),
		kong.Writers(d.out, d.err),
		kong.Exit(func(code int) { exit = code }), // after --help
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}),
		kong.BindTo(ctx, (*context.Context)(nil)),
		kong.Bind(d),
	)
	if err != nil {
		d.note("commands: %v", err)
		return 2
	}
	if len(args) == 0 {
		args = []string{"--help"}
	}
	command, err := parser.Parse(ours(args))
	if exit >= 0 {
		return exit
	}
	if err != nil {
		d.note("command line: %v: see oneslot --help", err)
		return 2
	}
	return d.outcome(command.Run())
}

// outcome is the exit code after a command that returned this.
func (d *desk) outcome(err error) int {
	switch {
	case err == nil:
		return 0
	case !errors.Is(err, errWrong):
		d.note("%v", err)
	}
	return 1
}

// load reads the configuration that was named, else the one that is found.
func load(named string) (*config.Config, string, error) {
	path := named
	if path == "" {
		var err error
		if path, err = config.Find(); err != nil {
			return nil, "", err
		}
	}
	cfg, err := config.Load(path)
	return cfg, path, err
}
