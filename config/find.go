// SPDX-License-Identifier: Apache-2.0

package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Host is what the folders of oneslot depend on beside the configuration.
// Programs use ThisHost; tests make their own.
type Host struct {
	Getenv func(string) string
	UID    int
	Stat   func(string) (fs.FileInfo, error)
}

// ThisHost is the process's own environment and user.
func ThisHost() Host { return Host{os.Getenv, os.Getuid(), os.Stat} }

// NotFound says that there is no configuration, and where it was looked for.
type NotFound struct {
	Looked []string // path and reason
}

func (e *NotFound) Error() string {
	return "configuration: none found: looked for " + strings.Join(e.Looked, ", ") +
		`: write one there, name one in ONESLOT_CONF, or try "oneslot sandbox DIR"`
}

// Find returns the absolute path of the configuration: $ONESLOT_CONF, else the
// user's, else the system's. A file that is named in ONESLOT_CONF and is not
// there is an error, not a reason to take another.
func (h Host) Find() (string, error) {
	if path := h.Getenv("ONESLOT_CONF"); path != "" {
		path, err := filepath.Abs(path)
		if err != nil {
			return "", fmt.Errorf("configuration: $ONESLOT_CONF: %w", err)
		}
		if _, err := h.Stat(path); err != nil {
			return "", &NotFound{[]string{fmt.Sprintf("%s (from ONESLOT_CONF; %s)", path, reason(err))}}
		}
		return path, nil
	}
	var looked []string
	for _, folder := range []string{h.xdg("XDG_CONFIG_HOME", ".config"), "/etc"} {
		if folder == "" {
			continue
		}
		path := filepath.Join(folder, "oneslot", "oneslot.toml")
		_, err := h.Stat(path)
		if err == nil {
			return path, nil
		}
		looked = append(looked, fmt.Sprintf("%s (%s)", path, reason(err)))
	}
	return "", &NotFound{looked}
}

// RuntimeFolder is where the sockets are when runtime_dir says nothing. The
// last resort lies in a folder everybody may write to: whoever uses it has to
// check that it is his own (see control.Prepare).
func (h Host) RuntimeFolder() string {
	if folder := h.Getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(folder) {
		return filepath.Join(folder, "oneslot")
	}
	if h.UID == 0 {
		return "/run/oneslot"
	}
	return fmt.Sprintf("/tmp/oneslot-%d", h.UID)
}

// LogFile is where a private engine writes when log.file says nothing. Empty:
// nowhere, the user has no folder for it.
func (h Host) LogFile() string {
	if h.UID == 0 {
		return "/var/log/oneslot.log"
	}
	folder := h.xdg("XDG_STATE_HOME", ".local/state")
	if folder == "" {
		return ""
	}
	return filepath.Join(folder, "oneslot", "oneslot.log")
}

// xdg follows the XDG Base Directory Specification: "All paths must be
// absolute. If an implementation encounters a relative path … it should
// consider the path invalid and ignore it."
func (h Host) xdg(variable, below string) string {
	if folder := h.Getenv(variable); filepath.IsAbs(folder) {
		return folder
	}
	if home := h.Getenv("HOME"); filepath.IsAbs(home) {
		return filepath.Join(home, below)
	}
	return ""
}

func reason(err error) string {
	if errors.Is(err, fs.ErrNotExist) {
		return "not there"
	}
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err.Error()
	}
	return err.Error()
}

// Find is Host.Find for this process.
func Find() (string, error) { return ThisHost().Find() }

// Runtime is the folder of the sockets for this process.
func (c *Config) Runtime() string {
	if c != nil && c.RuntimeDir != "" {
		return c.RuntimeDir
	}
	return ThisHost().RuntimeFolder()
}
