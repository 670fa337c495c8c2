// SPDX-License-Identifier: Apache-2.0

// Package control is how tools see running engines. Each engine answers on a
// socket of its own with its Status. The Status is the one source for text,
// JSON and metrics; it knows nothing of how they look.
package control

import "time"

// Status is what one engine knows of its applications, groups and members.
type Status struct {
	Engine        Engine        `json:"engine"`
	Configuration string        `json:"configuration"` // path of the file
	Applications  []Application `json:"applications"`
	Groups        []Group       `json:"groups"`

	// ConfigurationError says why the file as it is now was refused; the one
	// before is in force. Empty: it was not.
	ConfigurationError string `json:"configuration_error,omitempty"`

	// Unreachable says why the engine did not answer. Everything but the
	// process ID is then unknown. Empty: it answered.
	Unreachable string `json:"unreachable,omitempty"`
}

// Engine is the process that answered.
type Engine struct {
	PID     int       `json:"pid"`
	Version string    `json:"version"`
	Started time.Time `json:"started"`
	Private bool      `json:"private"` // serves one application and ends with it
}

// Application is a process that has the module initialised.
type Application struct {
	PID      int    `json:"pid"`
	Name     string `json:"name"`
	Sessions int    `json:"sessions"`
}

// The states of a group.
const (
	Serving  = "serving"  // all active members are ready
	Degraded = "degraded" // one member serves, another that should is not ready
	Down     = "down"     // no member is ready
)

// The roles of a member.
const (
	Active  = "active"
	Standby = "standby"
)

// Group is one virtual slot.
type Group struct {
	Name    string   `json:"name"`
	Label   string   `json:"label"`
	Serial  string   `json:"serial"`
	Slot    uint64   `json:"slot"`
	State   string   `json:"state"`
	Primary string   `json:"primary"` // a member's name; empty when none is ready
	Members []Member `json:"members"`
}

// Member is one HSM in one group, as this engine sees it.
type Member struct {
	Name        string    `json:"name"`
	Role        string    `json:"role"`
	Primary     bool      `json:"primary"`
	State       string    `json:"state"` // the words of group/state.go
	Since       time.Time `json:"since"` // of State
	Outstanding int       `json:"outstanding"`
	Calls       uint64    `json:"calls"` // answered in all
	Failures    uint64    `json:"failures"`
	LastError   string    `json:"last_error"`
	LastErrorAt time.Time `json:"last_error_at,omitzero"`
	TokenLabel  string    `json:"token_label"`
	TokenSerial string    `json:"token_serial"`
	Objects     int       `json:"objects"`        // known on the token
	PID         int       `json:"pid,omitempty"`  // of a local member's process for the first application
	PIDs        []int     `json:"pids,omitempty"` // of all of them, one for each application

	// Deadlines are what ends some day, without which it cannot be reached.
	Deadlines []Deadline `json:"deadlines,omitempty"`
}

// Deadline is the end of a certificate.
type Deadline struct {
	What    string    `json:"what"`
	End     time.Time `json:"end"`
	Warning string    `json:"warning,omitempty"` // from 30 days ahead: what to do
}
