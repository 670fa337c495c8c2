// SPDX-License-Identifier: Apache-2.0

// Package config is what an operator writes down: members, groups, and how
// patient to be with them. It reads, checks and finds the file. It opens no
// module and knows no HSM; `oneslot check` does that.
package config

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"log/slog"
	"slices"
	"time"
)

// Config is the whole configuration. Every option of oneslot stands in this
// struct and the ones it holds, with its meaning, its unit and its default.
//
// The tag toml is the option's name, default its default, oneof the values it
// may have. A time.Duration is written as a string with a unit ("20s", "45m"),
// a Size as "64KiB" or "1MiB". A relative path starts at the folder of the file.
type Config struct {
	// GroupOnly hides the physical slots: applications see the groups alone
	// (rule G4). Wanted when members and group share a label, since many
	// applications choose a token by its label.
	GroupOnly bool `toml:"group_only" default:"false"`

	// MemberProgram is the program that loads vendor modules. Empty:
	// oneslot-member beside the oneslot program, else the one in $PATH.
	MemberProgram string `toml:"member_program" default:""`

	// RuntimeDir is the folder of the sockets through which `oneslot status`
	// and applications reach running engines. Empty: see RuntimeFolder.
	RuntimeDir string `toml:"runtime_dir" default:""`

	Log     Log      `toml:"log"`
	Members []Member `toml:"member"`
	Groups  []Group  `toml:"group"`
}

// Log says where an engine writes what it has to tell.
type Log struct {
	// File is appended to. Empty: standard error under `oneslot serve`, the
	// file of LogFile for the private engine of an application, whose
	// standard error belongs to the application.
	File string `toml:"file" default:""`

	// Level is the least important kind of message that is written.
	Level slog.Level `toml:"level" default:"info" oneof:"debug info warn error"`
}

// A Member is one token that groups can be made of.
type Member struct {
	// Name is what configuration, logs and tools call the member: 1 to 64 of
	// A-Z a-z 0-9 _ . -
	Name string `toml:"name"`

	// Module is the absolute path of the vendor's PKCS#11 library, for a token
	// that this host reaches through it. Address is "host:port" of an
	// appliance instead (rule N1).
	Module  string `toml:"module" default:""`
	Address string `toml:"address" default:""`

	// Token is the token's label, Serial its serial number. One of them is
	// enough; with both, both must match. Slot numbers are no option: many
	// modules renumber their slots. On an appliance, Token is what the
	// appliance calls the token, and all there is.
	Token  string `toml:"token" default:""`
	Serial string `toml:"serial" default:""`

	// Env holds environment variables for the vendor module, as in
	// SOFTHSM2_CONF = "/etc/softhsm/a.conf". Each member has a process of
	// its own, so members with the same module may differ here.
	Env map[string]string `toml:"env"`

	// Certificate and Key, as PEM files, show an appliance who this client is.
	// `oneslot cert new` makes them.
	Certificate string `toml:"certificate" default:""`
	Key         string `toml:"key" default:""`

	// Server is the fingerprint of the appliance's certificate, "sha256:…";
	// or ServerName is the name in its certificate, and ServerCA the file of
	// the authority that issued it. Any other certificate is refused.
	Server     string `toml:"server" default:""`
	ServerName string `toml:"server_name" default:""`
	ServerCA   string `toml:"server_ca" default:""`

	// There is no option for a PIN, and there will be none: a PIN comes from
	// the application through C_Login.
}

// Recovery says who starts the attempts to take a failed member back (R1, R2).
type Recovery string

// The two ways of Recovery.
const (
	RecoverAuto   Recovery = "auto"   // the engine, in the background
	RecoverManual Recovery = "manual" // an operator, with `oneslot group recover`
)

// Multipart says which member gets a multi-part operation (rule L4).
type Multipart string

// The two ways of Multipart.
const (
	MultipartBalance Multipart = "balance" // the least busy, as for single calls
	MultipartPrimary Multipart = "primary" // always the primary
)

// A Group is an ordered list of members that appears as one virtual slot.
type Group struct {
	// Name is as a member's Name. The serial number and the slot number of
	// the virtual slot follow from it, so it must be the same on all hosts
	// on which the group shall look the same (rule G3).
	Name string `toml:"name"`

	// Label is the label of the virtual token, at most 32 bytes of UTF-8.
	// Empty in the file: the group's name.
	Label string `toml:"label" default:""`

	// Members are the names of 1 to 32 members. The first that is ready and
	// not standby is the primary (F5). Hosts may order them differently (G6).
	Members []string `toml:"members"`

	// Standby names those of Members that get all keys and no work while one
	// of the others is ready (S1). At least one member must not be standby.
	// A new key is there when its creation returns (K1): over a slow link that
	// costs one round trip.
	Standby []string `toml:"standby"`

	// MinCopies is how many members must get a new key for its creation to
	// succeed (K3). It never keeps existing keys from being used.
	MinCopies int `toml:"min_copies" default:"1"`

	// Recovery, RecoveryInterval between two attempts, and RecoveryAttempts
	// until a member is given up (R1); -1 means never. The first attempts
	// come sooner than the interval.
	Recovery         Recovery      `toml:"recovery" default:"auto" oneof:"auto manual"`
	RecoveryInterval time.Duration `toml:"recovery_interval" default:"60s"`
	RecoveryAttempts int           `toml:"recovery_attempts" default:"-1"`

	// CommandTimeout is how long a member may give no sign of life, neither
	// answer nor heartbeat, before its commands go elsewhere (F1, F2).
	CommandTimeout time.Duration `toml:"command_timeout" default:"20s"`

	// ProbeInterval is the time between two questions to a silent member
	// whether it is there, ProbeTimeout the time it has to answer one (F3).
	ProbeInterval time.Duration `toml:"probe_interval" default:"2s"`
	ProbeTimeout  time.Duration `toml:"probe_timeout" default:"5s"`

	// StuckTimeout ends a command that only ever beats (F2);
	// StuckTimeoutKeygen is the same for key generation, which may be slow.
	StuckTimeout       time.Duration `toml:"stuck_timeout" default:"60s"`
	StuckTimeoutKeygen time.Duration `toml:"stuck_timeout_keygen" default:"45m"`

	// Multipart chooses the member for multi-part operations (L4).
	Multipart Multipart `toml:"multipart" default:"balance" oneof:"balance primary"`

	// ReplayLimit is how much input of one multi-part operation is kept to
	// move it to another member (F4). 0: such operations never move.
	ReplayLimit Size `toml:"replay_limit" default:"1MiB"`

	// KeyExport permits the weaker way of copying keys, for tokens that
	// cannot mark the domain key as trusted (K7): whoever holds the PIN of
	// such a token can then take keys out of it. It is a property of the
	// domain too: set it before the members join one with
	// `oneslot domain join`. Without it such a token keeps its keys to itself.
	KeyExport bool `toml:"key_export" default:"false"`
}

// Member returns the member with that name, or nil.
func (c *Config) Member(name string) *Member {
	for i := range c.Members {
		if c.Members[i].Name == name {
			return &c.Members[i]
		}
	}
	return nil
}

// Group returns the group with that name, or nil.
func (c *Config) Group(name string) *Group {
	for i := range c.Groups {
		if c.Groups[i].Name == name {
			return &c.Groups[i]
		}
	}
	return nil
}

// IsStandby reports whether the member of that name is standby in the group.
func (g *Group) IsStandby(member string) bool {
	return slices.Contains(g.Standby, member)
}

// Serial is the serial number of the virtual token: 16 hexadecimal digits that
// follow from the name alone, so that every host and process shows the same
// (rule G3).
func (g *Group) Serial() string {
	sum := sha256.Sum256([]byte("oneslot group " + g.Name))
	return fmt.Sprintf("%x", sum[:8])
}

// Slot numbers follow from names, never from the position in the file or from
// what is reachable: applications write them into their own configuration.
// The two ranges cannot meet. Within one, Parse refuses a collision.
const (
	memberSlots = 0x10000000
	groupSlots  = 0x20000000
)

// Slot is the number of the member's physical slot.
func (m *Member) Slot() uint64 { return memberSlots | hash24("oneslot member "+m.Name) }

// Slot is the number of the group's virtual slot.
func (g *Group) Slot() uint64 { return groupSlots | hash24("oneslot group "+g.Name) }

func hash24(text string) uint64 {
	sum := sha256.Sum256([]byte(text))
	return uint64(binary.BigEndian.Uint32(sum[:4]) >> 8)
}
