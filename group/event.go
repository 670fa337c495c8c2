// SPDX-License-Identifier: Apache-2.0

package group

import "time"

// An Event is something that an operator wants to know: a change of a member's
// state, or what was done to bring objects up to date (rule O3).
type Event struct {
	Time     time.Time
	Code     Code
	Group    string
	Member   string
	Serial   string // of the member's token, if it is known
	From, To State  // of changes of state
	Cause    error  // why, or nil
	Text     string // what else there is to say
	Again    bool   // it was ready before on this connection, and is once more: no news for an operator
}

// Code is the stable name of a kind of event, for those who watch the log.
type Code string

// The kinds of events.
const (
	MemberConnecting  Code = "member-connecting"
	MemberSyncing     Code = "member-syncing"
	MemberReady       Code = "member-ready"
	MemberDown        Code = "member-down"
	MemberQuarantined Code = "member-quarantined"
	MemberDraining    Code = "member-draining"
	ObjectsCopied     Code = "objects-copied"
	ObjectNotCopied   Code = "object-not-copied"
	ObjectsDestroyed  Code = "objects-destroyed"
	ObjectsDiffer     Code = "objects-differ"
	ChangeMissed      Code = "change-missed"
	ChangeConflict    Code = "change-conflict"
	JournalUnreadable Code = "journal-unreadable"
	MemberExpires     Code = "member-expires"
	MemberExposed     Code = "member-exposed"
	MemberShort       Code = "member-short"
)

func codeOf(s State) Code {
	return [...]Code{MemberConnecting, MemberSyncing, MemberReady, MemberDown, MemberQuarantined, MemberDraining}[s]
}

// say reports what is no change of state.
func (g *Group) say(code Code, s *seat, cause error, text string) {
	g.report(Event{Time: time.Now(), Code: code, Group: g.name, Member: s.member.Name(), Serial: s.serialNow(g), Cause: cause, Text: text})
}
