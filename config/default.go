// SPDX-License-Identifier: Apache-2.0

package config

import "reflect"

// DefaultGroup is a group of one member with every option at its default, as a
// physical slot needs it.
func DefaultGroup(member string) Group {
	var g Group
	var d decoder
	fields := reflect.ValueOf(&g).Elem()
	for i := range fields.NumField() {
		d.absent(fields.Field(i), fields.Type().Field(i).Tag)
	}
	g.Name, g.Label, g.Members = member, member, []string{member}
	return g
}
