// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"bytes"
	"errors"
	"io"
	"os"
	"runtime"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// patience is far longer than anything here takes.
const patience = 30 * time.Second

// pairs returns both ends of a session's sockets.
func pairs(t *testing.T) (ours, theirs *socket) {
	t.Helper()
	ours, passed, err := newSession()
	if err != nil {
		t.Fatal(err)
	}
	fds := make([]int, len(passed))
	for i, f := range passed {
		if fds[i], err = unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 0); err != nil {
			t.Fatal(err)
		}
	}
	closeAll(passed)
	if theirs, err = adopt(fds); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ours.Close(); theirs.Close() })
	return ours, theirs
}

// echo answers each message of so many bytes with itself.
func echo(s *socket, size int) {
	message := make([]byte, size)
	for {
		if _, err := io.ReadFull(s, message); err != nil {
			return
		}
		if _, err := s.Write(message); err != nil {
			return
		}
	}
}

// A message may be larger than what the kernel holds for a socket (208 KiB here).
func TestExchange(t *testing.T) {
	for _, size := range []int{1, 300, 4 << 20} {
		ours, theirs := pairs(t)
		go echo(theirs, size)
		question := bytes.Repeat([]byte("0123456789abcdef"), size/16+1)[:size]
		for range 3 {
			answer := make([]byte, size)
			n, sent, err := ours.exchange(question, answer)
			if err != nil || !sent {
				t.Fatalf("%d bytes: sent %v, %v", size, sent, err)
			}
			if _, err := io.ReadFull(ours, answer[n:]); err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(answer, question) {
				t.Fatalf("%d bytes came back as others", size)
			}
		}
	}
}

// K4: what became of a call depends on whether its message went out.
func TestExchangeTellsWhetherItSent(t *testing.T) {
	answer := make([]byte, 8)
	ours, theirs := pairs(t)
	theirs.Close()
	if _, sent, err := ours.exchange([]byte("question"), answer); sent || err == nil {
		t.Errorf("to a peer that was gone: sent %v, %v", sent, err)
	}
	ours, theirs = pairs(t)
	go func() {
		io.ReadFull(theirs, make([]byte, 8))
		theirs.Close()
	}()
	if _, sent, err := ours.exchange([]byte("question"), answer); !sent || !errors.Is(err, io.EOF) {
		t.Errorf("to a peer that reads and leaves: sent %v, %v", sent, err)
	}
	ours, _ = pairs(t)
	ours.Close()
	if _, sent, err := ours.exchange([]byte("question"), answer); sent || err == nil {
		t.Errorf("on a closed socket: sent %v, %v", sent, err)
	}
}

// F1: every wait has an end, also that of who writes to a peer that does not read.
func TestClosingEndsEveryWait(t *testing.T) {
	waits := map[string]func(s *socket) error{
		"reading":    func(s *socket) error { _, err := s.Read(make([]byte, 8)); return err },
		"writing":    func(s *socket) error { _, err := s.Write(make([]byte, 8<<20)); return err },
		"asking":     func(s *socket) error { _, _, err := s.exchange([]byte("question"), make([]byte, 8)); return err },
		"asking far": func(s *socket) error { _, _, err := s.exchange(make([]byte, 8<<20), make([]byte, 8)); return err },
	}
	for name, wait := range waits {
		t.Run(name, func(t *testing.T) {
			ours, theirs := pairs(t)
			ended := make(chan error, 1)
			go func() { ended <- wait(ours) }()
			if name != "reading" { // it has begun; closing ends what begins later, too
				if _, err := theirs.Read(make([]byte, 1)); err != nil {
					t.Fatal(err)
				}
			}
			for range 1000 {
				runtime.Gosched()
			}
			ours.Close()
			select {
			case err := <-ended:
				if err == nil {
					t.Error("no error")
				}
			case <-time.After(patience):
				t.Fatal("it waits for ever")
			}
		})
	}
}

func TestWritingHasADeadline(t *testing.T) {
	ours, _ := pairs(t)
	ours.SetWriteDeadline(time.Now().Add(time.Millisecond))
	if _, err := ours.Write(make([]byte, 8<<20)); !errors.Is(err, os.ErrDeadlineExceeded) && !errors.Is(err, syscall.ETIMEDOUT) {
		t.Errorf("%v", err)
	}
}

// What a peer passes is one socket or two, and no more is kept open.
func TestAdoptRefuses(t *testing.T) {
	file, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for name, n := range map[string]int{"none": 0, "no socket": 1, "no sockets": 2, "too many": 3} {
		fds := make([]int, n)
		for i := range fds {
			if fds[i], err = unix.FcntlInt(file.Fd(), unix.F_DUPFD_CLOEXEC, 0); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := adopt(fds); !errors.Is(err, ErrMalformed) && n != 1 && n != 2 || err == nil {
			t.Errorf("%s: %v", name, err)
		}
		for _, fd := range fds {
			if _, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err == nil {
				t.Errorf("%s: descriptor %d stays open", name, fd)
			}
		}
	}
}
