// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"net"
	"os"
	"time"

	"oneslot.dev/oneslot/certificate"
	"oneslot.dev/oneslot/host/appliance"
)

type cert struct {
	New  certNew  `cmd:"" help:"Make the appliance's key and certificate."`
	Show certShow `cmd:"" help:"Print the fingerprint of a certificate."`
}

// certNew makes what the appliance shows to its clients.
type certNew struct {
	Config string   `default:"${config}" help:"Configuration of the appliance, which says where the files go." placeholder:"FILE"`
	Name   string   `help:"Name in the certificate (default: this host's)."`
	Host   []string `help:"Names and addresses by which clients reach the appliance (default: this host's name)."`
	Days   int      `default:"730" help:"How long it is valid."`
}

// Run makes the pair and prints what the clients' operators have to compare.
func (c *certNew) Run() error {
	config, err := appliance.LoadConfig(c.Config)
	if err != nil {
		return err
	}
	if c.Days < 1 {
		return fmt.Errorf("--days %d: it must be more than 0", c.Days)
	}
	name, err := os.Hostname()
	if err != nil {
		name = "appliance"
	}
	if c.Name != "" {
		name = c.Name
	}
	hosts := c.Host
	if len(hosts) == 0 {
		hosts = []string{name}
		if host, _, err := net.SplitHostPort(config.Listen); err == nil && net.ParseIP(host) != nil && !net.ParseIP(host).IsUnspecified() {
			hosts = append(hosts, host)
		}
	}
	made, err := certificate.WriteNew(certificate.Wish{Name: name, Hosts: hosts, Valid: time.Duration(c.Days) * 24 * time.Hour}, config.Certificate, config.Key)
	if err != nil {
		return err
	}
	fmt.Println(certificate.Of(made))
	fmt.Fprintf(os.Stderr, "oneslot-member: %s is valid until %s; clients put this fingerprint into server = \"…\" of their [[member]]\n",
		config.Certificate, made.NotAfter.UTC().Format(time.DateOnly))
	return nil
}

// certShow prints a fingerprint, to compare it by telephone.
type certShow struct {
	File string `arg:"" help:"Certificate, as PEM." placeholder:"FILE"`
}

// Run prints the fingerprint.
func (c *certShow) Run() error {
	read, err := certificate.Read(c.File)
	if err != nil {
		return err
	}
	fmt.Println(certificate.Of(read))
	return nil
}
