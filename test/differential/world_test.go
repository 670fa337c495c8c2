// SPDX-License-Identifier: Apache-2.0

package differential_test

import (
	"encoding/binary"
	"fmt"
	"strings"

	"pgregory.net/rapid"

	"oneslot.dev/oneslot/pkcs11"
)

// A world is one sequence of calls: what it has opened and made so far.
type world struct {
	*rapid.T
	sessions []*session
	objects  []*object
	user     int // who is logged in; -1 is nobody

	signature  [3][]byte // the last of each side, which may be random
	ciphertext [3][]byte
	encrypted  pkcs11.MechanismType // what made the ciphertext
	wrapped    [3][]byte
	begun      map[string]beginning // the last Init of each operation that succeeded
	remnants   bool                 // a creation failed, of which bare SoftHSM may keep something
	again      bool                 // what was destroyed was made once more
	stale      bool                 // a login ended, or all sessions were closed
	asked      *object              // by C_GetAttributeValue
	described  [3]string            // what the last call answered
	over       bool                 // the sides differ for a good reason; what follows says nothing
	log        []string
}

// Handles are those of the sides.
type handles [3]uint64

type session struct {
	handles handles
	closed  bool
	rw      bool
	active  map[string]pkcs11.MechanismType
	running string // the operation that is active
	parts   bool   // an Update was made
	failed  string // the operation in which an error came
}

type object struct {
	handles handles
	what    string
	root    string   // the kind that it, or what it is copied from, is made as
	owner   *session // of a session object
	private bool
	gone    bool
	unlike  bool // generated, so each side has another key
	keeps   bool // cannot be destroyed
	trusted bool // was made so that only trusted keys may wrap it

	survives bool // the end of a login, on the token: searches find it again
}

// An answer is what one call gave on all sides.
type answer struct {
	rv    pkcs11.RV
	calls [3]*call
}

// both makes a call on all sides, and compares.
func (w *world) all(name, what string, build func(side int, c *call)) *answer {
	w.Helper()
	a := &answer{}
	described := &w.described
	var rvs [3]pkcs11.RV
	done := make(chan error, len(sides))
	for i, s := range sides {
		c := &call{}
		build(i, c)
		a.calls[i] = c
		go func() {
			rv, err := s.run(name, c)
			rvs[i] = rv
			done <- err
		}()
	}
	for range sides {
		if err := <-done; err != nil {
			w.Fatalf("%s(%s): %v\nbefore:\n%s", name, what, err, strings.Join(w.log, "\n"))
		}
	}
	for i := range sides {
		described[i] = w.describe(i, rvs[i], a.calls[i])
	}
	a.rv = rvs[0]
	w.log = append(w.log, fmt.Sprintf("%s(%s) = %s", name, what, described[0]))
	if described[1] == described[0] && described[2] == described[0] {
		return a
	}
	for _, d := range differences {
		if d.applies(w, name, rvs) {
			d.count++
			w.over = !d.harmless
			return a
		}
	}
	if *survey {
		w.note(name, *described)
		w.over = true
		return a
	}
	w.Fatalf("%s(%s):\n%s: %s\n%s: %s\n%s: %s\nbefore:\n%s\n%s%s", name, what, sides[0].name, described[0],
		sides[1].name, described[1], sides[2].name, described[2], strings.Join(w.log[:len(w.log)-1], "\n"), sides[1].said(), sides[2].said())
	return a
}

// out is the contents of an output on a side.
func (a *answer) out(side, output int) []byte {
	c := a.calls[side]
	o := c.outputs[output]
	if o.kind == outHandle {
		return c.buffers[o.buffer]
	}
	return c.buffers[o.buffer][:c.ulongAt(o.length, 0)]
}

func (a *answer) handles(output int) (h handles) {
	for i := range h {
		h[i] = binary.LittleEndian.Uint64(a.out(i, output))
	}
	return h
}

// reset brings all tokens back to where a sequence starts.
func (w *world) reset() {
	w.all("C_CloseAllSessions", "", func(side int, c *call) { c.number(sides[side].slot) })
	w.sessions, w.objects, w.user = nil, nil, -1
	w.open(true)
	w.login(pkcs11.CKU_USER, "")
	for side, s := range sides {
		if err := s.empty(w.sessions[0].handles[side]); err != nil {
			w.Fatalf("%v\n%s", err, s.said())
		}
	}
	w.log = nil
}

// empty destroys all objects that the last sequence left on the token.
func (m *machine) empty(session uint64) error {
	var begin, next, end call
	for _, c := range []*call{&begin, &next, &end} {
		c.number(session)
	}
	begin.null()
	begin.number(0)
	room := next.buffer(make([]byte, 8*256))
	next.pointer(room)
	next.number(256)
	count := next.buffer(make([]byte, 8))
	next.pointer(count)
	for _, step := range []struct {
		name string
		call *call
	}{{"C_FindObjectsInit", &begin}, {"C_FindObjects", &next}, {"C_FindObjectsFinal", &end}} {
		if rv, err := m.make(step.name, step.call); rv != 0 || err != nil {
			return fmt.Errorf("%s: %s between sequences: %v, %v", m.name, step.name, rv, err)
		}
	}
	for i := range next.ulongAt(count, 0) {
		var destroy call
		destroy.number(session)
		destroy.number(next.ulongAt(room, int(8*i)))
		if rv, err := m.make("C_DestroyObject", &destroy); rv != 0 && rv != pkcs11.CKR_ACTION_PROHIBITED || err != nil {
			return fmt.Errorf("%s: C_DestroyObject between sequences: %v, %v", m.name, rv, err)
		}
	}
	return nil
}

// anySession draws a session, now and then one that is closed or never was.
func (w *world) anySession() (*session, string) {
	n := between(0, len(w.sessions)*6).Draw(w.T, "session")
	if n >= len(w.sessions)*6 {
		bad := oneOf([]uint64{0, 1 << 40, ^uint64(0)}).Draw(w.T, "bad session")
		return &session{handles: handles{bad, bad, bad}, closed: true}, fmt.Sprintf("session %#x", bad)
	}
	s := w.sessions[n%len(w.sessions)]
	return s, fmt.Sprintf("session %d", n%len(w.sessions))
}

// anyObject draws an object, now and then one that is gone or never was.
func (w *world) anyObject() (*object, string) {
	n := between(0, len(w.objects)*8).Draw(w.T, "object")
	if n >= len(w.objects)*8 {
		bad := oneOf([]uint64{0, 1 << 40, ^uint64(0)}).Draw(w.T, "bad object")
		return &object{handles: handles{bad, bad, bad}}, fmt.Sprintf("object %#x", bad)
	}
	o := w.objects[n%len(w.objects)]
	return o, fmt.Sprintf("object %d (%s)", n%len(w.objects), o.what)
}

func (w *world) chance(percent int, what string) bool {
	return between(1, 100).Draw(w.T, what) > 100-percent
}
