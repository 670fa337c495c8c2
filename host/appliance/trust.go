// SPDX-License-Identifier: Apache-2.0

package appliance

import (
	"fmt"
	"io"
	"io/fs"
	"os"
)

// othersMayWrite says of a file or folder that others than its owner may write there.
func othersMayWrite(info fs.FileInfo) error {
	if info.Mode().Perm()&0o022 == 0 {
		return nil
	}
	return fmt.Errorf("%s: others than its owner may write there: chmod go-w", info.Name())
}

// readTrusted reads a file that says who is let in. It is an error if others than its
// owner may write it: they would decide that. The file that is looked at is the one that
// is read.
func readTrusted(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if err := othersMayWrite(info); err != nil {
		return nil, err
	}
	return io.ReadAll(file)
}
