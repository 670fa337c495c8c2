// SPDX-License-Identifier: Apache-2.0

package config

import (
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// docs/configuration.md has every option there is, in the order of Config, with its default,
// and no other. Its example can be read.
func TestTheManualHasEveryOption(t *testing.T) {
	text, err := os.ReadFile("../docs/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	got := options(string(text))
	var c Config
	sections := map[string]reflect.Type{
		"At the top": reflect.TypeOf(c), "`[log]`": reflect.TypeOf(c.Log), "`[[member]]`": reflect.TypeOf(Member{}), "`[[group]]`": reflect.TypeOf(Group{}),
	}
	for heading, kind := range sections {
		var want []string
		for i := range kind.NumField() {
			tag := kind.Field(i).Tag
			key, preset := tag.Get("toml"), tag.Get("default")
			if sections["`["+key+"]`"] != nil || sections["`[["+key+"]]`"] != nil {
				continue
			}
			want = append(want, key+" = "+preset)
		}
		if !slices.Equal(got[heading], want) {
			t.Errorf("%s: the manual has\n%s\nand there is\n%s", heading, strings.Join(got[heading], "\n"), strings.Join(want, "\n"))
		}
	}
	for heading, rest := range got {
		if sections[heading] == nil {
			t.Errorf("the manual has options that there are not: %s: %v", heading, rest)
		}
	}
	example := regexp.MustCompile("(?ms)^```toml\n(.*?)^```$").FindSubmatch(text)[1]
	example = []byte(strings.Replace(string(example), "sha256:ABCD-EFGH-…", "sha256:"+strings.Repeat("a", 52), 1))
	if _, err := Parse("example", example); err != nil {
		t.Errorf("the example: %v", err)
	}
}

// options are the rows of the manual's tables, by the heading above them: "name = default".
func options(text string) map[string][]string {
	all := map[string][]string{}
	heading := ""
	row := regexp.MustCompile("^\\| `([a-z_]+)` \\| ([^|]*) \\|")
	for _, line := range strings.Split(text, "\n") {
		if after, ok := strings.CutPrefix(line, "## "); ok {
			heading = after
		}
		if m := row.FindStringSubmatch(strings.ReplaceAll(line, "| |", "|  |")); m != nil {
			preset := strings.Trim(m[2], "`\"")
			if preset == "needed" {
				preset = ""
			}
			all[heading] = append(all[heading], m[1]+" = "+preset)
		}
	}
	return all
}
