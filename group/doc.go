// SPDX-License-Identifier: Apache-2.0

// Package group is high availability: several members that act as one token.
// It picks members, moves work away from those that fail, takes them back, and
// keeps objects equal on all of them. It knows members, never applications or
// virtual handles: the engine hands it an Attempt, which translates handles for
// the member that was picked.
//
// The life of a member in a group:
//
//	           connected           in sync
//	Connecting ─────────▶ Syncing ─────────▶ Ready
//	  ▲   │                │  ▲  login,      │ │
//	  │   │ not reached    │  └─────────────┘ │
//	  │   ▼                ▼                  ▼
//	  └─ Down ◀──────────────────────────────────
//	 next try          fault, silence, device error
//
//	Ready ─▶ Draining ─▶ Down: the member asked to be left alone (N4)
//	any ─▶ Quarantined: an operator must act (PIN, domain, serial number, form of signatures)
//
// seat.go holds a member's place in the group, state.go the one function that
// changes its state, keeper.go the goroutine that lives this life. A call goes
// through do.go: schedule.go picks, the engine attempts, judge.go decides.
package group
