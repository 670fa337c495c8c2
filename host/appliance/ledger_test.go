// SPDX-License-Identifier: Apache-2.0

package appliance

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// A registered client that has as much written as it can, over many connections and for an
// hour, fills no log and displaces nobody: what is beyond its lines is counted, of every
// kind of entry, and no call is lost from the count.
func TestAClientCannotFillTheLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		log := slog.New(slog.NewTextHandler(&out, nil))
		l := &Listener{Log: log}
		c := &Config{Limits: defaultLimits}
		c.Limits.Entries = 2
		l.config.Store(c)
		hear := func(client, message string, values ...[2]string) {
			one := &connection{listener: l, from: "192.0.2.1:9", client: client}
			one.hear(log, report{Entry: &entry{Level: slog.LevelInfo, Message: message, Values: values}})
		}
		audit := func(client, key string) {
			hear(client, "audit", [2]string{"token", "ca"}, [2]string{"function", "C_Sign"}, [2]string{"result", "CKR_OK"}, [2]string{"count", "7"}, [2]string{"key", key})
		}
		const seconds, each = 3600, 5
		for n := range seconds {
			time.Sleep(time.Second)
			for i := range each {
				hear("web", "login-refused")
				hear("web", "client-connected")
				audit("web", fmt.Sprint(n, i))
			}
			if n%600 == 0 {
				audit("mail", "k")
			}
			if n%10 == 0 {
				l.report()
			}
		}
		l.report()
		lines := strings.Count(out.String(), "\n")
		if most := 2*(seconds+entryBurst) + 3*(seconds/10+1) + 6; lines > most {
			t.Errorf("%d lines, not %d", lines, most)
		}
		if n := strings.Count(out.String(), "key=k"); n != 6 {
			t.Errorf("of the other client %d entries are there, not 6", n)
		}
		total := map[string]int{}
		for line := range strings.Lines(out.String()) {
			var of string
			n := 1
			switch {
			case strings.Contains(line, "key=k"):
				continue
			case strings.Contains(line, "msg=entries-counted client=web entry=audit count="):
				if !strings.Contains(line, "token=ca function=C_Sign result=CKR_OK") {
					t.Fatal(line)
				}
				of = "audit"
			case strings.Contains(line, "msg=entries-counted client=web entry="):
				_, of, _ = strings.Cut(line, "entry=")
				of, _, _ = strings.Cut(of, " ")
			default:
				_, of, _ = strings.Cut(line, "msg=")
				of = strings.Fields(of)[0]
			}
			if _, count, ok := strings.Cut(line, "count="); ok {
				fmt.Sscan(count, &n)
			}
			total[of] += n
		}
		if total["audit"] != 7*each*seconds || total["login-refused"] != each*seconds || total["client-connected"] != each*seconds || len(total) != 3 {
			t.Error(total)
		}
		// What a client has had written is forgotten in time, but not before that is of no matter.
		if len(l.written.clients) != 1 {
			t.Errorf("%d clients are remembered", len(l.written.clients))
		}
		time.Sleep(entryBurst * time.Second)
		l.report()
		if len(l.written.clients) != 0 {
			t.Errorf("%d clients are remembered", len(l.written.clients))
		}
	})
}

// A client, or what has taken its process over, chooses no number of lines by inventing kinds.
func TestKindsAreLimited(t *testing.T) {
	var out bytes.Buffer
	l := &ledger{}
	for n := range 10_000 {
		l.take("web", &entry{Message: fmt.Sprint("m", n)}, 1)
	}
	l.report(slog.New(slog.NewTextHandler(&out, nil)), 1)
	if n := strings.Count(out.String(), "\n"); n != maxKinds+1 {
		t.Errorf("%d lines", n)
	}
	if want := fmt.Sprint("entry=others count=", 10_000-entryBurst-maxKinds); !strings.Contains(out.String(), want) {
		t.Errorf("no %s", want)
	}
}
