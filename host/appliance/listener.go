// SPDX-License-Identifier: Apache-2.0

package appliance

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"oneslot.dev/oneslot/wire"
)

// A Listener accepts connections and starts a process for each.
type Listener struct {
	// Program is the command that serves one connection: it calls Serve with
	// descriptors 3 and 4.
	Program []string

	// Env is the environment of the processes.
	Env []string

	// Load reads the configuration, at the start and at each Reload.
	Load func() (*Config, error)

	Log *slog.Logger

	config  atomic.Pointer[Config]
	counts  counters
	denied  denials // turned away for their number
	refused denials // not let in
	written ledger  // of clients that were

	mu       sync.Mutex // guards what follows
	running  map[*connection]bool
	draining bool
	served   sync.WaitGroup
}

const (
	// acceptPause is the pause after accepting failed, for want of
	// descriptors say.
	acceptPause = 100 * time.Millisecond

	// expiryCheck is how often certificates are looked at that end soon.
	expiryCheck = 12 * time.Hour

	// denialsEvery is how often is reported what was counted: connections that
	// were turned away for their number, and entries beyond a client's.
	denialsEvery = 10 * time.Second

	// drainGrace is what a process gets beyond its own patience, within which it lets
	// calls finish.
	drainGrace = wire.LastCalls + 10*time.Second
)

// Serve accepts until ctx ends, then drains (rule N4): nobody new is let in,
// clients take their work elsewhere, and Serve returns when the last has gone.
func (l *Listener) Serve(ctx context.Context, ln net.Listener) error {
	config, err := l.Load()
	if err != nil {
		return err
	}
	l.config.Store(config)
	l.mu.Lock()
	l.running = map[*connection]bool{}
	l.mu.Unlock()
	stop := context.AfterFunc(ctx, func() { ln.Close() })
	defer stop()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go l.look(ctx)
	l.Log.Info("listening", "address", ln.Addr().String())
	for {
		conn, err := ln.Accept()
		switch {
		case err == nil:
			l.accept(conn.(*net.TCPConn))
		case ctx.Err() != nil, errors.Is(err, net.ErrClosed):
			l.drain()
			return nil
		default:
			l.Log.Error("accept-failed", "reason", err)
			pause(ctx, acceptPause)
		}
	}
}

func pause(ctx context.Context, time_ time.Duration) {
	timer := time.NewTimer(time_)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// accept starts a process for a connection, unless there are too many.
func (l *Listener) accept(socket *net.TCPConn) {
	config := l.config.Load()
	from := socket.RemoteAddr()
	place, err := l.counts.enter(&config.Limits, from)
	if err != nil {
		socket.Close()
		l.denied.note(l.Log, from, err)
		return
	}
	c := &connection{listener: l, from: from.String(), place: place}
	l.mu.Lock()
	l.running[c] = true
	draining := l.draining
	l.mu.Unlock()
	l.served.Go(func() {
		defer func() {
			place.leave()
			l.mu.Lock()
			delete(l.running, c)
			l.mu.Unlock()
		}()
		c.serve(socket, config, draining)
	})
}

// Reload reads the configuration again. What is wrong with it leaves the old one
// in force. Connections go on; what a client may no longer do ends at once.
func (l *Listener) Reload() error {
	config, err := l.Load()
	if err != nil {
		l.Log.Error("configuration-not-reloaded", "reason", err)
		return err
	}
	l.config.Store(config)
	l.tell(order{Config: config})
	l.warn()
	l.Log.Info("configuration-reloaded")
	return nil
}

// tell sends an order to every process.
func (l *Listener) tell(o order) {
	l.mu.Lock()
	var all []*connection
	for c := range l.running {
		all = append(all, c)
	}
	l.mu.Unlock()
	for _, c := range all {
		go c.tell(o)
	}
}

// drain waits until every connection has ended.
func (l *Listener) drain() {
	l.Log.Info("draining", "connections", l.Connections())
	l.mu.Lock()
	l.draining = true
	l.mu.Unlock()
	l.tell(order{Draining: true})
	done := make(chan struct{})
	go func() {
		l.served.Wait()
		close(done)
	}()
	limit := time.NewTimer(time.Duration(l.config.Load().Limits.Drain) + drainGrace)
	defer limit.Stop()
	select {
	case <-done:
	case <-limit.C:
		l.Log.Error("not-drained", "reason", "connections do not end (limits: drain): they are ended now")
		l.Kill()
		<-done
	}
	l.report()
	l.Log.Info("drained")
}

// Connections is how many there are.
func (l *Listener) Connections() int {
	all, _ := l.counts.now()
	return all
}

// Kill ends every process at once, with all that is under way.
func (l *Listener) Kill() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for c := range l.running {
		c.kill()
	}
}

// look warns ahead of what ends, and reports who was turned away.
func (l *Listener) look(ctx context.Context) {
	l.warn()
	daily, often := time.NewTicker(expiryCheck), time.NewTicker(denialsEvery)
	defer daily.Stop()
	defer often.Stop()
	for {
		select {
		case <-daily.C:
			l.warn()
		case <-often.C:
			l.report()
		case <-ctx.Done():
			return
		}
	}
}

// report writes together what was not written one by one.
func (l *Listener) report() {
	l.denied.report(l.Log, "connections-turned-away", 1)
	l.refused.report(l.Log, "connections-refused", mostRefused)
	l.written.report(l.Log, l.config.Load().Limits.Entries)
}

// mostRefused is how many connections of one address that are not let in are told one by
// one between two reports. Nobody has to be registered to make them, and each is a line.
const mostRefused = 20

// denials counts connections that were turned away: the first of an address are told at
// once, the others together.
type denials struct {
	mu    sync.Mutex // guards count
	count map[string]int
}

// maxDenied bounds the addresses that are told apart.
const maxDenied = 100

func (d *denials) note(log *slog.Logger, from net.Addr, why error) {
	if address, count := d.add(from.String()); count == 1 {
		log.Warn("connection-turned-away", "from", address, "reason", why)
	}
}

// tells counts what is to be told of a connection that is not let in, and says whether it is.
func (l *Listener) tells(from string) bool {
	_, count := l.refused.add(from)
	return count <= mostRefused
}

// add counts a connection, and says how many there are of its address now.
func (d *denials) add(from string) (address string, count int) {
	address, _, err := net.SplitHostPort(from)
	if err != nil {
		address = from
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.count == nil {
		d.count = map[string]int{}
	}
	if d.count[address] == 0 && len(d.count) >= maxDenied {
		address = "others"
	}
	d.count[address]++
	return address, d.count[address]
}

// report tells together what was not told one by one.
func (d *denials) report(log *slog.Logger, message string, told int) {
	d.mu.Lock()
	count := d.count
	d.count = nil
	d.mu.Unlock()
	for address, n := range count {
		if n > told {
			log.Warn(message, "from", address, "count", n)
		}
	}
}
