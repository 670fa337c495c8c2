// SPDX-License-Identifier: Apache-2.0

package config

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// A Size is a number of bytes, written "512B", "64KiB" or "1MiB".
type Size int64

// Units from large to small, so that String finds the largest that fits.
var units = []struct {
	name  string
	bytes Size
}{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}, {"B", 1}}

// UnmarshalText reads a number followed by a unit.
func (s *Size) UnmarshalText(text []byte) error {
	for _, u := range units {
		digits, ok := strings.CutSuffix(string(text), u.name)
		if !ok {
			continue
		}
		n, err := strconv.ParseInt(strings.TrimSpace(digits), 10, 64)
		if err != nil || n < 0 || n > math.MaxInt64/int64(u.bytes) {
			break
		}
		*s = Size(n) * u.bytes
		return nil
	}
	return fmt.Errorf("%q is no size", text)
}

// String writes the size in the largest unit that divides it.
func (s Size) String() string {
	for _, u := range units {
		if s != 0 && s%u.bytes == 0 {
			return fmt.Sprintf("%d%s", int64(s/u.bytes), u.name)
		}
	}
	return "0B"
}
