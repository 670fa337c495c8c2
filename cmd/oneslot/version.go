// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"runtime/debug"
)

// release is set by the linker when a release is built (-X main.release=v1.2.3).
var release = ""

type versionCommand struct{}

func (*versionCommand) Run(d *desk) error {
	_, err := fmt.Fprintf(d.out, "oneslot %s\n", version())
	return err
}

// version is the release, else what the Go toolchain knows of the source.
func version() string {
	if release != "" {
		return release
	}
	build, ok := debug.ReadBuildInfo()
	if !ok || build.Main.Version == "" {
		return "(unknown)"
	}
	return build.Main.Version
}
