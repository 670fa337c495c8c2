// SPDX-License-Identifier: Apache-2.0

package differential_test

import "pgregory.net/rapid"

// Rapid's own numbers are small ones mostly: what stands late in a list, and what
// has a chance in ten, would hardly come. Here all are as likely. They shrink to the
// first.

var anyNumber = rapid.Custom(func(t *rapid.T) (n int) {
	for range 14 {
		n <<= 1
		if rapid.Bool().Draw(t, "bit") {
			n++
		}
	}
	return n
})

// between is a number from low to high.
func between(low, high int) *rapid.Generator[int] {
	return rapid.Map(anyNumber, func(n int) int { return low + n%(high-low+1) })
}

// oneOf is an element of a list.
func oneOf[T any](list []T) *rapid.Generator[T] {
	return rapid.Map(anyNumber, func(n int) T { return list[n%len(list)] })
}
