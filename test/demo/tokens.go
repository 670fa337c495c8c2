// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"

	"oneslot.dev/oneslot/test/cluster"
)

// pkcs11tool runs OpenSC's pkcs11-tool with additions to the environment.
func pkcs11tool(ctx context.Context, env []string, args ...string) (string, error) {
	command := exec.CommandContext(ctx, "pkcs11-tool", args...)
	command.Env = append(os.Environ(), env...)
	var out, complaints bytes.Buffer
	command.Stdout, command.Stderr = &out, &complaints
	err := command.Run()
	if errors.Is(err, exec.ErrNotFound) {
		return "", errors.New("pkcs11-tool is missing (Debian: apt install opensc)")
	}
	if err != nil {
		return "", fmt.Errorf("pkcs11-tool: %w\n%s%s", err, out.String(), complaints.String())
	}
	return out.String(), nil
}

// showTokens prints what is there before oneslot comes into play.
func showTokens(ctx context.Context, out *screen, c *cluster.Cluster) error {
	for _, member := range c.Members {
		slots, err := pkcs11tool(ctx, []string{c.Bare(member)}, "--module", c.SoftHSM, "--list-token-slots")
		if err != nil {
			return err
		}
		_, serial, _ := strings.Cut(slots, "serial num")
		_, serial, _ = strings.Cut(serial, ":")
		serial, _, _ = strings.Cut(strings.TrimSpace(serial), "\n")
		out.item("member %s   SoftHSM token, serial number %s", member, serial)
	}
	return nil
}

// makeKey makes a key pair through the group, and looks for it on each token
// with SoftHSM alone.
func makeKey(ctx context.Context, out *screen, c *cluster.Cluster) error {
	words := []string{"--keypairgen", "--key-type", "rsa:2048", "--label", keyLabel, "--id", "01"}
	out.command(append([]string{"pkcs11-tool", "--module", "oneslot-pkcs11.so", "--login", "\\\n      "}, words...)...)
	login := []string{"--token-label", c.Token, "--login", "--pin", c.PIN}
	if _, err := pkcs11tool(ctx, c.Env(), append(append([]string{"--module", c.Module}, login...), words...)...); err != nil {
		return err
	}
	for _, member := range c.Members {
		list, err := pkcs11tool(ctx, []string{c.Bare(member)}, append([]string{"--module", c.SoftHSM, "--list-objects"}, login...)...)
		if err != nil {
			return err
		}
		found := labelled(list, keyLabel)
		out.item("member %s   %s", member, strings.Join(found, " and "))
		if len(found) != 2 {
			out.verdict(false, fmt.Sprintf("member %s has not got the key pair.", member))
			return errFailed
		}
	}
	return nil
}

// labelled returns the headlines of the objects with this label in a list of
// pkcs11-tool. Helper objects of oneslot, seen on bare tokens only, have others.
func labelled(list, label string) []string {
	var found []string
	headline := ""
	for line := range strings.Lines(list) {
		text := strings.TrimSpace(line)
		if !strings.HasPrefix(line, " ") {
			headline = strings.Replace(text, " Object; ", ": ", 1)
		}
		if name, value, _ := strings.Cut(text, ":"); name == "label" && strings.TrimSpace(value) == label {
			found = append(found, headline)
		}
	}
	slices.Sort(found)
	return found
}
