// SPDX-License-Identifier: Apache-2.0

package differential_test

import (
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"oneslot.dev/oneslot/pkcs11"
)

// An output is a place where a call leaves something.
type output struct {
	kind   outputKind
	buffer int   // or -1 for NULL
	length int   // the buffer of its length
	values []int // of attributes: their buffers, or -1
	nested map[int]output
	random bool  // the contents may differ
	skip   []int // bytes that may differ
}

type outputKind int

const (
	outBytes outputKind = iota
	outHandle
	outFound
	outAttributes
	outInfo
)

// describe writes down what a call answered, so that two answers are equal in
// what PKCS#11 determines if and only if their descriptions are.
func (w *world) describe(side int, rv pkcs11.RV, c *call) string {
	b := new(strings.Builder)
	fmt.Fprint(b, rv)
	for _, o := range c.outputs {
		switch o.kind {
		case outBytes:
			describeBytes(b, rv, c, o)
		case outAttributes:
			describeAttributes(b, rv, c, o)
		case outFound:
			if rv == pkcs11.CKR_OK {
				fmt.Fprintf(b, " %v", w.found(side, c, o))
			}
		case outInfo:
			if rv == pkcs11.CKR_OK {
				info := slices.Clone(c.buffers[o.buffer])
				for i := o.skip[0]; i < o.skip[1]; i++ {
					info[i] = 0
				}
				fmt.Fprintf(b, " %x", info)
			}
		}
	}
	return b.String()
}

func describeBytes(b *strings.Builder, rv pkcs11.RV, c *call, o output) {
	if rv != pkcs11.CKR_OK && rv != pkcs11.CKR_BUFFER_TOO_SMALL {
		return
	}
	n := c.ulongAt(o.length, 0)
	fmt.Fprintf(b, " length %d", n)
	if rv == pkcs11.CKR_OK && o.buffer >= 0 && !o.random {
		fmt.Fprintf(b, " %x", c.buffers[o.buffer][:min(n, uint64(len(c.buffers[o.buffer])))])
	}
}

func describeAttributes(b *strings.Builder, rv pkcs11.RV, c *call, o output) {
	switch rv {
	case pkcs11.CKR_OK, pkcs11.CKR_ATTRIBUTE_SENSITIVE, pkcs11.CKR_ATTRIBUTE_TYPE_INVALID, pkcs11.CKR_BUFFER_TOO_SMALL:
	default:
		return
	}
	writeAttributes(b, c, o, len(o.values))
}

// writeAttributes writes down the first n attributes of a list.
func writeAttributes(b *strings.Builder, c *call, o output, n int) {
	for i, value := range o.values[:min(n, len(o.values))] {
		kind, n := c.ulongAt(o.buffer, 24*i), c.ulongAt(o.buffer, 24*i+16)
		inner, array := o.nested[i]
		fmt.Fprintf(b, "\n\t%#x:", kind)
		switch {
		case n == pkcs11.Unavailable:
			b.WriteString(" unavailable")
		case array:
			fmt.Fprintf(b, " length %d {", n)
			writeAttributes(b, c, inner, int(min(n/24, 100)))
			b.WriteString(" }")
		case value < 0 || o.random && isMaterial(pkcs11.AttributeType(kind)):
			fmt.Fprintf(b, " length %d", n)
		default:
			fmt.Fprintf(b, " %s", hex.EncodeToString(c.buffers[value][:min(n, uint64(len(c.buffers[value])))]))
		}
	}
}

// isMaterial says whether an attribute is of key material, or follows from it.
func isMaterial(kind pkcs11.AttributeType) bool {
	switch kind {
	case pkcs11.CKA_VALUE, pkcs11.CKA_MODULUS, pkcs11.CKA_PRIVATE_EXPONENT, pkcs11.CKA_EC_POINT, pkcs11.CKA_CHECK_VALUE:
		return true
	}
	return false
}

// found are the objects that a search gave, by their number here.
func (w *world) found(side int, c *call, o output) []int {
	n := c.ulongAt(o.length, 0)
	var all []int
	for i := range n {
		handle := c.ulongAt(o.buffer, int(8*i))
		o := w.numberOf(side, handle)
		switch {
		case o >= 0 || !w.remnants:
		case side == 0: // a remnant, or what bare SoftHSM calls otherwise since the last login
			remnants.count++
			continue
		case w.survived(side, handle): // the same of a group
			continue
		}
		all = append(all, o)
	}
	slices.Sort(all)
	return all
}

// survived says whether a handle is that of a token object from before a logout.
func (w *world) survived(side int, handle uint64) bool {
	return slices.ContainsFunc(w.objects, func(o *object) bool { return o.survives && o.handles[side] == handle })
}

func (w *world) numberOf(side int, handle uint64) int {
	for i, o := range w.objects {
		if o.handles[side] == handle && !o.gone {
			return i
		}
	}
	return -1
}
