// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"oneslot.dev/oneslot/certificate"
	"oneslot.dev/oneslot/config"
)

// With --network each token of a sandbox is on an appliance of its own: a
// listener on loopback, with a certificate, at which this sandbox is registered
// as client. The tokens are made and joined as without.

const (
	networkClient = "sandbox"            // name of the client, and of its files
	networkValid  = 365 * 24 * time.Hour // of all certificates

	// startPatience is how long an appliance may take until it listens.
	startPatience = 20 * time.Second
	startRetry    = 20 * time.Millisecond
)

func applianceConf(dir, name string) string { return filepath.Join(dir, name, "appliance.toml") }
func applianceLog(dir, name string) string  { return filepath.Join(dir, name, "appliance.log") }

// network puts the tokens on appliances and writes the configuration anew.
func (box *sandbox) network(ctx context.Context, dir string) error {
	if !box.Network {
		return nil
	}
	program, err := memberProgram(&config.Config{})
	if err != nil {
		return err
	}
	file := filepath.Join(dir, networkClient)
	if _, err := certificate.WriteNew(certificate.Wish{Name: networkClient, Valid: networkValid}, file+".crt", file+".key"); err != nil {
		return err
	}
	box.Addresses = nil
	var servers []string
	for i := range box.Members {
		name := memberName(i)
		address, err := freeAddress()
		if err != nil {
			return err
		}
		server, err := box.appliance(ctx, program, dir, name, address)
		if err != nil {
			return fmt.Errorf("member %s: %w", name, err)
		}
		box.Addresses = append(box.Addresses, address)
		servers = append(servers, server)
	}
	return os.WriteFile(configFile(dir), box.networkTOML(dir, servers), 0o600)
}

// appliance makes what an appliance needs, and returns its fingerprint.
func (box *sandbox) appliance(ctx context.Context, program, dir, name, address string) (string, error) {
	text := fmt.Sprintf("# Written by oneslot sandbox.\nlisten = %s\ncertificate = \"appliance.crt\"\nkey = \"appliance.key\"\nregister = \"clients\"\n"+
		"\n[[token]]\nname = \"token\"\nmodule = %s\nlabel = %s\n[token.env]\nSOFTHSM2_CONF = %s\n",
		tomlQuote(address), tomlQuote(box.Module), tomlQuote(box.Label), tomlQuote(softhsmConf(dir, name)))
	conf := applianceConf(dir, name)
	if err := os.WriteFile(conf, []byte(text), 0o600); err != nil {
		return "", err
	}
	if _, err := ask(ctx, program, "client", "add", networkClient, "--config", conf,
		"--certificate", filepath.Join(dir, networkClient+".crt"), "--token", "token"); err != nil {
		return "", err
	}
	return ask(ctx, program, "cert", "new", "--config", conf, "--name", name, "--host", "127.0.0.1")
}

// ask runs oneslot-member and returns its answer.
func ask(ctx context.Context, program string, args ...string) (string, error) {
	run := exec.CommandContext(ctx, program, args...)
	out, err := run.Output()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		err = errors.New(strings.TrimSpace(string(exit.Stderr)))
	}
	return strings.TrimSpace(string(out)), err
}

// freeAddress is one that nobody listens on just now.
func freeAddress() (string, error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer ln.Close()
	return ln.Addr().String(), nil
}

// networkTOML is the configuration of the client.
func (box *sandbox) networkTOML(dir string, servers []string) []byte {
	var b strings.Builder
	b.WriteString(box.tomlHead(dir))
	var names []string
	for i, server := range servers {
		name := memberName(i)
		names = append(names, tomlQuote(name))
		fmt.Fprintf(&b, "\n[[member]]\nname = %s\naddress = %s\ntoken = \"token\"\ncertificate = %s\nkey = %s\nserver = %s\n",
			tomlQuote(name), tomlQuote(box.Addresses[i]), tomlQuote(networkClient+".crt"), tomlQuote(networkClient+".key"), tomlQuote(server))
	}
	b.WriteString(box.tomlGroup(names))
	return []byte(b.String())
}

// startAppliances starts those that do not run, and waits until all listen.
func (box *sandbox) startAppliances(ctx context.Context, d *desk, dir string) error {
	if !box.Network {
		return nil
	}
	program, err := memberProgram(&config.Config{})
	if err != nil {
		return err
	}
	for i := range box.Members {
		name := memberName(i)
		if err := startAppliance(ctx, program, dir, name, box.Addresses[i]); err != nil {
			return fmt.Errorf("sandbox %s: appliance %s: %w: its log is %s", dir, name, err, applianceLog(dir, name))
		}
	}
	d.note("sandbox: %d appliances run on loopback; oneslot sandbox %s --stop ends them", box.Members, shellQuote(dir))
	return nil
}

func startAppliance(ctx context.Context, program, dir, name, address string) error {
	if listens(address) {
		return nil
	}
	log, err := os.OpenFile(applianceLog(dir, name), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	listen := exec.Command(program, "listen", "--config", applianceConf(dir, name))
	listen.Stdout, listen.Stderr = log, log
	listen.Dir = "/"
	// It outlives this command, and the terminal.
	listen.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := listen.Start(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- listen.Wait() }()
	ctx, cancel := context.WithTimeout(ctx, startPatience)
	defer cancel()
	retry := time.NewTicker(startRetry)
	defer retry.Stop()
	for !listens(address) {
		select {
		case <-ended:
			return errors.New("it ended at once")
		case <-ctx.Done():
			return errors.New("it does not listen")
		case <-retry.C:
		}
	}
	return nil
}

func listens(address string) bool {
	conn, err := net.DialTimeout("tcp", address, time.Second)
	if err == nil {
		conn.Close()
	}
	return err == nil
}

// stopAppliances drains what runs.
func (box *sandbox) stopAppliances(ctx context.Context, dir string) error {
	program, err := memberProgram(&config.Config{})
	if err != nil {
		return err
	}
	for i, address := range box.Addresses {
		if !listens(address) {
			continue
		}
		if _, err := ask(ctx, program, "drain", "--config", applianceConf(dir, memberName(i))); err != nil {
			return fmt.Errorf("sandbox %s: appliance %s: not stopped: %w", dir, memberName(i), err)
		}
	}
	return nil
}

// stop is `oneslot sandbox DIR --stop`.
func (c *sandboxCommand) stop(ctx context.Context, dir string) error {
	box, err := readMarker(dir)
	switch {
	case err != nil:
		return err
	case box == nil || !box.Network:
		return fmt.Errorf("sandbox %s: there is no sandbox with appliances: nothing to stop", dir)
	}
	return box.stopAppliances(ctx, dir)
}
