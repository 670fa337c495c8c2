// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"testing"
)

func readTables(t *testing.T) *Table {
	t.Helper()
	table, err := readTable("..")
	if err != nil {
		t.Fatal(err)
	}
	return table
}

func TestSupportTableIsNotOld(t *testing.T) {
	got, err := os.ReadFile("../../docs/support.md")
	if err != nil || string(got) != support(readTables(t)) {
		t.Errorf("docs/support.md is old (%v): run go generate ./wire", err)
	}
}

func TestSupportTableKnowsTheWords(t *testing.T) {
	names := map[string]bool{}
	for _, c := range readTables(t).visible() {
		names[c.Name] = true
	}
	for name := range onVirtual {
		if !names[name] {
			t.Errorf("%s is no function", name)
		}
	}
	for _, form := range forms {
		if parameters[form] == "" {
			t.Errorf("form %s has no name in the docs", form)
		}
	}
}
