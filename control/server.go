// SPDX-License-Identifier: Apache-2.0

package control

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log"
	"net"
	"net/http"
	"os"
	"time"
)

// A tool asks at once and reads at once. Whoever does not is not waited for.
const slowTool = 5 * time.Second

// An Order is something that a tool may have an engine do. Run must be quick.
type Order struct {
	Name string
	Run  func()
}

// Serve answers tools on this process's socket in dir until ctx ends or stop is
// called. source must be quick: it runs for every question.
func Serve(ctx context.Context, dir string, source func() Status, orders ...Order) (stop func(), err error) {
	if err := Prepare(dir); err != nil {
		return nil, err
	}
	path := socketPath(dir, os.Getpid())
	// What is there was left by a dead process that had our process ID.
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("control socket: %w", err)
	}
	listener, err := listen(path)
	if err != nil {
		return nil, fmt.Errorf("control socket: %w", err)
	}
	routes := http.NewServeMux()
	routes.HandleFunc("GET /status", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(source()) // a tool that went away needs no answer
	})
	for _, order := range orders {
		routes.HandleFunc("POST /"+order.Name, func(w http.ResponseWriter, _ *http.Request) {
			order.Run()
			w.WriteHeader(http.StatusNoContent)
		})
	}
	server := &http.Server{
		Handler:      routes,
		ReadTimeout:  slowTool,
		WriteTimeout: slowTool,
		IdleTimeout:  slowTool,
		ErrorLog:     log.New(io.Discard, "", 0), // a tool's fault is no news of the engine
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = server.Serve(guarded{listener})
	}()
	// Close closes the listener, which removes the socket.
	release := context.AfterFunc(ctx, func() { _ = server.Close() })
	return func() {
		release()
		_ = server.Close()
		<-ended
	}, nil
}

// listen makes the socket. Until its mode is set the folder's keeps others out.
func listen(path string) (net.Listener, error) {
	listener, err := net.Listen("unix", path)
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	return listener, nil
}

// guarded drops connections of other users before a byte of theirs is read.
type guarded struct{ net.Listener }

func (g guarded) Accept() (net.Conn, error) {
	for {
		c, err := g.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if peerTrusted(c) == nil {
			return c, nil
		}
		_ = c.Close()
	}
}
