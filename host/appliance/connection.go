// SPDX-License-Identifier: Apache-2.0

package appliance

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"oneslot.dev/oneslot/wire"
)

// A connection is what the listener knows of one: the process that serves it.
// It reads nothing that the client sent.
type connection struct {
	listener *Listener
	from     string // the client's address
	place    *ticket
	admitted chan struct{}
	client   string // what the process said; for the log alone

	mu      sync.Mutex // guards what follows
	window  *window
	command *exec.Cmd
	told    order // before there was a process
}

// admitGrace is what a process gets beyond the time for the handshake before it
// is ended from outside.
const admitGrace = 5 * time.Second

// serve runs the process of a connection to its end.
func (c *connection) serve(socket *net.TCPConn, config *Config, draining bool) {
	log := c.listener.Log.With("from", c.from)
	said, err := c.start(socket, order{Config: config, Draining: draining})
	socket.Close() // it is the process's now
	if err != nil {
		c.write(log, &entry{slog.LevelError, "connection-not-served", [][2]string{{"reason", err.Error()}}})
		return
	}
	log = log.With("process", c.command.Process.Pid)
	c.admitted = make(chan struct{})
	late := time.AfterFunc(time.Duration(config.Limits.Handshake)+admitGrace, func() {
		select {
		case <-c.admitted:
		default:
			c.kill()
		}
	})
	defer late.Stop()
	reading := c.window.reports(func(r report) { c.hear(log, r) })
	if reading != nil {
		c.kill()
	}
	err = c.command.Wait()
	c.window.conn.Close()
	if text := said.first(); err != nil || reading != nil {
		c.write(log, &entry{slog.LevelError, "connection-ended-abnormally", [][2]string{{"client", c.client}, {"reason", ended(err, reading)}, {"said", text}}})
	} else if text != "" {
		c.write(log, &entry{slog.LevelInfo, "module-printed", [][2]string{{"client", c.client}, {"said", text}}})
	}
}

// start starts the process.
func (c *connection) start(socket *net.TCPConn, first order) (*saying, error) {
	if err := wire.KeepAlive(socket); err != nil {
		return nil, err
	}
	file, err := socket.File()
	if err != nil {
		return nil, err
	}
	defer file.Close()
	ours, theirs, err := wire.SocketPair(syscall.SOCK_STREAM)
	if err != nil {
		return nil, err
	}
	defer theirs.Close()
	said := &saying{}
	command := exec.Command(c.listener.Program[0], c.listener.Program[1:]...)
	command.Env = c.listener.Env
	command.ExtraFiles = []*os.File{file, theirs}
	command.Stdout, command.Stderr = said, said
	command.Dir = "/"
	// What a terminal sends is for the listener, which drains.
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	command.WaitDelay = time.Second // a vendor's own child may hold the pipes
	if err := startConfined(command); err != nil {
		ours.Close()
		return nil, err
	}
	c.mu.Lock()
	c.window, c.command = &window{conn: ours}, command
	first.Draining = first.Draining || c.told.Draining
	c.mu.Unlock()
	c.window.send(first) // if it is gone already, Wait says so
	return said, nil
}

// hear takes what the process reports.
func (c *connection) hear(log *slog.Logger, r report) {
	switch {
	case r.Admit != "":
		err := c.place.admit(&c.listener.config.Load().Limits, r.Admit)
		var refusal *wire.Refusal
		if !errors.As(err, &refusal) {
			c.client = r.Admit
			close(c.admitted)
		}
		c.window.send(order{Verdict: true, Refusal: refusal})
	case r.Entry != nil:
		c.write(log, r.Entry)
	}
}

// write writes an entry, if its client, or the address of who is not let in, has not had
// too many written.
func (c *connection) write(log *slog.Logger, e *entry) {
	l := c.listener
	if c.client == "" && !l.tells(c.from) || c.client != "" && !l.written.take(c.client, e, l.config.Load().Limits.Entries) {
		return
	}
	values := make([]any, 0, 2*len(e.Values))
	for _, v := range e.Values {
		values = append(values, v[0], v[1])
	}
	log.Log(context.Background(), e.Level, e.Message, values...)
}

// tell sends an order, or keeps it for a process that is not there yet.
func (c *connection) tell(o order) {
	c.mu.Lock()
	w := c.window
	if w == nil {
		c.told.Draining = c.told.Draining || o.Draining
	}
	c.mu.Unlock()
	if w != nil {
		w.send(o)
	}
}

func (c *connection) kill() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.command != nil {
		c.command.Process.Kill()
	}
}

// ended says why a process ended otherwise than it should.
func ended(err, reading error) string {
	switch {
	case reading != nil:
		return "its process sent what is no report, and was ended: " + reading.Error()
	case errors.Is(err, exec.ErrWaitDelay):
		return "a child of the vendor's module still runs"
	}
	return fmt.Sprintf("its process (with the vendor's module in it) ended: %v", err)
}

// saying is what a process prints: vendor modules do. The beginning is kept for
// the log; the rest is thrown away, so that nobody waits.
type saying struct {
	mu   sync.Mutex // guards text
	text bytes.Buffer
}

const maxSaying = 512

func (s *saying) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if room := maxSaying - s.text.Len(); room > 0 {
		s.text.Write(b[:min(room, len(b))])
	}
	return len(b), nil
}

func (s *saying) first() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.TrimSpace(strings.ToValidUTF8(s.text.String(), "?"))
}
