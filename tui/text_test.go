// SPDX-License-Identifier: Apache-2.0

package tui

import (
	"flag"
	"os"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"oneslot.dev/oneslot/control"
)

var update = flag.Bool("update", false, "write the golden files anew")

func statuses() []control.Status {
	at := time.Date(2026, 11, 30, 9, 5, 0, 0, time.UTC)
	return []control.Status{
		{
			Engine:        control.Engine{PID: 4711, Version: "v0.1.0", Started: at},
			Configuration: "/etc/oneslot/oneslot.toml",
			Applications:  []control.Application{{PID: 812, Name: "nginx", Sessions: 12}, {PID: 900, Name: "named", Sessions: 1}},
			Groups: []control.Group{
				{
					Name: "ca", Label: "CA keys", Serial: "b646c41ab98ed0f8", Slot: 0x20b646c4, State: control.Degraded, Primary: "a",
					Members: []control.Member{
						{Name: "a", Role: control.Active, Primary: true, State: "ready", Since: at, Outstanding: 3, Calls: 120345, TokenLabel: "ca-a", TokenSerial: "11", Objects: 42},
						{Name: "b", Role: control.Active, State: "down", Since: at.Add(time.Hour), Calls: 99, Failures: 2, LastError: "answer lost: no sign of life for 20s; the connection was closed and is made again in the background", LastErrorAt: at.Add(time.Hour), TokenLabel: "ca-b", TokenSerial: "22", Objects: 41,
							Deadlines: []control.Deadline{
								{What: "certificate of this client", End: at.Add(24 * time.Hour), Warning: "the certificate web.crt expires on 2026-12-01, in 1 days: make the next one with oneslot cert new, and have it registered with --also"},
								{What: "certificate of the appliance", End: at.Add(1000 * time.Hour)},
							}},
						{Name: "cellar", Role: control.Standby, State: "ready", Since: at, TokenLabel: "ca\x1b[2J", TokenSerial: "33", Objects: 42},
					},
				},
				{Name: "dns", Label: "dns", Serial: "0011223344556677", Slot: 0x20001122, State: control.Down, Members: []control.Member{
					{Name: "d", Role: control.Active, State: "connecting"},
				}},
			},
		},
		{Engine: control.Engine{PID: 5000}, Unreachable: "no answer within 2s: the engine is stopped or stuck"},
		{Engine: control.Engine{PID: 5001, Version: "v0.1.0", Started: at, Private: true}, Configuration: "/home/u/oneslot.toml"},
	}
}

func TestText(t *testing.T) {
	for _, c := range []struct {
		file     string
		statuses []control.Status
		width    int
	}{
		{"wide.txt", statuses(), 0},
		{"narrow.txt", statuses(), 80},
		{"none.txt", nil, 80},
	} {
		t.Run(c.file, func(t *testing.T) {
			path, got := "testdata/"+c.file, Text(c.statuses, c.width)
			if *update {
				if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
			for line := range strings.Lines(got) {
				if n := utf8.RuneCountInString(line) - 1; c.width > 0 && n > c.width {
					t.Errorf("%d characters: %s", n, line)
				}
			}
		})
	}
}
