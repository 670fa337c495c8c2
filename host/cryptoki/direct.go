// SPDX-License-Identifier: Apache-2.0

package cryptoki

// #include <stdlib.h>
// #include "direct.h"
import "C"

import (
	"io"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/wire"
)

// directIdle is how long a session may wait for its next request on the direct
// path. It holds a thread there; in Go it holds none.
const directIdle = time.Second

// Direct answers requests that come on one socket on another, until one comes
// that the direct path does not know, or none for a while. It returns
// what it read of the next request, io.EOF when the session is over.
func (s *Session) Direct(in, out uintptr) (pending []byte, err error) {
	if s.direct == nil {
		s.direct = C.oneslot_direct_new(s.module.list, s.handle, s.module.raw, C.size_t(s.module.raws),
			(*C.uint64_t)(unsafe.Pointer(s.module.forbidden)))
		if s.direct == nil {
			return nil, nil
		}
	}
	signs.add(s.direct)
	end := C.oneslot_direct_serve(s.direct, C.int(in), C.int(out), C.int(directIdle/time.Millisecond))
	signs.remove(s.direct)
	switch end {
	case C.ONESLOT_CLOSED:
		return nil, io.EOF
	case C.ONESLOT_OTHER:
		read := unsafe.Slice((*byte)(unsafe.Pointer(s.direct.in)), s.direct.used)
		pending = append([]byte(nil), read...)
		clear(read)
	}
	return pending, nil
}

// endDirect gives back what the direct path took.
func (s *Session) endDirect() {
	if s.direct != nil {
		C.oneslot_direct_free(s.direct)
		s.direct = nil
	}
}

// Forbid keeps the direct path from using keys by these handles. Those of
// before are forbidden no more.
func (m *Module) Forbid(handles [C.ONESLOT_FORBIDDEN]uint64) {
	for i, h := range handles {
		atomic.StoreUint64(&m.forbidden[i], h)
	}
}

// prepareDirect makes what the direct path reads, in memory of C.
func (m *Module) prepareDirect() {
	const size = 8
	raw := pkcs11.MechanismsOf(pkcs11.FormRaw)
	m.raws = len(raw)
	m.raw = (*C.uint64_t)(C.calloc(C.size_t(len(raw)), size))
	for i, t := range raw {
		unsafe.Slice(m.raw, len(raw))[i] = C.uint64_t(t)
	}
	m.forbidden = (*[C.ONESLOT_FORBIDDEN]uint64)(C.calloc(C.ONESLOT_FORBIDDEN, size))
}

// signs gives signs of life for the calls on the direct path (rule F2). It looks
// at them now and then, and only while there are any.
var signs = signsOfLife{on: map[*C.struct_oneslot_direct]struct{}{}}

type signsOfLife struct {
	mu      sync.Mutex // guards what follows; what is in the set is not freed meanwhile
	on      map[*C.struct_oneslot_direct]struct{}
	looking bool
}

func (l *signsOfLife) add(d *C.struct_oneslot_direct) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.on[d] = struct{}{}
	if !l.looking {
		l.looking = true
		go l.look()
	}
}

func (l *signsOfLife) remove(d *C.struct_oneslot_direct) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.on, d)
}

func (l *signsOfLife) look() {
	ticker := time.NewTicker(wire.Heartbeat / 4)
	defer ticker.Stop()
	for range ticker.C {
		l.mu.Lock()
		for d := range l.on {
			C.oneslot_direct_beat(d, C.int(wire.Heartbeat/time.Millisecond))
		}
		l.looking = len(l.on) > 0
		done := !l.looking
		l.mu.Unlock()
		if done {
			return
		}
	}
}
