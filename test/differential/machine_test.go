// SPDX-License-Identifier: Apache-2.0

package differential_test

import (
	"bufio"
	"cmp"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"

	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/wire"
)

// A machine is a process that makes calls on one module (testdata/driver.c).
type machine struct {
	name   string
	in     *bufio.Writer
	out    *bufio.Reader
	pipe   io.Closer
	cmd    *exec.Cmd
	errors strings.Builder

	slot uint64
	log  string // the engine's; a bare token has none
}

func start(driver, name, module string, environment ...string) (*machine, error) {
	m := &machine{name: name, cmd: exec.Command(driver, module)}
	m.cmd.Env = append(os.Environ(), environment...)
	m.cmd.Stderr = &m.errors
	in, err := m.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := m.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	m.in, m.out, m.pipe = bufio.NewWriter(in), bufio.NewReader(out), in
	return m, m.cmd.Start()
}

func (m *machine) stop() {
	m.pipe.Close()
	m.cmd.Wait()
}

// said is the end of the engine's log, for a failure.
func (m *machine) said() string {
	if m.log == "" {
		return ""
	}
	log, err := os.ReadFile(m.log)
	if err != nil {
		return err.Error()
	}
	lines := strings.SplitAfter(string(log), "\n")
	return fmt.Sprintf("the log of %s:\n%s", m.name, strings.Join(lines[max(0, len(lines)-30):], ""))
}

// functions is the place of each function in CK_FUNCTION_LIST.
var functions = func() map[string]uint32 {
	places := map[string]uint32{}
	for n := wire.Number(1); n <= 68; n++ {
		places[n.String()] = uint32(n - 1)
	}
	return places
}()

// A call is the arguments of a function, and the memory that they point to.
type call struct {
	buffers  [][]byte
	pointers [][3]uint32 // buffer, offset, buffer pointed to
	args     []argument
	outputs  []output

	instead string                 // the function to call, if not the one that is compared
	then    func() (string, *call) // what to call after it, if that succeeds
}

type argument struct {
	pointer bool
	value   uint64
}

// run makes the call and what is to follow it.
func (m *machine) run(name string, c *call) (pkcs11.RV, error) {
	rv, err := m.make(cmp.Or(c.instead, name), c)
	if rv != pkcs11.CKR_OK || err != nil || c.then == nil {
		return rv, err
	}
	return m.make(c.then())
}

// make runs the call. Afterwards the buffers hold what the module left there.
func (m *machine) make(name string, c *call) (pkcs11.RV, error) {
	place, ok := functions[name]
	if !ok {
		return 0, fmt.Errorf("no function %s", name)
	}
	b := binary.LittleEndian.AppendUint32(nil, place)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(c.buffers)))
	for _, buffer := range c.buffers {
		b = append(binary.LittleEndian.AppendUint64(b, uint64(len(buffer))), buffer...)
	}
	b = binary.LittleEndian.AppendUint32(b, uint32(len(c.pointers)))
	for _, p := range c.pointers {
		for _, v := range p {
			b = binary.LittleEndian.AppendUint32(b, v)
		}
	}
	b = binary.LittleEndian.AppendUint32(b, uint32(len(c.args)))
	for _, a := range c.args {
		kind := byte(0)
		if a.pointer {
			kind = 1
		}
		b = binary.LittleEndian.AppendUint64(append(b, kind), a.value)
	}
	if _, err := m.in.Write(b); err != nil {
		return 0, m.died(name, err)
	}
	if err := m.in.Flush(); err != nil {
		return 0, m.died(name, err)
	}
	var rv [8]byte
	if _, err := io.ReadFull(m.out, rv[:]); err != nil {
		return 0, m.died(name, err)
	}
	for _, buffer := range c.buffers {
		if _, err := io.ReadFull(m.out, buffer); err != nil {
			return 0, m.died(name, err)
		}
	}
	return pkcs11.RV(binary.LittleEndian.Uint64(rv[:])), nil
}

func (m *machine) died(name string, err error) error {
	return fmt.Errorf("%s: the process ended in %s: %w: %s", m.name, name, err, m.errors.String())
}

// The arguments of a call, in order.

func (c *call) number(v uint64) { c.args = append(c.args, argument{value: v}) }
func (c *call) null()           { c.number(0) }

// buffer adds memory and returns its place.
func (c *call) buffer(b []byte) int {
	c.buffers = append(c.buffers, append([]byte{}, b...))
	return len(c.buffers) - 1
}

func (c *call) pointer(buffer int) {
	c.args = append(c.args, argument{pointer: true, value: uint64(buffer)})
}

// point writes the address of a buffer into another one.
func (c *call) point(from, offset, to int) {
	c.pointers = append(c.pointers, [3]uint32{uint32(from), uint32(offset), uint32(to)})
}

func (c *call) ulongAt(buffer, offset int) uint64 {
	return binary.LittleEndian.Uint64(c.buffers[buffer][offset:])
}

func ulong(v uint64) []byte { return binary.LittleEndian.AppendUint64(nil, v) }

// data is a pointer and a length.
func (c *call) data(d input) {
	if d.null {
		c.null()
	} else {
		c.pointer(c.buffer(d.bytes))
	}
	if d.length != nil {
		c.number(*d.length)
	} else {
		c.number(uint64(len(d.bytes)))
	}
}

// An input is a byte string, or NULL, or one with a length that is not its own.
type input struct {
	bytes  []byte
	null   bool
	length *uint64
}

// A room is an output buffer.
type room struct {
	null bool
	size uint64
}

func (c *call) room(r room, random bool) {
	o := output{kind: outBytes, buffer: -1, random: random}
	if r.null {
		c.null()
	} else {
		o.buffer = c.buffer(make([]byte, r.size))
		c.pointer(o.buffer)
	}
	o.length = c.buffer(ulong(r.size))
	c.pointer(o.length)
	c.outputs = append(c.outputs, o)
}

// handle is where a handle comes out.
func (c *call) handle() {
	b := c.buffer(make([]byte, 8))
	c.pointer(b)
	c.outputs = append(c.outputs, output{kind: outHandle, buffer: b})
}

// attributes are a template, or the questions of C_GetAttributeValue.
func (c *call) attributes(list []attribute, null, asks bool) {
	if null {
		c.null()
	} else {
		o := c.attributeList(list)
		c.pointer(o.buffer)
		if asks {
			c.outputs = append(c.outputs, o)
		}
	}
	c.number(uint64(len(list)))
}

func (c *call) attributeList(list []attribute) output {
	b := c.buffer(make([]byte, 24*len(list)))
	o := output{kind: outAttributes, buffer: b, nested: map[int]output{}}
	for i, a := range list {
		at := c.buffers[b][24*i:]
		binary.LittleEndian.PutUint64(at, uint64(a.kind))
		binary.LittleEndian.PutUint64(at[16:], uint64(len(a.value)))
		if a.claimed != nil {
			binary.LittleEndian.PutUint64(at[16:], *a.claimed)
		}
		value := -1
		switch {
		case a.null:
		case a.nested != nil:
			inner := c.attributeList(a.nested)
			value, o.nested[i] = inner.buffer, inner
			binary.LittleEndian.PutUint64(c.buffers[b][24*i+16:], uint64(24*len(a.nested)))
		default:
			value = c.buffer(a.value)
		}
		if value >= 0 {
			c.point(b, 24*i+8, value)
		}
		o.values = append(o.values, value)
	}
	return o
}

// An attribute of a template; as a question its value is the room. The room for
// an array are attributes with room of their own.
type attribute struct {
	kind    pkcs11.AttributeType
	value   []byte
	null    bool
	claimed *uint64
	nested  []attribute
}

// A mechanism with its parameter as C lays it out; at certain offsets it points to other memory.
type mechanism struct {
	kind     pkcs11.MechanismType
	param    []byte
	pointees map[int][]byte
	absent   bool // no mechanism at all
}

func (c *call) mechanism(m mechanism) {
	if m.absent {
		c.null()
		return
	}
	b := c.buffer(append(append(ulong(uint64(m.kind)), ulong(0)...), ulong(uint64(len(m.param)))...))
	if m.param != nil {
		p := c.buffer(m.param)
		c.point(b, 8, p)
		for offset, data := range m.pointees {
			c.point(p, offset, c.buffer(data))
		}
	}
	c.pointer(b)
}

func (m mechanism) String() string {
	if m.absent {
		return "no mechanism"
	}
	return fmt.Sprintf("%v parameter %x", m.kind, m.param)
}
