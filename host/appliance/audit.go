// SPDX-License-Identifier: Apache-2.0

package appliance

import (
	"encoding/hex"
	"log/slog"
	"sync"
	"time"

	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/wire"
)

// audit is the record of what a client did: which function, with which key, with
// which result. What happens the first time in an interval is written at once,
// what is equal to it is counted and written when the interval ends. It holds no
// data, PINs or handles.
type audit struct {
	log *slog.Logger

	mu     sync.Mutex // guards what follows
	counts map[event]int
	total  uint64
}

// An event is what is counted together.
type event struct {
	function string
	key      string // the beginning of the fingerprint
	result   pkcs11.RV
}

// maxEvents bounds one interval: a client chooses how many keys it makes.
const maxEvents = 200

func newAudit(log *slog.Logger) *audit { return &audit{log: log, counts: map[event]int{}} }

// note records an event.
func (a *audit) note(e event) {
	a.mu.Lock()
	a.total++
	before, known := a.counts[e]
	if !known && len(a.counts) >= maxEvents {
		e = event{function: "others", result: e.result}
		before, known = a.counts[e]
	}
	if known {
		a.counts[e] = before + 1
	} else {
		a.counts[e] = 0 // the first is written now
	}
	a.mu.Unlock()
	if !known {
		a.write(e, 1)
	}
}

func (a *audit) write(e event, count int) {
	values := []any{"function", e.function, "result", e.result.String(), "count", count}
	if e.key != "" {
		values = append(values, "key", e.key)
	}
	a.log.Info("audit", values...)
}

// flush writes what was counted.
func (a *audit) flush() {
	a.mu.Lock()
	counts := a.counts
	a.counts = map[event]int{}
	a.mu.Unlock()
	for e, n := range counts {
		if n > 0 {
			a.write(e, n)
		}
	}
}

// run flushes at each end of an interval.
func (a *audit) run(interval time.Duration, end <-chan struct{}) {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			a.flush()
		case <-end:
			return
		}
	}
}

func (a *audit) calls() uint64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.total
}

// keyName is how a key is called in the audit: enough of the fingerprint to find
// it, and the same on every member.
func keyName(i *wire.Identity) string {
	if len(i.Fingerprint) < 8 {
		return "unidentified"
	}
	return hex.EncodeToString(i.Fingerprint[:8])
}
