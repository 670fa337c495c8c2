// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"

	"oneslot.dev/oneslot/config"
)

// watchPause is how long a file must have been left alone before it is read:
// editors write in several steps.
const watchPause = 200 * time.Millisecond

// A watch follows the configuration file of an engine.
type watch struct {
	path  string
	apply func(*config.Config)
	log   *slog.Logger

	mu      sync.Mutex // guards what follows
	present *config.Config
	text    []byte // that was looked at last
	refused string // why it was refused, if it was
}

// follow watches the file until ctx ends. The folder is watched, since editors
// and tools put a new file in the place of the old one.
func (w *watch) follow(ctx context.Context) error {
	watcher, err := fsnotify.NewWatcher()
	if err != nil {
		return err
	}
	folders := []string{filepath.Dir(w.path)}
	if target, err := filepath.EvalSymlinks(w.path); err == nil && filepath.Dir(target) != folders[0] {
		folders = append(folders, filepath.Dir(target))
	}
	for _, folder := range folders {
		if err := watcher.Add(folder); err != nil {
			watcher.Close()
			return err
		}
	}
	w.look() // what was written since the engine read it
	go func() {
		defer watcher.Close()
		calm := time.NewTimer(time.Hour)
		calm.Stop()
		for {
			select {
			case _, ok := <-watcher.Events:
				if !ok {
					return
				}
				calm.Reset(watchPause)
			case <-watcher.Errors: // events were lost, perhaps
				calm.Reset(watchPause)
			case <-calm.C:
				w.look()
			case <-ctx.Done():
				return
			}
		}
	}()
	return nil
}

// look puts the file in force if it has changed and is right. A broken one is
// refused as a whole: the one before stays in force.
func (w *watch) look() {
	w.mu.Lock()
	defer w.mu.Unlock()
	text, err := os.ReadFile(w.path)
	if err != nil {
		w.refuse(err.Error())
		return
	}
	if w.refused == "" && w.text != nil && bytes.Equal(text, w.text) {
		return
	}
	w.text = text
	cfg, err := config.Parse(w.path, text)
	if err != nil {
		w.refuse(err.Error())
		return
	}
	if w.refused != "" {
		w.log.Info("the configuration is right again", "event", "configuration-right", "configuration", w.path)
		w.refused = ""
	}
	changes := config.Changes(w.present, cfg)
	w.present = cfg
	if len(changes) == 0 {
		return
	}
	w.log.Info("the configuration changed", "event", "configuration-changed", "configuration", w.path, "changes", strings.Join(changes, "; "))
	w.apply(cfg)
}

// refuse notes, once, why the file is not put in force. w.mu must be held.
func (w *watch) refuse(why string) {
	if w.refused != why {
		w.log.Error("the new configuration is refused, the one before stays in force", "event", "configuration-refused",
			"configuration", w.path, "reason", why)
	}
	w.refused = why
}

// problem is why the file is refused as it is now, empty if it is not.
func (w *watch) problem() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.refused
}
