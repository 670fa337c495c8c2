// SPDX-License-Identifier: Apache-2.0

package cryptoki

// #include "shim.h"
import "C"

import (
	"runtime"
	"sync/atomic"
	"unsafe"
)

// A goroutine in a call of the vendor's library keeps a processor from the others until
// Go's monitor thread takes it away, which is late here (slack.c). Where calls compute, that
// spares more than it costs. Where they wait, as for an HSM in the network, others would have
// to wait with them: so Go gets a processor for each of many calls then.

// waiting is how many processors Go has when calls wait: that many may be under way before
// one has to be taken away.
const waiting = 32

// paced is what the number of processors was set for last; computing, what it is otherwise.
var (
	paced     atomic.Uint32
	computing = runtime.GOMAXPROCS(0)
)

// pace follows what the library does in its calls. Mostly it looks at a variable.
func pace() {
	waits := atomic.LoadUint32((*uint32)(unsafe.Pointer(&C.oneslot_waits)))
	was := paced.Load()
	if waits == was || !paced.CompareAndSwap(was, waits) {
		return
	}
	if waits != 0 {
		computing = runtime.GOMAXPROCS(max(waiting, runtime.GOMAXPROCS(0)))
	} else {
		runtime.GOMAXPROCS(computing)
	}
}
