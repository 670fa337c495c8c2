// SPDX-License-Identifier: Apache-2.0

package config

import (
	"encoding"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pelletier/go-toml/v2/unstable"
)

// A decoder fills Config from a tree, collects problems, and remembers the line
// of every value for the checks that follow.
type decoder struct {
	file     string
	lines    map[string]int // "group[0].members[1]" → line
	problems Problems
}

func (d *decoder) problem(line int, key, what, fix string) {
	d.problems = append(d.problems, Problem{d.file, line, key, what, fix})
}

// line is where the value at path stands. What was left out is looked for
// where it would belong.
func (d *decoder) line(path string) int {
	for path != "" {
		if line, ok := d.lines[path]; ok {
			return line
		}
		path = path[:max(strings.LastIndexAny(path, ".["), 0)]
	}
	return 1
}

// fields fills a struct. where names it to the operator, path in d.lines.
func (d *decoder) fields(n *node, v reflect.Value, where, path string) {
	var known []string
	for i := range v.NumField() {
		field := v.Type().Field(i)
		key := field.Tag.Get("toml")
		known = append(known, key)
		child, ok := n.table[key]
		if !ok {
			d.absent(v.Field(i), field.Tag)
			continue
		}
		d.field(child, v.Field(i), field.Tag, where, join(path, key))
	}
	for _, key := range n.keys {
		if !slices.Contains(known, key) {
			d.unknown(n.table[key].line, key, known, where)
		}
	}
}

// absent gives an option its default. It cannot fail: a test reads all tags.
func (d *decoder) absent(v reflect.Value, tag reflect.StructTag) {
	if v.Kind() == reflect.Struct {
		d.fields(newTable(0), v, "", "")
		return
	}
	if text := tag.Get("default"); text != "" {
		if err := set(v, text); err != nil {
			panic("config: default of " + tag.Get("toml") + ": " + err.Error())
		}
	}
}

func (d *decoder) unknown(line int, key string, known []string, where string) {
	fix := "remove it; known here: " + strings.Join(known, ", ")
	if name := nearest(key, known); name != "" {
		fix = fmt.Sprintf("did you mean %q?", name)
	}
	if lower := strings.ToLower(key); lower == "pin" || strings.Contains(lower, "_pin") || strings.Contains(lower, "pin_") {
		fix = "remove it: a PIN never stands in the configuration, applications give it to C_Login"
	}
	d.problem(line, where, fmt.Sprintf("unknown key %q", key), fix)
}

func (d *decoder) field(n *node, v reflect.Value, tag reflect.StructTag, where, path string) {
	d.lines[path] = n.line
	key := tag.Get("toml")
	wrong := func(fix string) {
		d.problem(n.line, where, fmt.Sprintf("%s is %s", key, n.describe()), fix)
	}
	switch {
	case v.Kind() == reflect.Struct:
		if n.table == nil {
			wrong("write a table: [" + key + "]")
			return
		}
		d.fields(n, v, join(where, key), path)
	case v.Kind() == reflect.Map:
		if n.table == nil {
			wrong(fmt.Sprintf("write a table of strings: %s = { NAME = \"value\" }", key))
			return
		}
		d.texts(n, v, where, path)
	case v.Kind() == reflect.Slice && v.Type().Elem().Kind() == reflect.Struct:
		if n.kind != unstable.Array {
			wrong("write [[" + key + "]] for each")
			return
		}
		d.tables(n, v, key, path)
	case v.Kind() == reflect.Slice:
		if n.kind != unstable.Array {
			wrong(`write a list of names: ["a", "b"]`)
			return
		}
		d.names(n, v, key, where, path)
	default:
		d.scalar(n, v, tag, where)
	}
}

// tables reads [[member]] and [[group]].
func (d *decoder) tables(n *node, v reflect.Value, key, path string) {
	v.Set(reflect.MakeSlice(v.Type(), len(n.list), len(n.list)))
	for i, item := range n.list {
		where := fmt.Sprintf("%s %d", key, i+1)
		if item.table == nil {
			d.problem(item.line, where, "is "+item.describe(), "write [["+key+"]]")
			item = newTable(item.line)
		}
		if name, ok := item.table["name"]; ok && name.kind == unstable.String {
			where = fmt.Sprintf("%s %q", key, name.text)
		}
		at := fmt.Sprintf("%s[%d]", path, i)
		d.lines[at] = item.line
		d.fields(item, v.Index(i), where, at)
	}
}

// names reads a list of strings.
func (d *decoder) names(n *node, v reflect.Value, key, where, path string) {
	for i, item := range n.list {
		d.lines[fmt.Sprintf("%s[%d]", path, i)] = item.line
		if item.kind != unstable.String {
			d.problem(item.line, where, fmt.Sprintf("%s holds %s", key, item.describe()), `write names in quotes: ["a", "b"]`)
		}
		v.Set(reflect.Append(v, reflect.ValueOf(item.text)))
	}
}

// texts reads a table of strings.
func (d *decoder) texts(n *node, v reflect.Value, where, path string) {
	v.Set(reflect.MakeMap(v.Type()))
	for _, key := range n.keys {
		item := n.table[key]
		d.lines[join(path, key)] = item.line
		if item.kind != unstable.String {
			d.problem(item.line, where, fmt.Sprintf("%s is %s", key, item.describe()), "write a string in quotes")
		}
		v.SetMapIndex(reflect.ValueOf(key), reflect.ValueOf(item.text))
	}
}

func (d *decoder) scalar(n *node, v reflect.Value, tag reflect.StructTag, where string) {
	want, fix := unstable.String, "write a string in quotes"
	switch {
	case tag.Get("oneof") != "":
		fix = "write one of " + strings.ReplaceAll(tag.Get("oneof"), " ", ", ") + ", in quotes"
	case v.Type() == reflect.TypeFor[time.Duration]():
		fix = fmt.Sprintf("write a duration with its unit, in quotes, such as %q", tag.Get("default"))
	case v.Type() == reflect.TypeFor[Size]():
		fix = fmt.Sprintf("write a size with its unit (B, KiB, MiB), in quotes, such as %q", tag.Get("default"))
	case v.Kind() == reflect.Bool:
		want, fix = unstable.Bool, "write true or false, without quotes"
	case v.Kind() == reflect.Int:
		want, fix = unstable.Integer, "write a whole number, without quotes"
	}
	allowed := tag.Get("oneof") == "" || slices.Contains(strings.Fields(tag.Get("oneof")), n.text)
	if n.kind != want || !allowed || set(v, n.text) != nil {
		d.problem(n.line, where, fmt.Sprintf("%s is %s", tag.Get("toml"), n.describe()), fix)
		// Later checks must not complain of the same value again.
		if v.Kind() == reflect.String && tag.Get("oneof") == "" {
			v.SetString(n.text)
		} else {
			d.absent(v, tag)
		}
	}
}

// set gives a scalar the value that text stands for.
func set(v reflect.Value, text string) error {
	if u, ok := v.Addr().Interface().(encoding.TextUnmarshaler); ok {
		return u.UnmarshalText([]byte(text))
	}
	var err error
	switch v.Kind() {
	case reflect.String:
		v.SetString(text)
	case reflect.Bool:
		v.SetBool(text == "true")
	case reflect.Int:
		var n int64
		n, err = strconv.ParseInt(strings.ReplaceAll(text, "_", ""), 0, 32)
		v.SetInt(n)
	case reflect.Int64:
		var wait time.Duration
		wait, err = time.ParseDuration(text)
		v.SetInt(int64(wait))
	default:
		err = fmt.Errorf("config: no option may be a %s", v.Type())
	}
	return err
}

// describe says what stands in the file.
func (n *node) describe() string {
	switch n.kind {
	case unstable.String:
		return strconv.Quote(n.text)
	case unstable.Array:
		return "a list"
	case unstable.InlineTable:
		return "a table"
	}
	return n.text
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}
