// SPDX-License-Identifier: Apache-2.0

package config

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
)

// A configuration of a thousand members is far smaller. The limit keeps a wrong
// path (a disk, a log) from being read to its end.
const maxFile = 1 << 20

// Load reads the configuration file at path. It looks at nothing else, neither
// environment nor modules. What is wrong with the contents comes as Problems.
func Load(path string) (*Config, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("configuration: not read: %w", err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, fmt.Errorf("configuration: not read: %w", err)
	}
	return Parse(path, text)
}

// Parse reads the text of a configuration. file stands in its errors, and
// relative paths start at its folder.
func Parse(file string, text []byte) (*Config, error) {
	if len(text) > maxFile {
		return nil, Problems{{file, 1, "", "is larger than 1 MiB", "is this the right file?"}}
	}
	text = bytes.TrimPrefix(text, []byte("\xef\xbb\xbf")) // editors on Windows write it
	tree, problem := parseTree(text)
	if problem != nil {
		problem.File = file
		return nil, Problems{*problem}
	}
	d := &decoder{file: file, lines: map[string]int{}}
	c := &Config{}
	d.fields(tree, reflect.ValueOf(c).Elem(), "", "")
	for i := range c.Groups {
		if c.Groups[i].Label == "" {
			c.Groups[i].Label = c.Groups[i].Name
		}
	}
	d.check(c)
	if len(d.problems) > 0 {
		d.problems.sort()
		return nil, d.problems
	}
	return c, c.anchor(filepath.Dir(file))
}

// anchor makes relative paths absolute. A bare name of member_program stays: it
// is looked for in $PATH.
func (c *Config) anchor(folder string) error {
	folder, err := filepath.Abs(folder)
	if err != nil {
		return fmt.Errorf("configuration: folder not known: %w", err)
	}
	paths := []*string{&c.RuntimeDir, &c.Log.File, &c.MemberProgram}
	for i := range c.Members {
		m := &c.Members[i]
		paths = append(paths, &m.Certificate, &m.Key, &m.ServerCA)
	}
	for _, path := range paths {
		bare := path == &c.MemberProgram && !strings.Contains(*path, "/")
		if *path != "" && !filepath.IsAbs(*path) && !bare {
			*path = filepath.Join(folder, *path)
		}
	}
	return nil
}
