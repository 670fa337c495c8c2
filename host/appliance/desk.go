// SPDX-License-Identifier: Apache-2.0

package appliance

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"sync"
	"syscall"
	"time"

	"oneslot.dev/oneslot/wire"
)

// An order is what the listener tells the process of a connection, one JSON
// object on a line. The first has the configuration.
type order struct {
	Config   *Config       `json:"config,omitempty"`  // also when it was changed
	Verdict  bool          `json:"verdict,omitempty"` // answers Admit: Refusal is nil, or why not
	Refusal  *wire.Refusal `json:"refusal,omitempty"`
	Draining bool          `json:"draining,omitempty"` // finish and end
}

// A report is what the process tells the listener.
type report struct {
	Admit string `json:"admit,omitempty"` // the client that wants to be let in
	Entry *entry `json:"entry,omitempty"` // for the log
}

// An entry of the log. Its values are text, so that what a process sends cannot
// be more than text.
type entry struct {
	Level   slog.Level  `json:"level"`
	Message string      `json:"message"`
	Values  [][2]string `json:"values,omitempty"`
}

// maxReport bounds one report: the listener trusts no process that has a vendor
// module in it.
const maxReport = 16 << 10

// A desk is a process's end of the socket pair.
type desk struct {
	conn *net.UnixConn
	in   *bufio.Reader

	mu sync.Mutex // guards writing
}

func newDesk(conn *net.UnixConn) *desk {
	return &desk{conn: conn, in: bufio.NewReader(conn)}
}

// next waits for the next order.
func (d *desk) next() (*order, error) {
	line, err := d.in.ReadBytes('\n')
	if err != nil {
		return nil, err
	}
	o := &order{}
	return o, json.Unmarshal(line, o)
}

func (d *desk) send(r report) error {
	line, err := json.Marshal(r)
	if err != nil {
		return err
	}
	if len(line) >= maxReport {
		return errors.New("the report is too long")
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	_, err = d.conn.Write(append(line, '\n'))
	return err
}

// admit asks to be let in. It is a *wire.Refusal if the listener says no.
func (d *desk) admit(client string) error {
	if err := d.send(report{Admit: client}); err != nil {
		return err
	}
	for {
		o, err := d.next()
		switch {
		case err != nil:
			return err
		case o.Draining:
			return &wire.Refusal{Code: wire.RefusedDraining, Text: "the appliance is going down for maintenance"}
		case o.Verdict && o.Refusal != nil:
			return o.Refusal
		case o.Verdict:
			return nil
		}
	}
}

// logger is a log whose entries the listener writes.
func (d *desk) logger() *slog.Logger { return slog.New(deskHandler{desk: d}) }

// deskHandler hands entries to the listener.
type deskHandler struct {
	desk   *desk
	values [][2]string
}

func (deskHandler) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelInfo }

func (h deskHandler) Handle(_ context.Context, r slog.Record) error {
	e := &entry{Level: r.Level, Message: r.Message, Values: h.values}
	r.Attrs(func(a slog.Attr) bool {
		e.Values = append(e.Values[:len(e.Values):len(e.Values)], value(a))
		return true
	})
	return h.desk.send(report{Entry: e})
}

// maxValue keeps one value from filling a report.
const maxValue = 1024

func value(a slog.Attr) [2]string {
	text := fmt.Sprint(a.Value.Resolve().Any())
	return [2]string{a.Key, text[:min(len(text), maxValue)]}
}

func (h deskHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	values := h.values[:len(h.values):len(h.values)]
	for _, a := range attrs {
		values = append(values, value(a))
	}
	return deskHandler{h.desk, values}
}

func (h deskHandler) WithGroup(string) slog.Handler { return h }

// A window is the listener's end of the socket pair.
type window struct {
	conn *net.UnixConn

	mu sync.Mutex // guards writing
}

// orderPatience is how long a process may leave an order unread.
const orderPatience = 5 * time.Second

func (w *window) send(o order) error {
	line, err := json.Marshal(o)
	if err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.conn.SetWriteDeadline(time.Now().Add(orderPatience))
	_, err = w.conn.Write(append(line, '\n'))
	return err
}

// reports gives every report to handle, until the process ends.
func (w *window) reports(handle func(report)) error {
	in := bufio.NewReaderSize(w.conn, maxReport)
	for {
		line, err := in.ReadSlice('\n')
		if errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) {
			return nil // it ended, in peace or not; its exit says which
		}
		if err != nil {
			return err
		}
		var r report
		if err := json.Unmarshal(line, &r); err != nil {
			return err
		}
		handle(r)
	}
}
