// SPDX-License-Identifier: Apache-2.0

package history

import "testing"

// did is a call that returned before the next began.
func (l *Log) did(process int, kind Kind, label string, outcome Outcome) {
	o := l.Begin(process, "o", kind, label)
	o.End(outcome)
}

func TestWhatIsPromised(t *testing.T) {
	for _, c := range []struct {
		name string
		do   func(l *Log)
		good bool
	}{
		{"found when it was created", func(l *Log) {
			l.did(0, Create, "a", Done)
			l.Settled()
			l.did(1, Find, "a", Done)
		}, true},
		{"not found though it was created (K1)", func(l *Log) {
			l.did(0, Create, "a", Done)
			l.Settled()
			l.did(1, Find, "", Missing)
		}, false},
		{"not yet found where other members are seen", func(l *Log) {
			l.did(0, Create, "a", Done)
			l.did(1, Find, "", Missing)
			l.Settled()
			l.did(1, Find, "a", Done)
		}, true},
		{"not found by who created it", func(l *Log) {
			l.did(0, Create, "a", Done)
			l.did(0, Find, "", Missing)
		}, false},
		{"now there and now not while it is created", func(l *Log) {
			o := l.Begin(0, "o", Create, "a")
			l.did(1, Find, "a", Done)
			l.did(1, Find, "", Missing)
			o.End(Done)
		}, true},
		{"the old label after the change (K5)", func(l *Log) {
			l.did(0, Create, "a", Done)
			l.did(0, Label, "b", Done)
			l.Settled()
			l.did(1, Find, "a", Done)
		}, false},
		{"a label that nobody gave", func(l *Log) {
			l.did(0, Create, "a", Done)
			l.did(0, Find, "c", Done)
		}, false},
		{"a destroyed object is back (K5)", func(l *Log) {
			l.did(0, Create, "a", Done)
			l.did(0, Destroy, "", Done)
			l.Settled()
			l.did(1, Find, "a", Done)
		}, false},
		{"a destroyed object gets a label", func(l *Log) {
			l.did(0, Create, "a", Done)
			l.did(0, Destroy, "", Done)
			l.did(0, Label, "b", Done)
		}, false},
		{"destroyed and changed at the same time, gone", func(l *Log) {
			l.did(0, Create, "a", Done)
			l.Settled()
			o := l.Begin(1, "o", Label, "b")
			l.did(0, Destroy, "", Done)
			o.End(Done)
			l.Settled()
			l.did(0, Find, "", Missing)
			l.did(1, Label, "c", Missing)
		}, true},
		{"destroyed and changed at the same time, there", func(l *Log) {
			l.did(0, Create, "a", Done)
			l.Settled()
			o := l.Begin(1, "o", Label, "b")
			l.did(0, Destroy, "", Done)
			o.End(Done)
			l.Settled()
			l.did(1, Find, "b", Done)
		}, false},
		{"used after it was created", func(l *Log) {
			l.did(0, Create, "a", Done)
			l.Settled()
			l.did(1, Use, "", Done)
		}, true},
		{"not used though it was created (K1)", func(l *Log) {
			l.did(0, Create, "a", Done)
			l.Settled()
			l.did(1, Use, "", Missing)
		}, false},
		{"used after it was destroyed (K5)", func(l *Log) {
			l.did(0, Create, "a", Done)
			l.did(0, Destroy, "", Done)
			l.did(0, Use, "", Done)
		}, false},
		{"nowhere while a member is away", func(l *Log) {
			l.did(0, Create, "a", Done)
			l.did(1, Label, "b", Nowhere)
			l.Settled()
			l.did(1, Find, "b", Done)
		}, true},
		{"nowhere though every member has it (G5)", func(l *Log) {
			l.did(0, Create, "a", Done)
			l.did(0, Use, "", Nowhere)
		}, false},
		{"used while it is destroyed", func(l *Log) {
			l.did(0, Create, "a", Done)
			l.Settled()
			o := l.Begin(1, "o", Destroy, "")
			l.did(0, Use, "", Done)
			l.did(0, Use, "", Missing)
			l.did(0, Use, "", Done)
			o.End(Done)
			l.Settled()
			l.did(0, Use, "", Missing)
		}, true},
		{"returned while the processes were looked at", func(l *Log) {
			l.did(0, Create, "a", Done)
			begun := l.Now()
			l.did(0, Destroy, "", Done)
			l.SettledSince(begun)
			l.did(1, Find, "a", Done)
			l.Settled()
			l.did(1, Find, "", Missing)
		}, true},
		{"two writers, one wins", func(l *Log) {
			l.did(0, Create, "a", Done)
			l.Settled()
			o := l.Begin(1, "o", Label, "b")
			l.did(0, Label, "c", Done)
			o.End(Done)
			l.Settled()
			l.did(0, Find, "c", Done)
			l.did(1, Find, "c", Done)
		}, true},
		{"two writers, and it changes its mind (field-C16)", func(l *Log) {
			l.did(0, Create, "a", Done)
			l.Settled()
			o := l.Begin(1, "o", Label, "b")
			l.did(0, Label, "c", Done)
			o.End(Done)
			l.Settled()
			l.did(0, Find, "c", Done)
			l.did(0, Find, "b", Done)
		}, false},
		{"a change that failed comes later, or not at all", func(l *Log) {
			l.did(0, Create, "a", Done)
			l.did(0, Label, "b", Failed)
			l.Settled()
			l.did(1, Find, "a", Done)
			l.did(1, Find, "b", Done)
		}, true},
	} {
		var l Log
		c.do(&l)
		if err := l.Check(); (err == nil) != c.good {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}
