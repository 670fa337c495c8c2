// SPDX-License-Identifier: Apache-2.0

package config

import (
	"strings"
	"testing"
)

// R5: the log of a reload says which changes running applications do not see.
func TestChangesSayWhatComesLater(t *testing.T) {
	const base = "[[member]]\nname = \"a\"\nmodule = \"/m.so\"\ntoken = \"t\"\n[[group]]\nname = \"g\"\nmembers = [\"a\"]\n"
	parse := func(text string) *Config {
		c, err := Parse("/x/oneslot.toml", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	for text, isLater := range map[string]bool{
		base + "label = \"other\"\n": true, "group_only = true\n" + base: true, "runtime_dir = \"/r\"\n" + base: true,
		"[log]\nfile = \"/l\"\n" + base: true, base + "multipart = \"primary\"\n": false, base + "replay_limit = \"2MiB\"\n": false,
	} {
		got := Changes(parse(base), parse(text))
		if len(got) != 1 || strings.HasSuffix(got[0], later) != isLater {
			t.Errorf("%s: %v", text, got)
		}
	}
}
