// SPDX-License-Identifier: Apache-2.0

package config

import (
	"fmt"
	"reflect"
	"strings"
)

// later is added to what running applications do not see.
const later = ", for applications that start from now on"

// Changes says in words what differs between two configurations, for the log.
func Changes(old, new *Config) (out []string) {
	for i := range new.Members {
		m := &new.Members[i]
		switch before := old.Member(m.Name); {
		case before == nil:
			out = append(out, fmt.Sprintf("member %s is new", m.Name))
		case !reflect.DeepEqual(*before, *m):
			out = append(out, fmt.Sprintf("member %s is defined otherwise", m.Name))
		}
	}
	for i := range old.Members {
		if name := old.Members[i].Name; new.Member(name) == nil {
			out = append(out, fmt.Sprintf("member %s is gone", name))
		}
	}
	for i := range new.Groups {
		g := &new.Groups[i]
		if before := old.Group(g.Name); before == nil {
			out = append(out, fmt.Sprintf("group %s is new: %s", g.Name, strings.Join(g.Members, ", ")))
		} else {
			out = append(out, groupChanges(before, g)...)
		}
	}
	for i := range old.Groups {
		if name := old.Groups[i].Name; new.Group(name) == nil {
			out = append(out, fmt.Sprintf("group %s is gone", name))
		}
	}
	if old.GroupOnly != new.GroupOnly {
		out = append(out, fmt.Sprintf("group_only is %v", new.GroupOnly)+later)
	}
	for _, option := range []struct {
		key  string
		same bool
	}{{"log", old.Log == new.Log}, {"runtime_dir", old.RuntimeDir == new.RuntimeDir}, {"member_program", old.MemberProgram == new.MemberProgram}} {
		if !option.same {
			out = append(out, option.key+" is another one"+later)
		}
	}
	return out
}

func groupChanges(old, new *Group) (out []string) {
	a, b := reflect.ValueOf(*old), reflect.ValueOf(*new)
	for i := range a.NumField() {
		if reflect.DeepEqual(a.Field(i).Interface(), b.Field(i).Interface()) {
			continue
		}
		key := a.Type().Field(i).Tag.Get("toml")
		text := fmt.Sprintf("group %s: %s is %v, was %v", new.Name, key, b.Field(i).Interface(), a.Field(i).Interface())
		if key == "label" { // a slot does not change its identity (rule G3)
			text += later
		}
		out = append(out, text)
	}
	return out
}
