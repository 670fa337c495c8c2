// SPDX-License-Identifier: Apache-2.0

// Package tui turns the Status of engines into text. It asks nobody, and knows
// no clock: the same Status gives the same text.
package tui

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"oneslot.dev/oneslot/control"
)

// Text shows engines, one after the other, in lines of at most width characters
// (0: as long as they are). States are words, so that nothing depends on colour.
func Text(statuses []control.Status, width int) string {
	if len(statuses) == 0 {
		return "no engine is running\n"
	}
	var out strings.Builder
	for i, s := range statuses {
		if i > 0 {
			out.WriteByte('\n')
		}
		engine(&out, s, width)
	}
	return out.String()
}

func engine(out *strings.Builder, s control.Status, width int) {
	if s.Unreachable != "" {
		folded(out, width, fmt.Sprintf("engine %d  not answering:", s.Engine.PID), s.Unreachable)
		return
	}
	kind := "shared"
	if s.Engine.Private {
		kind = "private"
	}
	line(out, width, fmt.Sprintf("engine %d  %s, %s, since %s", s.Engine.PID, s.Engine.Version, kind, clock(s.Engine.Started)))
	line(out, width, "  configuration  "+s.Configuration)
	if s.ConfigurationError != "" {
		first, _, _ := strings.Cut(s.ConfigurationError, "\n")
		line(out, width, "  refused        "+first)
	}
	for i, a := range s.Applications {
		head := "  applications   "
		if i > 0 {
			head = strings.Repeat(" ", len(head))
		}
		line(out, width, fmt.Sprintf("%s%s (process %d, %s)", head, a.Name, a.PID, count(a.Sessions, "session")))
	}
	for _, g := range s.Groups {
		group(out, g, width)
	}
}

func group(out *strings.Builder, g control.Group, width int) {
	name := g.Name
	if g.Label != g.Name {
		name += fmt.Sprintf(" (label %q)", g.Label)
	}
	primary := g.Primary
	if primary == "" {
		primary = "none"
	}
	out.WriteByte('\n')
	line(out, width, fmt.Sprintf("  group %s  %s, primary %s", name, g.State, primary))
	line(out, width, fmt.Sprintf("    slot 0x%x, serial %s", g.Slot, g.Serial))
	rows := [][]string{{"MEMBER", "ROLE", "STATE", "SINCE", "OUT", "CALLS", "FAILED", "OBJECTS", "TOKEN"}}
	for _, m := range g.Members {
		rows = append(rows, row(m))
	}
	table(out, rows, width)
	for _, m := range g.Members { // lines of their own: in a column they would be cut off
		if m.LastError != "" {
			folded(out, width, fmt.Sprintf("    last error of %s, %s:", m.Name, clock(m.LastErrorAt)), m.LastError)
		}
		for _, d := range m.Deadlines {
			if d.Warning != "" {
				folded(out, width, fmt.Sprintf("    warning of %s:", m.Name), d.Warning)
			}
		}
	}
}

func row(m control.Member) []string {
	role := m.Role
	if m.Primary {
		role = "primary"
	}
	token := m.TokenLabel
	if m.TokenSerial != "" {
		token += " (" + m.TokenSerial + ")"
	}
	return []string{
		m.Name, role, m.State, clock(m.Since),
		fmt.Sprint(m.Outstanding), fmt.Sprint(m.Calls), fmt.Sprint(m.Failures), fmt.Sprint(m.Objects),
		token,
	}
}

// number tells the columns that stand to the right.
var number = map[int]bool{4: true, 5: true, 6: true, 7: true}

// table sets rows in columns. A column that is empty in all rows is left out.
func table(out *strings.Builder, rows [][]string, width int) {
	widths := make([]int, len(rows[0]))
	for i := range widths {
		used := slices.ContainsFunc(rows[1:], func(r []string) bool { return r[i] != "" })
		for _, r := range rows {
			if used {
				widths[i] = max(widths[i], utf8.RuneCountInString(plain(r[i])))
			}
		}
	}
	for _, r := range rows {
		text := "  "
		for i, cell := range r {
			if widths[i] == 0 {
				continue
			}
			cell = plain(cell)
			gap := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
			if number[i] {
				text += "  " + gap + cell
			} else {
				text += "  " + cell + gap
			}
		}
		line(out, width, text)
	}
}

// line writes one line, cut at width with a sign that something is missing.
func line(out *strings.Builder, width int, text string) {
	text = strings.TrimRight(plain(text), " ")
	if runes := []rune(text); width > 0 && len(runes) > width {
		text = string(runes[:width-1]) + "…"
	}
	out.WriteString(text + "\n")
}

// folded writes a text that must not be cut: what does not fit goes on in lines
// of its own, further in. Only a word wider than the terminal is cut.
func folded(out *strings.Builder, width int, head, text string) {
	const further = "      "
	current := head
	for _, word := range strings.Fields(plain(text)) {
		if width > 0 && utf8.RuneCountInString(current+" "+word) > width {
			line(out, width, current)
			current = further + word
			continue
		}
		current += " " + word
	}
	line(out, width, current)
}

// plain keeps texts of vendors from moving the cursor of a terminal.
func plain(text string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, text)
}

// clock is a time as logs write it, in UTC, so that hosts can be compared.
func clock(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.UTC().Format("2006-01-02 15:04:05Z")
}

func count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
