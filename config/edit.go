// SPDX-License-Identifier: Apache-2.0

package config

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2/unstable"
)

// An Editor changes single options in the text of a configuration. Everything
// else, comments too, stays as somebody wrote it.
type Editor struct {
	text []byte
}

// Edit begins with a text that Parse accepts.
func Edit(text []byte) *Editor { return &Editor{bytes.Clone(text)} }

// Text is the text as it is now.
func (e *Editor) Text() []byte { return bytes.Clone(e.text) }

// A part is an expression of the text: a header or a key with its value.
type part struct {
	kind       unstable.Kind
	key        string
	start, end int // of the line or lines that it stands on
	value      int // where its value begins
	valueEnd   int
}

// parts finds the expressions, by the positions that the parser gives.
func (e *Editor) parts() (out []part) {
	var p unstable.Parser
	p.Reset(e.text)
	for p.NextExpression() {
		x := p.Expression()
		var keys []string
		at := -1
		last := 0
		for it := x.Key(); it.Next(); {
			r := it.Node().Raw
			if at < 0 {
				at = int(r.Offset)
			}
			last = int(r.Offset + r.Length)
			keys = append(keys, string(it.Node().Data))
		}
		if at < 0 {
			continue // a comment
		}
		one := part{kind: x.Kind, key: strings.Join(keys, "."), start: lineStart(e.text, at), end: lineEnd(e.text, last)}
		if x.Kind == unstable.KeyValue {
			one.value = last + bytes.IndexByte(e.text[last:], '=') + 1
			for e.text[one.value] == ' ' || e.text[one.value] == '\t' {
				one.value++
			}
			one.valueEnd = valueEnd(e.text, one.value)
			one.end = lineEnd(e.text, one.valueEnd)
		}
		out = append(out, one)
	}
	return out
}

func lineStart(text []byte, at int) int { return bytes.LastIndexByte(text[:at], '\n') + 1 }

func lineEnd(text []byte, at int) int {
	if n := bytes.IndexByte(text[at:], '\n'); n >= 0 {
		return at + n + 1
	}
	return len(text)
}

// valueEnd is where a value that begins at at ends.
func valueEnd(text []byte, at int) int {
	depth := 0
	for i := at; i < len(text); {
		switch c := text[i]; {
		case c == '"' || c == '\'':
			i = stringEnd(text, i)
			if depth == 0 {
				return i
			}
			continue
		case c == '[' || c == '{':
			depth++
		case c == ']' || c == '}':
			if depth--; depth == 0 {
				return i + 1
			}
		case c == '#' && depth > 0:
			i = lineEnd(text, i)
			continue
		case depth == 0 && (c == '\n' || c == '\r' || c == '#' || c == ' ' || c == '\t'):
			return i
		}
		i++
	}
	return len(text)
}

// stringEnd is where the string that begins at at ends.
func stringEnd(text []byte, at int) int {
	quote := text[at : at+1]
	if triple := bytes.Repeat(quote, 3); bytes.HasPrefix(text[at:], triple) {
		quote = triple
	}
	for i := at + len(quote); i < len(text); i++ {
		if text[i] == '\\' && quote[0] == '"' {
			i++
			continue
		}
		if bytes.HasPrefix(text[i:], quote) {
			return i + len(quote)
		}
	}
	return len(text)
}

func (e *Editor) splice(from, to int, with string) {
	e.text = append(append(bytes.Clone(e.text[:from]), with...), e.text[to:]...)
}

// group finds the parts of the group of this name; the first is its header.
func (e *Editor) group(name string) ([]part, error) {
	parts := e.parts()
	for i, p := range parts {
		if p.kind != unstable.ArrayTable || p.key != "group" {
			continue
		}
		n := i + 1
		for n < len(parts) && parts[n].kind == unstable.KeyValue {
			n++
		}
		for _, k := range parts[i+1 : n] {
			if k.key == "name" && unquote(e.text[k.value:k.valueEnd]) == name {
				return parts[i:n], nil
			}
		}
	}
	return nil, fmt.Errorf("group %q: is not written as [[group]] with name = %q: change it by hand", name, name)
}

func unquote(raw []byte) string {
	if len(raw) > 1 && raw[0] == '\'' {
		return string(raw[1 : len(raw)-1])
	}
	s, err := strconv.Unquote(string(raw))
	if err != nil {
		return ""
	}
	return s
}

// Set gives an option of a group a value, written as in the file.
func (e *Editor) Set(group, key, value string) error {
	parts, err := e.group(group)
	if err != nil {
		return err
	}
	after := parts[0]
	for _, p := range parts[1:] {
		switch p.key {
		case key:
			e.splice(p.value, p.valueEnd, value)
			return nil
		case "name":
			after = p
		}
	}
	e.insert(after.end, key+" = "+value+"\n")
	return nil
}

// insert puts whole lines at the beginning of a line.
func (e *Editor) insert(at int, lines string) {
	if at > 0 && e.text[at-1] != '\n' {
		lines = "\n" + lines
	}
	e.splice(at, at, lines)
}

// SetTop gives an option of the whole configuration a value.
func (e *Editor) SetTop(key, value string) {
	at := len(e.text)
	for i, p := range e.parts() {
		if p.kind != unstable.KeyValue {
			if i == 0 {
				at = p.start
			}
			break
		}
		if p.key == key {
			e.splice(p.value, p.valueEnd, value)
			return
		}
		if i == 0 {
			at = p.start
		}
	}
	e.insert(at, key+" = "+value+"\n")
}

// AddGroup appends a group.
func (e *Editor) AddGroup(name, label string, members []string) {
	var lines strings.Builder
	fmt.Fprintf(&lines, "\n[[group]]\nname = %q\n", name)
	if label != "" {
		fmt.Fprintf(&lines, "label = %q\n", label)
	}
	fmt.Fprintf(&lines, "members = %s\n", quoteList(members))
	e.insert(len(e.text), lines.String())
}

func quoteList(names []string) string {
	quoted := make([]string, len(names))
	for i, n := range names {
		quoted[i] = strconv.Quote(n)
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}

// RemoveGroup removes a group. Comments between its options go with it.
func (e *Editor) RemoveGroup(name string) error {
	parts, err := e.group(name)
	if err != nil {
		return err
	}
	e.splice(parts[0].start, parts[len(parts)-1].end, "")
	return nil
}
