// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"os"
	"strconv"
	"strings"
)

// A log is the engine's, as far as it was read.
type log struct {
	path string
	read int64
}

// An entry is one line: names and values, as package slog writes them.
type entry map[string]string

// each reads on to the last whole line. A log that is not there is empty.
func (l *log) each(do func(entry)) {
	f, err := os.Open(l.path)
	if err != nil {
		return
	}
	defer f.Close()
	rest := make([]byte, 1<<16)
	n, _ := f.ReadAt(rest, l.read)
	end := bytes.LastIndexByte(rest[:n], '\n') + 1
	l.read += int64(end)
	for line := range strings.Lines(string(rest[:end])) {
		do(parse(line))
	}
}

func parse(line string) entry {
	e := entry{}
	for line = strings.TrimSpace(line); line != ""; line = strings.TrimSpace(line) {
		name, rest, found := strings.Cut(line, "=")
		if !found {
			break
		}
		value, err := strconv.QuotedPrefix(rest)
		if err != nil {
			value, line, _ = strings.Cut(rest, " ")
		} else {
			line = rest[len(value):]
			value, _ = strconv.Unquote(value)
		}
		e[name] = value
	}
	return e
}
