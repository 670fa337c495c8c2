// SPDX-License-Identifier: Apache-2.0

package config

import (
	"errors"
	"io/fs"
	"strings"
	"testing"
)

// place pretends to have the files named.
func place(uid int, env map[string]string, files ...string) Surroundings {
	return Surroundings{
		Getenv: func(name string) string { return env[name] },
		UID:    uid,
		Stat: func(path string) (fs.FileInfo, error) {
			for _, f := range files {
				if f == path {
					return nil, nil
				}
			}
			return nil, &fs.PathError{Op: "stat", Path: path, Err: fs.ErrNotExist}
		},
	}
}

func TestFindTakesTheFirstThatIsThere(t *testing.T) {
	const system, user, xdg = "/etc/oneslot/oneslot.toml", "/home/u/.config/oneslot/oneslot.toml", "/x/oneslot/oneslot.toml"
	for _, c := range []struct {
		name  string
		env   map[string]string
		files []string
		want  string
	}{
		{"named", map[string]string{"ONESLOT_CONF": "/c.toml", "HOME": "/home/u"}, []string{"/c.toml", user, system}, "/c.toml"},
		{"XDG", map[string]string{"XDG_CONFIG_HOME": "/x", "HOME": "/home/u"}, []string{xdg, user, system}, xdg},
		{"relative XDG is ignored", map[string]string{"XDG_CONFIG_HOME": "x", "HOME": "/home/u"}, []string{"x/oneslot/oneslot.toml", user}, user},
		{"home", map[string]string{"HOME": "/home/u"}, []string{user, system}, user},
		{"system", map[string]string{"HOME": "/home/u"}, []string{system}, system},
		{"no home", nil, []string{system}, system},
	} {
		if got, err := place(1, c.env, c.files...).Find(); got != c.want || err != nil {
			t.Errorf("%s: got %q, %v, want %q", c.name, got, err, c.want)
		}
	}
}

func TestFindSaysWhereItLooked(t *testing.T) {
	for _, c := range []struct {
		env  map[string]string
		want string
	}{
		{map[string]string{"HOME": "/home/u"}, "/home/u/.config/oneslot/oneslot.toml (not there), /etc/oneslot/oneslot.toml (not there)"},
		{map[string]string{"ONESLOT_CONF": "/gone.toml"}, "/gone.toml (from ONESLOT_CONF; not there)"},
	} {
		_, err := place(1, c.env).Find()
		var missing *NotFound
		if !errors.As(err, &missing) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("err = %v", err)
		}
	}
}

func TestAFileThatWasNamedIsNotReplacedByAnother(t *testing.T) {
	env := map[string]string{"ONESLOT_CONF": "/gone.toml"}
	if got, err := place(1, env, "/etc/oneslot/oneslot.toml").Find(); err == nil {
		t.Errorf("got %q", got)
	}
}

func TestFolders(t *testing.T) {
	for _, c := range []struct {
		uid          int
		env          map[string]string
		runtime, log string
	}{
		{0, nil, "/run/oneslot", "/var/log/oneslot.log"},
		{0, map[string]string{"XDG_RUNTIME_DIR": "/run/user/0"}, "/run/user/0/oneslot", "/var/log/oneslot.log"},
		{7, map[string]string{"HOME": "/home/u"}, "/tmp/oneslot-7", "/home/u/.local/state/oneslot/oneslot.log"},
		{7, map[string]string{"XDG_RUNTIME_DIR": "/run/user/7", "XDG_STATE_HOME": "/s"}, "/run/user/7/oneslot", "/s/oneslot/oneslot.log"},
		{7, map[string]string{"XDG_RUNTIME_DIR": "rel"}, "/tmp/oneslot-7", ""},
	} {
		h := place(c.uid, c.env)
		if got := h.RuntimeFolder(); got != c.runtime {
			t.Errorf("%+v: RuntimeFolder() = %q", c.env, got)
		}
		if got := h.LogFile(); got != c.log {
			t.Errorf("%+v: LogFile() = %q", c.env, got)
		}
	}
}
