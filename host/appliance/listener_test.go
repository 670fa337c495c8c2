// SPDX-License-Identifier: Apache-2.0

package appliance

import "testing"

// N4: who asks or ends a listener before it has begun to serve, as a signal right after
// the start does, finds nothing there.
func TestAListenerThatHasNotBegun(t *testing.T) {
	var l Listener
	if n := l.Connections(); n != 0 {
		t.Errorf("%d connections", n)
	}
	l.Kill()
}
