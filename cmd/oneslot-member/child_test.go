// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"
)

// What member/local starts is recognised; all else is left to the appliance.
func TestTheEnginesCommandLine(t *testing.T) {
	got := engineChild([]string{"child", "--fd", "5", "--module", "/m.so", "--token", "--a b", "--serial", ""})
	if got == nil || *got != (child{FD: 5, Module: "/m.so", Token: "--a b"}) {
		t.Errorf("the engine's command line is read as %+v", got)
	}
	got = engineChild(strings.Fields("child --module /m.so --serial 12 --init=x=y"))
	if got == nil || *got != (child{FD: 3, Module: "/m.so", Serial: "12", Init: "x=y"}) {
		t.Errorf("without a descriptor: %+v", got)
	}
	for _, line := range []string{"", "child", "child --module", "child --module /m.so more", "child --module /m.so --other", "child --help", "listen --module /m.so"} {
		if c := engineChild(strings.Fields(line)); c != nil {
			t.Errorf("%q is read as %+v", line, c)
		}
	}
}
