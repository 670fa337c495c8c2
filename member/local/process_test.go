// SPDX-License-Identifier: Apache-2.0

package local

import (
	"os"
	"syscall"
	"testing"
	"time"
)

// A process that was left and does not end is killed in the end.
func TestOneThatWasLeftIsNotKeptForEver(t *testing.T) {
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	p, err := (&Member{program: "/bin/sleep", args: []string{"3600"}}).start(null)
	if err != nil {
		t.Fatal(err)
	}
	p.bound = time.Millisecond
	p.left.Store(true)
	p.end()
	<-p.ended
	if status := p.ProcessState.Sys().(syscall.WaitStatus); status.Signal() != syscall.SIGKILL {
		t.Errorf("it ended with %v", p.ProcessState)
	}
}
