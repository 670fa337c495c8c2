// SPDX-License-Identifier: Apache-2.0

package config

import (
	"errors"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// A node is one value of the file and the line it stands on. The library's own
// decoder stops at the first value of a wrong type and forgets lines afterwards;
// with a tree that keeps them every problem can be told, and where.
type node struct {
	line  int
	kind  unstable.Kind // String, Bool, Integer, …; Array or InlineTable for the two below
	text  string        // of a scalar
	list  []*node
	keys  []string // of a table, in the order of the file
	table map[string]*node
}

func newTable(line int) *node {
	return &node{line: line, kind: unstable.InlineTable, table: map[string]*node{}}
}

// parseTree reads TOML. A mistake in the syntax hides what comes after it, so
// it is the only problem that is told alone.
func parseTree(text []byte) (*node, *Problem) {
	var probe map[string]any
	if err := toml.Unmarshal(text, &probe); err != nil {
		problem := &Problem{Line: 1, What: err.Error(), Fix: "write it as TOML (https://toml.io)"}
		var at *toml.DecodeError
		if errors.As(err, &at) {
			problem.Line, _ = at.Position()
		}
		return nil, problem
	}
	var p unstable.Parser
	p.Reset(text)
	root := newTable(1)
	current := root
	for p.NextExpression() {
		e := p.Expression()
		switch e.Kind {
		case unstable.Table, unstable.ArrayTable:
			current = header(&p, root, e)
		case unstable.KeyValue:
			keyValue(&p, current, e)
		}
	}
	return root, nil
}

// header finds or makes the table that [a.b] or [[a.b]] opens.
func header(p *unstable.Parser, root *node, e *unstable.Node) *node {
	at := root
	for it := e.Key(); it.Next(); {
		key, line := string(it.Node().Data), p.Shape(it.Node().Raw).Start.Line
		if it.IsLast() && e.Kind == unstable.ArrayTable {
			list := at.child(key, func() *node { return &node{line: line, kind: unstable.Array} })
			list.list = append(list.list, newTable(line))
			return list.list[len(list.list)-1]
		}
		at = at.child(key, func() *node { return newTable(line) })
		if n := len(at.list); n > 0 { // [member.env] belongs to the last [[member]]
			at = at.list[n-1]
		}
	}
	return at
}

func keyValue(p *unstable.Parser, at *node, e *unstable.Node) {
	for it := e.Key(); it.Next(); {
		key, line := string(it.Node().Data), p.Shape(it.Node().Raw).Start.Line
		if it.IsLast() {
			at.child(key, func() *node { return value(p, e.Value(), line) })
			return
		}
		at = at.child(key, func() *node { return newTable(line) })
	}
}

func value(p *unstable.Parser, v *unstable.Node, line int) *node {
	switch v.Kind {
	case unstable.Array:
		list := &node{line: line, kind: unstable.Array}
		for it := v.Children(); it.Next(); {
			list.list = append(list.list, value(p, it.Node(), line))
		}
		return list
	case unstable.InlineTable:
		table := newTable(line)
		for it := v.Children(); it.Next(); {
			if it.Node().Kind == unstable.KeyValue {
				keyValue(p, table, it.Node())
			}
		}
		return table
	}
	return &node{line: p.Shape(v.Raw).Start.Line, kind: v.Kind, text: string(v.Data)}
}

// child returns the value of a key, made by create if there is none yet. On a
// node that is no table the result hangs nowhere; the syntax check before has
// refused such files.
func (n *node) child(key string, create func() *node) *node {
	if c, ok := n.table[key]; ok {
		return c
	}
	c := create()
	if n.table != nil {
		n.table[key] = c
		n.keys = append(n.keys, key)
	}
	return c
}
