// SPDX-License-Identifier: Apache-2.0

package control

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net"
	"net/http"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"
)

// An engine answers from memory. One that needs longer than this is stopped or
// stuck, and that is what the operator wants to know.
const patience = 2 * time.Second

// A status of 32 members in a hundred groups is far below.
const maxStatus = 16 << 20

// Engines asks all engines with a socket in dir, all at the same time, and
// returns them by process ID. One that does not answer is in the result with
// the reason. No folder means no engine. Sockets of dead processes are removed.
func Engines(ctx context.Context, dir string) ([]Status, error) {
	if _, err := os.Lstat(dir); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err := trusted(dir); err != nil {
		return nil, err
	}
	found, err := sockets(dir)
	if err != nil {
		return nil, err
	}
	var pids []int
	for _, pid := range slices.Sorted(maps.Keys(found)) {
		if !alive(pid) {
			_ = os.Remove(found[pid]) // another tool may have been quicker
			continue
		}
		pids = append(pids, pid)
	}
	answers := make([]*Status, len(pids))
	var asked sync.WaitGroup
	for i, pid := range pids {
		asked.Go(func() {
			s, err := ask(ctx, found[pid])
			switch {
			case errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, fs.ErrNotExist):
				// Nobody listens: the engine is just starting or ending, or
				// its process ID is another program's now. Not removed: a
				// socket that just starts must stay.
				return
			case err != nil:
				s = Status{Engine: Engine{PID: pid}, Unreachable: err.Error()}
			}
			answers[i] = &s
		})
	}
	asked.Wait()
	var statuses []Status
	for _, s := range answers {
		if s != nil {
			statuses = append(statuses, *s)
		}
	}
	return statuses, nil
}

// ask gets the status of one engine.
func ask(ctx context.Context, path string) (Status, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	client := client(path)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://engine/status", nil)
	if err != nil {
		return Status{}, err
	}
	answer, err := client.Do(request)
	if err != nil {
		return Status{}, why(err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return Status{}, fmt.Errorf("answered %s: is it another version?", answer.Status)
	}
	var s Status
	if err := json.NewDecoder(io.LimitReader(answer.Body, maxStatus)).Decode(&s); err != nil {
		return Status{}, why(err)
	}
	return s, nil
}

// why puts the usual reason into words; http's own name an address that does
// not exist.
func why(err error) error {
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("no answer within %s: the engine is stopped or stuck", patience)
	}
	return err
}

// client speaks with the engine behind one socket, once.
func client(path string) *http.Client {
	return &http.Client{Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			c, err := new(net.Dialer).DialContext(ctx, "unix", path)
			if err != nil {
				return nil, err
			}
			if err := peerTrusted(c); err != nil {
				return nil, errors.Join(err, c.Close())
			}
			return c, nil
		},
	}}
}

// Tell gives an order to every engine with a socket in dir. It returns the
// process IDs of those that took it, and why others did not.
func Tell(ctx context.Context, dir, order string) (told []int, err error) {
	statuses, err := Engines(ctx, dir)
	if err != nil {
		return nil, err
	}
	for _, s := range statuses {
		if failed := tell(ctx, socketPath(dir, s.Engine.PID), order); failed != nil {
			err = errors.Join(err, fmt.Errorf("engine %d: %w", s.Engine.PID, failed))
			continue
		}
		told = append(told, s.Engine.PID)
	}
	return told, err
}

func tell(ctx context.Context, path, order string) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://engine/"+order, nil)
	if err != nil {
		return err
	}
	answer, err := client(path).Do(request)
	if err != nil {
		return why(err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusNoContent {
		return fmt.Errorf("answered %s: is it another version?", answer.Status)
	}
	return nil
}
