// SPDX-License-Identifier: Apache-2.0

package config

import (
	"strings"
	"testing"
)

const edited = `# top
group_only = false # why

[[member]]
name = "a"
module = "/m.so"
token = "a"
[[member]]
name = "b"
module = "/m.so"
token = "b"
[[member]]
name = "c"
module = "/m.so"
token = "c"

# the first group
[[group]]
name = "g" # its name
members = [
    "a", # the old one
    "b",
]
recovery_interval = "30s"   # patience

# the second
[[group]]
members = ["c"]
name = 'h'
`

// What is changed is changed, and every comment stays.
func TestEdit(t *testing.T) {
	for name, c := range map[string]struct {
		do   func(e *Editor) error
		want string // in the text
		gone string
	}{
		"set":              {func(e *Editor) error { return e.Set("g", "recovery_interval", `"10s"`) }, `recovery_interval = "10s"   # patience`, `"30s"`},
		"set anew":         {func(e *Editor) error { return e.Set("h", "recovery", `"manual"`) }, "name = 'h'\nrecovery = \"manual\"\n", ""},
		"top":              {func(e *Editor) error { e.SetTop("group_only", "true"); return nil }, "group_only = true # why", "false"},
		"add on a line":    {func(e *Editor) error { return e.AddTo("g", "members", "c") }, "    \"b\",\n    \"c\",\n]", ""},
		"add":              {func(e *Editor) error { return e.AddTo("h", "members", "a") }, `members = ["c", "a"]`, ""},
		"add a list":       {func(e *Editor) error { return e.AddTo("g", "standby", "b") }, "standby = [\"b\"]\n", ""},
		"remove the last":  {func(e *Editor) error { return e.RemoveFrom("g", "members", "b") }, `"a", # the old one`, `"b",` + "\n]"},
		"remove the first": {func(e *Editor) error { return e.RemoveFrom("g", "members", "a") }, `"b",`, `"a", #`},
		"remove a group":   {func(e *Editor) error { return e.RemoveGroup("g") }, "# the second", `"g"`},
		"add a group":      {func(e *Editor) error { e.AddGroup("n", "N", []string{"a", "b"}); return nil }, "name = \"n\"\nlabel = \"N\"\nmembers = [\"a\", \"b\"]\n", ""},
	} {
		e := Edit([]byte(edited))
		if err := c.do(e); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		text := string(e.Text())
		if _, err := Parse("test.toml", e.Text()); err != nil {
			t.Errorf("%s: %v in\n%s", name, err, text)
		}
		if !strings.Contains(text, c.want) || c.gone != "" && strings.Contains(text, c.gone) {
			t.Errorf("%s: the text is now\n%s", name, text)
		}
		for _, comment := range []string{"# top", "# why", "# the first group", "# the second"} {
			if !strings.Contains(text, comment) {
				t.Errorf("%s: the comment %q is gone", name, comment)
			}
		}
	}
}

// A group in another form is left to its owner.
func TestEditRefusesOtherForms(t *testing.T) {
	e := Edit([]byte(`group = [{name = "g", members = ["a"]}]`))
	if err := e.Set("g", "recovery", `"manual"`); err == nil {
		t.Error("an inline table was edited")
	}
}
