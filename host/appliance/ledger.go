// SPDX-License-Identifier: Apache-2.0

package appliance

import (
	"log/slog"
	"strconv"
	"sync"
	"time"
)

// A ledger bounds the lines that clients can have written into log and audit, for all
// connections of each together: so many at once, so many a second in the long run. What is
// beyond is not lost but counted. The zero value has seen nobody.
type ledger struct {
	mu      sync.Mutex // guards what follows
	clients map[string]*account
}

// An account is what a client has had written.
type account struct {
	left   float64 // lines
	last   time.Time
	beyond map[kind]int
}

// A kind is what is counted together.
type kind struct{ message, token, function, result string }

const (
	// entryBurst is for how many seconds a client may write at once.
	entryBurst = 10

	// maxKinds bounds what is told apart of a client between two reports.
	maxKinds = 100
)

// take says whether an entry of a client is written. Else it is counted; one of the audit
// as so many as it stands for.
func (l *ledger) take(client string, e *entry, perSecond int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.clients == nil {
		l.clients = map[string]*account{}
	}
	now, most := time.Now(), float64(entryBurst*perSecond)
	a := l.clients[client]
	if a == nil {
		a = &account{left: most, last: now, beyond: map[kind]int{}}
		l.clients[client] = a
	}
	a.left = min(most, a.left+now.Sub(a.last).Seconds()*float64(perSecond))
	a.last = now
	if a.left >= 1 {
		a.left--
		return true
	}
	k, count := e.kind()
	if _, known := a.beyond[k]; !known && len(a.beyond) >= maxKinds {
		k = kind{message: "others"}
	}
	a.beyond[k] += count
	return false
}

// kind says as what an entry is counted, and for how many it stands.
func (e *entry) kind() (k kind, count int) {
	k, count = kind{message: e.Message}, 1
	if e.Message != "audit" {
		return k, count
	}
	for _, v := range e.Values {
		switch v[0] {
		case "token":
			k.token = v[1]
		case "function":
			k.function = v[1]
		case "result":
			k.result = v[1]
		case "count":
			if n, err := strconv.Atoi(v[1]); err == nil && n > 0 {
				count = n
			}
		}
	}
	return k, count
}

// report writes what was counted. Who has nothing to be counted and all of its lines left
// is forgotten: it is as if it had never come.
func (l *ledger) report(log *slog.Logger, perSecond int) {
	counted := map[string]map[kind]int{}
	l.mu.Lock()
	for client, a := range l.clients {
		switch {
		case len(a.beyond) > 0:
			counted[client], a.beyond = a.beyond, map[kind]int{}
		case a.left+time.Since(a.last).Seconds()*float64(perSecond) >= float64(entryBurst*perSecond):
			delete(l.clients, client)
		}
	}
	l.mu.Unlock()
	for client, kinds := range counted {
		for k, n := range kinds {
			values := []any{"client", client, "entry", k.message, "count", n}
			for _, v := range [][2]string{{"token", k.token}, {"function", k.function}, {"result", k.result}} {
				if v[1] != "" {
					values = append(values, v[0], v[1])
				}
			}
			log.Warn("entries-counted", values...)
		}
	}
}
