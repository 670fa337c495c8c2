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

// Surroundings are what the folders of oneslot depend on beside the
// configuration. Programs use Here; tests make their own.
type Surroundings struct {
	Getenv func(string) string
	UID    int
	Stat   func(string) (fs.FileInfo, error)
}

// Here is the process's own environment and user.
func Here() Surroundings { return Surroundings{os.Getenv, os.Getuid(), os.Stat} }

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
func (s Surroundings) Find() (string, error) {
	if path := s.Getenv("ONESLOT_CONF"); path != "" {
		path, err := filepath.Abs(path)
		if err != nil {
			return "", fmt.Errorf("configuration: $ONESLOT_CONF: %w", err)
		}
		if _, err := s.Stat(path); err != nil {
			return "", &NotFound{[]string{fmt.Sprintf("%s (from ONESLOT_CONF; %s)", path, reason(err))}}
		}
		return path, nil
	}
	var looked []string
	for _, folder := range []string{s.xdg("XDG_CONFIG_HOME", ".config"), "/etc"} {
		if folder == "" {
			continue
		}
		path := filepath.Join(folder, "oneslot", "oneslot.toml")
		_, err := s.Stat(path)
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
func (s Surroundings) RuntimeFolder() string {
	if folder := s.Getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(folder) {
		return filepath.Join(folder, "oneslot")
	}
	if s.UID == 0 {
		return "/run/oneslot"
	}
	return fmt.Sprintf("/tmp/oneslot-%d", s.UID)
}

// LogFile is where a private engine writes when log.file says nothing. Empty:
// nowhere, the user has no folder for it.
func (s Surroundings) LogFile() string {
	if s.UID == 0 {
		return "/var/log/oneslot.log"
	}
	folder := s.xdg("XDG_STATE_HOME", ".local/state")
	if folder == "" {
		return ""
	}
	return filepath.Join(folder, "oneslot", "oneslot.log")
}

// xdg follows the XDG Base Directory Specification: "All paths must be
// absolute. If an implementation encounters a relative path … it should
// consider the path invalid and ignore it."
func (s Surroundings) xdg(variable, below string) string {
	if folder := s.Getenv(variable); filepath.IsAbs(folder) {
		return folder
	}
	if home := s.Getenv("HOME"); filepath.IsAbs(home) {
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

// Find is Surroundings.Find for this process.
func Find() (string, error) { return Here().Find() }

// Runtime is the folder of the sockets for this process.
func (c *Config) Runtime() string {
	if c != nil && c.RuntimeDir != "" {
		return c.RuntimeDir
	}
	return Here().RuntimeFolder()
}
