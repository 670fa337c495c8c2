// SPDX-License-Identifier: Apache-2.0

// Package engine is what an application sees: slots, sessions, login, objects
// and operations, by the rules of PKCS#11. It gives out virtual handles and
// keeps the state of operations; members see neither. Each cryptographic call
// becomes an attempt that its group runs on one member (package group).
//
//	engine.go       applications connect, calls come in
//	application.go  one process: its slots and sessions
//	slot.go         a virtual or physical slot, and what it says of itself
//	session.go      session handles and states
//	login.go        C_Login and C_Logout
//	object.go       virtual objects, and their handles on members
//	twin.go         objects that are equal in all that identifies them
//	find.go         searches
//	attribute.go    reading and changing attributes
//	create.go       generating, creating, destroying
//	operation.go    the state of a cryptographic operation, and its beginning
//	cancel.go       ending one unfinished
//	single.go       single-part sign, verify, encrypt, decrypt, digest
//	length.go       answers to questions for a length
package engine
