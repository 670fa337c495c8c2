// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"net"
	"os"

	"golang.org/x/sys/unix"

	"oneslot.dev/oneslot/host"
	"oneslot.dev/oneslot/host/appliance"
	"oneslot.dev/oneslot/wire"
)

// connectionCommand is what a listener starts a process of a connection with.
var connectionCommand = []string{"connection"}

// connection serves one connection of a listener, and ends with it.
type connection struct{}

// The descriptors that the listener leaves open.
const (
	clientFD   = 3
	listenerFD = 4
)

// Run serves the connection.
func (c *connection) Run() error {
	if err := host.Seal(); err != nil {
		return err
	}
	parent, err := host.Inherited(listenerFD)
	if err != nil {
		return err
	}
	unix.CloseOnExec(clientFD)
	file := os.NewFile(clientFD, "client")
	client, err := net.FileConn(file)
	if err != nil {
		return fmt.Errorf("descriptor %d is no connection: this command is for the listener, not for people: %w", clientFD, err)
	}
	file.Close()
	// Again: Go has set options of its own on what it takes for a new connection.
	if tcp, ok := client.(*net.TCPConn); ok {
		if err := wire.KeepAlive(tcp); err != nil {
			return err
		}
	}
	return appliance.Serve(client, parent)
}
