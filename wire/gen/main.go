// SPDX-License-Identifier: Apache-2.0

// Gen writes what follows from calls.def and mechanisms.def: the stubs, export
// list and mechanism forms of the C module, the Go side of package wire, and the
// table of what is supported. Run it with "go generate ./wire".
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	root := flag.String("root", "..", "`directory` of the source tree")
	flag.Parse()
	if err := generate(*root); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

func generate(root string) error {
	t, err := readTable(filepath.Join(root, "wire"))
	if err != nil {
		return err
	}
	if err := writeC(root, t); err != nil {
		return err
	}
	if err := writeDocs(root, t); err != nil {
		return err
	}
	return writeGo(root, t)
}
