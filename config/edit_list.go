// SPDX-License-Identifier: Apache-2.0

package config

import (
	"bytes"
	"strconv"
	"strings"
)

// AddTo appends a name to a list of a group, such as members. A list that is not
// there is made.
func (e *Editor) AddTo(group, key, name string) error {
	p, err := e.list(group, key)
	if err != nil {
		return err
	}
	if p == nil {
		return e.Set(group, key, quoteList([]string{name}))
	}
	items := e.items(p)
	if len(items) == 0 {
		e.splice(p.value, p.valueEnd, quoteList([]string{name}))
		return nil
	}
	last := items[len(items)-1]
	between := " "
	if start := lineStart(e.text, last[0]); start > p.value { // each on a line of its own
		between = "\n" + string(e.text[start:start+len(e.text[start:last[0]])-len(bytes.TrimLeft(e.text[start:last[0]], " \t"))])
	}
	e.splice(last[1], last[1], ","+between+strconv.Quote(name))
	return nil
}

// RemoveFrom removes a name from a list of a group. One that is not there is
// no error.
func (e *Editor) RemoveFrom(group, key, name string) error {
	p, err := e.list(group, key)
	if p == nil || err != nil {
		return err
	}
	items := e.items(p)
	for i, item := range items {
		if unquote(e.text[item[0]:item[1]]) != name {
			continue
		}
		from, to := item[0], item[1]
		switch {
		case i+1 < len(items):
			to = items[i+1][0]
			if bytes.ContainsAny(e.text[item[1]:to], "#\n") { // what is said about the next one stays
				to = item[1] + bytes.IndexByte(e.text[item[1]:], ',') + 1
			}
		case i > 0:
			from = items[i-1][1]
			if bytes.ContainsAny(e.text[from:item[0]], "#\n") {
				from = item[0]
				if rest := bytes.TrimLeft(e.text[to:p.valueEnd], " \t"); bytes.HasPrefix(rest, []byte(",")) {
					to = p.valueEnd - len(rest) + 1
				}
			}
		}
		e.splice(from, to, "")
		return nil
	}
	return nil
}

// list finds a list of a group, nil if it is not written.
func (e *Editor) list(group, key string) (*part, error) {
	parts, err := e.group(group)
	if err != nil {
		return nil, err
	}
	for i := range parts {
		if parts[i].key == key && i > 0 {
			return &parts[i], nil
		}
	}
	return nil, nil
}

// items are where the strings of a list begin and end.
func (e *Editor) items(p *part) (out [][2]int) {
	for i := p.value; i < p.valueEnd; {
		switch c := e.text[i]; {
		case strings.ContainsRune("\"'", rune(c)):
			end := stringEnd(e.text, i)
			out = append(out, [2]int{i, end})
			i = end
		case c == '#':
			i = lineEnd(e.text, i)
		default:
			i++
		}
	}
	return out
}
