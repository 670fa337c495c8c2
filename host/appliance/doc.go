// SPDX-License-Identifier: Apache-2.0

// Package appliance makes a network HSM of the tokens of any PKCS#11 module
// (rules N1, N2, N4). It works as sshd does: the Listener accepts and counts,
// and starts a process for each connection, which does the TLS handshake, finds
// the client in the register, gives up what it does not need, and only then
// loads the vendor module. A process serves one application of one client on one
// token; what happens to it happens to nobody else.
//
// The two speak over a socket pair (desk.go): the listener says how it is
// configured and when to drain, the process asks to be admitted and hands in
// what is to be logged. The listener itself reads nothing that a client sent.
package appliance
