// SPDX-License-Identifier: Apache-2.0

package config

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
)

// Salvage reads from a configuration that is refused where engines and tools
// meet and where the log is: runtime_dir, log.file and log.level. So whoever
// looks for the reason finds it where it always is. Nothing else of such a file
// is used. What cannot be read is empty, the result is never nil.
func Salvage(path string) *Config {
	text, err := os.ReadFile(path)
	if err != nil || len(text) > maxFile {
		return &Config{}
	}
	tree, problem := parseTree(bytes.TrimPrefix(text, []byte("\xef\xbb\xbf")))
	if problem != nil { // what stands above the line that is no TOML
		lines := bytes.SplitAfter(text, []byte("\n"))
		if tree, problem = parseTree(bytes.Join(lines[:min(max(problem.Line-1, 0), len(lines))], nil)); problem != nil {
			return &Config{}
		}
	}
	all := &Config{}
	d := &decoder{file: path, lines: map[string]int{}}
	d.fields(tree, reflect.ValueOf(all).Elem(), "", "")
	kept := &Config{RuntimeDir: all.RuntimeDir, Log: all.Log}
	if kept.anchor(filepath.Dir(path)) != nil {
		return &Config{}
	}
	return kept
}
