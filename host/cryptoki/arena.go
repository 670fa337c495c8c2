// SPDX-License-Identifier: Apache-2.0

package cryptoki

// #include <stdlib.h>
// #include "shim.h"
import "C"

import (
	"unsafe"

	"oneslot.dev/oneslot/wire"
)

// An arena is C memory for what a call points to: templates, mechanisms and
// their parameters hold pointers, and no Go pointer may lie in memory that C
// reads. It is emptied before each call, so a call costs no malloc.
type arena struct {
	first []byte // C memory
	used  int
	more  []chunk // for what does not fit

	// returned reads what the module wrote into a mechanism's parameter that
	// lies here. Nil: it has nothing to write.
	returned func() wire.Bytes
}

type chunk struct {
	at   unsafe.Pointer
	size int
}

const (
	arenaSize = 16 << 10
	alignment = 16
)

func newArena() arena {
	return arena{first: unsafe.Slice((*byte)(C.calloc(1, arenaSize)), arenaSize)}
}

// take returns n zeroed bytes that stay where they are until reset.
func (a *arena) take(n int) unsafe.Pointer {
	size := (max(n, 1) + alignment - 1) &^ (alignment - 1)
	if size <= len(a.first)-a.used {
		at := unsafe.Pointer(&a.first[a.used])
		a.used += size
		return at
	}
	at := C.calloc(1, C.size_t(size)) // cgo's calloc never returns NULL: it panics
	a.more = append(a.more, chunk{at, size})
	return at
}

// reset takes everything back and wipes it: templates may hold key values.
func (a *arena) reset() {
	a.returned = nil
	clear(a.first[:a.used])
	a.used = 0
	for _, c := range a.more {
		clear(unsafe.Slice((*byte)(c.at), c.size))
		C.free(c.at)
	}
	a.more = nil
}

func (a *arena) free() {
	a.reset()
	C.free(unsafe.Pointer(unsafe.SliceData(a.first)))
	a.first = nil
}

// bytes copies b. The result is never NULL, also if b is empty.
func (a *arena) bytes(b []byte) unsafe.Pointer {
	at := a.take(len(b))
	copy(unsafe.Slice((*byte)(at), len(b)), b)
	return at
}

// array takes room for n values of T.
func array[T any](a *arena, n int) []T {
	var t T
	return unsafe.Slice((*T)(a.take(n*int(unsafe.Sizeof(t)))), n)
}

// one takes room for a value of T.
func one[T any](a *arena) *T {
	var t T
	return (*T)(a.take(int(unsafe.Sizeof(t))))
}
