// SPDX-License-Identifier: Apache-2.0

package appliance

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"
)

// Nobody has to be registered to be refused, so that cannot fill a log: the first of an
// address are told, the others are counted, and so are all from very many addresses. What
// is told of who was let in is not counted among them.
func TestRefusalsDoNotFillTheLog(t *testing.T) {
	var out bytes.Buffer
	log := slog.New(slog.NewTextHandler(&out, nil))
	l := &Listener{}
	l.config.Store(&Config{Limits: defaultLimits})
	refused := func(from string) {
		c := &connection{listener: l, from: from}
		c.hear(log, report{Entry: &entry{Level: slog.LevelWarn, Message: "connection-refused", Values: [][2]string{{"from", from}}}})
	}
	for n := range 1000 {
		refused(fmt.Sprintf("192.0.2.1:%d", 1024+n))
	}
	refused("192.0.2.2:1024")
	if n := strings.Count(out.String(), "connection-refused"); n != mostRefused+1 {
		t.Errorf("%d lines, not %d of one address and one of another", n, mostRefused)
	}
	let := &connection{listener: l, from: "192.0.2.1:9", client: "web"}
	let.hear(log, report{Entry: &entry{Message: "client-connected"}})
	if !strings.Contains(out.String(), "client-connected") {
		t.Error("a client that was let in is not told of")
	}
	for n := range 10_000 {
		refused(fmt.Sprintf("198.51.%d.%d:1024", n/256, n%256))
	}
	if n := strings.Count(out.String(), "connection-refused"); n > mostRefused+1+maxDenied+mostRefused {
		t.Errorf("%d lines from very many addresses", n)
	}
	out.Reset()
	l.refused.report(log, "connections-refused", mostRefused)
	if !strings.Contains(out.String(), "msg=connections-refused from=192.0.2.1 count=1000") || strings.Contains(out.String(), "from=192.0.2.2 ") ||
		!strings.Contains(out.String(), "from=others count=") {
		t.Error(out.String())
	}
	refused("192.0.2.1:1024")
	if !strings.Contains(out.String(), "connection-refused") {
		t.Error("the next one is not told")
	}
}
