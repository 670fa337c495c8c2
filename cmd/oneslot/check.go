// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"

	"oneslot.dev/oneslot/config"
	"oneslot.dev/oneslot/group"
	"oneslot.dev/oneslot/member"
	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/wire"
)

type checkCommand struct {
	Config  string `help:"Configuration file." placeholder:"FILE"`
	JSON    bool   `help:"Print JSON." name:"json"`
	PinFrom string `help:"Also log in, with the user PIN from here: prompt, env:NAME or a file. Without this no PIN is tried." placeholder:"SOURCE"`
}

// A checkReport is the answer of `oneslot check`.
type checkReport struct {
	Configuration string    `json:"configuration"`
	Right         bool      `json:"right"`
	Members       []finding `json:"members"`
	Groups        []finding `json:"groups"`
}

// A finding is what there is to say of one member or group.
type finding struct {
	Name  string   `json:"name"`
	About string   `json:"about,omitempty"` // what it is, if it was reached
	Wrong []string `json:"wrong,omitempty"` // keeps it from working as configured
	Notes []string `json:"notes,omitempty"` // worth knowing, not wrong
}

func (f *finding) wrong(format string, args ...any) {
	f.Wrong = append(f.Wrong, fmt.Sprintf(format, args...))
}

func (f *finding) note(format string, args ...any) {
	f.Notes = append(f.Notes, fmt.Sprintf(format, args...))
}

// Run checks everything, however much of it is wrong.
func (c *checkCommand) Run(ctx context.Context, d *desk) error {
	cfg, path, err := load(c.Config)
	if err != nil {
		return c.broken(d, path, err)
	}
	var pin pkcs11.PIN
	if c.PinFrom != "" {
		if pin, err = d.readPIN(c.PinFrom, "user PIN"); err != nil {
			return err
		}
		defer pin.Wipe()
	}
	report := checkReport{Configuration: path, Right: true}
	answers := d.describeAll(ctx, cfg)
	for i := range cfg.Members {
		report.Members = append(report.Members, judgeMember(&cfg.Members[i], answers[i]))
		noteDeadlines(&report.Members[i], answers[i])
	}
	if pin != nil {
		d.tryPIN(ctx, cfg, pin, report.Members, answers)
	}
	tokens := map[string]*wire.Description{}
	for i, a := range answers {
		tokens[cfg.Members[i].Name] = a.token
	}
	for i := range cfg.Groups {
		f := judgeGroup(&cfg.Groups[i], tokens)
		noteLabels(&f, cfg, &cfg.Groups[i], tokens)
		report.Groups = append(report.Groups, f)
	}
	for _, f := range append(report.Members, report.Groups...) {
		report.Right = report.Right && len(f.Wrong) == 0
	}
	return c.print(d, report)
}

// broken reports a configuration that cannot be used. Its problems are the
// answer; that there is none at all is an error of the command.
func (c *checkCommand) broken(d *desk, path string, err error) error {
	var problems config.Problems
	if !errors.As(err, &problems) {
		return err
	}
	if c.JSON {
		return errors.Join(errWrong, json.NewEncoder(d.out).Encode(map[string]any{
			"configuration": path, "right": false, "problems": problems,
		}))
	}
	fmt.Fprintln(d.out, problems.Error())
	return errWrong
}

func (c *checkCommand) print(d *desk, r checkReport) error {
	if c.JSON {
		e := json.NewEncoder(d.out)
		e.SetIndent("", "  ")
		if err := e.Encode(r); err != nil {
			return err
		}
	} else {
		fmt.Fprintf(d.out, "configuration %s\n", r.Configuration)
		printFindings(d.out, "member", r.Members)
		printFindings(d.out, "group", r.Groups)
		if r.Right {
			fmt.Fprintln(d.out, "all is right")
		}
	}
	if !r.Right {
		return errWrong
	}
	return nil
}

func printFindings(out io.Writer, kind string, list []finding) {
	for _, f := range list {
		verdict := "right"
		if len(f.Wrong) > 0 {
			verdict = "WRONG"
		}
		fmt.Fprintf(out, "%s %s: %s", kind, f.Name, verdict)
		if f.About != "" {
			fmt.Fprintf(out, ": %s", f.About)
		}
		fmt.Fprintln(out)
		for _, text := range f.Wrong {
			fmt.Fprintf(out, "  wrong: %s\n", text)
		}
		for _, text := range f.Notes {
			fmt.Fprintf(out, "  note: %s\n", text)
		}
	}
}

// A description is what a member's token said, or why it said nothing.
type description struct {
	token     *wire.Description
	deadlines []member.Deadline // also of one that was not reached
	dangers   []string
	err       error
}

// describeAll asks all members at the same time, so that one that hangs costs
// its own patience only.
func (d *desk) describeAll(ctx context.Context, cfg *config.Config) []description {
	answers := make([]description, len(cfg.Members))
	var asked sync.WaitGroup
	for i := range cfg.Members {
		asked.Go(func() {
			answers[i] = d.describe(ctx, cfg, &cfg.Members[i])
		})
	}
	asked.Wait()
	return answers
}

func (d *desk) describe(ctx context.Context, cfg *config.Config, m *config.Member) description {
	if m.Address != "" {
		// There is no module here.
	} else if info, err := os.Stat(m.Module); err != nil {
		return description{err: fmt.Errorf("module: %w: install it or correct module in the configuration", err)}
	} else if info.IsDir() {
		return description{err: fmt.Errorf("module: %s is a folder: name the library in it", m.Module)}
	}
	made, err := d.reach(cfg, m)
	if err != nil {
		return description{err: err}
	}
	conn, err := connect(ctx, made)
	said := description{deadlines: member.Deadlines(made), dangers: member.Dangers(made)}
	if err != nil {
		// The finding says the member's name already.
		var fault *member.Fault
		if errors.As(err, &fault) && fault.Err != nil {
			err = fault.Err
		}
		if errors.Is(err, context.DeadlineExceeded) {
			err = fmt.Errorf("no answer within %s: the module hangs, or the way to its HSM is broken", connectPatience)
		}
		said.err = err
		return said
	}
	defer member.Leave(conn)
	said.token = conn.Token()
	return said
}

// tryPIN logs in on one member after the other. It stops at the first that
// refuses, so that a wrong PIN costs one try on one member (rule F7), and does
// not touch tokens that are near their last.
func (d *desk) tryPIN(ctx context.Context, cfg *config.Config, pin pkcs11.PIN, findings []finding, answers []description) {
	for i := range cfg.Members {
		f, token := &findings[i], answers[i].token
		switch {
		case token == nil:
			continue
		case !mayTry(token):
			f.note("the PIN was not tried: see above, or few tries are left")
			continue
		}
		format, err := d.login(ctx, cfg, &cfg.Members[i], pin)
		if err == nil {
			f.note("the PIN is right")
			judgeFormat(f, cfg, format)
			continue
		}
		f.wrong("login: %v", explain(err, pinAdvice))
		for j := i + 1; j < len(findings); j++ {
			if answers[j].token != nil {
				findings[j].note("the PIN was not tried, since member %s refused it", cfg.Members[i].Name)
			}
		}
		return
	}
}

func mayTry(token *wire.Description) bool {
	const risky = pkcs11.CKF_USER_PIN_LOCKED | pkcs11.CKF_USER_PIN_FINAL_TRY | pkcs11.CKF_USER_PIN_COUNT_LOW
	return token.Token.Flags&pkcs11.CKF_USER_PIN_INITIALIZED != 0 && token.Token.Flags&risky == 0
}

// login logs in on a member. format is what is wrong with the form of its signatures,
// which it is asked for while somebody is logged in (field-K8).
func (d *desk) login(ctx context.Context, cfg *config.Config, m *config.Member, pin pkcs11.PIN) (format, err error) {
	conn, err := d.connect(ctx, cfg, m)
	if err != nil {
		return nil, err
	}
	defer member.Leave(conn)
	session, err := conn.Open(wire.TokenView)
	if err != nil {
		return nil, err
	}
	defer session.Close()
	// A token without a session forgets the login, and the member opens one when it is first
	// asked for something in it: so this one logs in as well as signs.
	if err := do(ctx, session, &wire.Login{User: pkcs11.CKU_USER, Pin: pin}); err != nil {
		return nil, err
	}
	format = group.Examine(ctx, session, member.Limits{Silence: toolSilence, Stuck: toolStuck}, conn.Token())
	return format, nil
}

// judgeFormat says that a member signs in a form of its own. A member that is alone in
// its groups is used all the same.
func judgeFormat(f *finding, cfg *config.Config, format error) {
	switch {
	case format == nil || format == group.ErrNotExamined: // it makes no such signatures
		return
	case errors.Is(format, group.ErrNotExamined):
		f.note("the form of its signatures is not known: %v", format)
		return
	}
	for i := range cfg.Groups {
		if g := &cfg.Groups[i]; len(g.Members) > 1 && slices.Contains(g.Members, f.Name) {
			f.wrong("%v", format)
			return
		}
	}
	f.note("%v", format)
}
