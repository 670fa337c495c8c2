// SPDX-License-Identifier: Apache-2.0

// Package trickle is a peer that means harm, and a link that is only slow. Tests put them
// between streams and their connection.
package trickle

import (
	"encoding/binary"
	"net"
	"slices"
	"sync"
	"time"
)

// Of a frame (wire/PROTOCOL.md).
const (
	header  = 9
	length  = 4 // of which it does not count so many bytes
	part    = 1
	message = 2
)

// Conn is a connection whose messages never end: of those that are longer than enough a
// byte is sent with each pause, in a frame of its own. All else, signs of life too, goes
// out at once.
func Conn(conn net.Conn, enough int, pause time.Duration) net.Conn {
	return &trickler{Conn: conn, enough: enough, pause: pause, slow: map[uint32]bool{}, gone: make(chan struct{})}
}

type trickler struct {
	net.Conn
	enough int
	pause  time.Duration
	begun  []byte // of a frame that is being written
	slow   map[uint32]bool
	once   sync.Once
	gone   chan struct{}

	mu sync.Mutex // guards writing frames
}

func (t *trickler) Close() error {
	t.once.Do(func() { close(t.gone) })
	return t.Conn.Close()
}

func (t *trickler) send(frame []byte) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	_, err := t.Conn.Write(frame)
	return err
}

func (t *trickler) Write(b []byte) (int, error) {
	t.begun = append(t.begun, b...)
	for {
		if len(t.begun) < header {
			return len(b), nil
		}
		size := length + int(binary.LittleEndian.Uint32(t.begun))
		if len(t.begun) < size {
			return len(b), nil
		}
		if err := t.frame(t.begun[:size]); err != nil {
			return 0, err
		}
		t.begun = t.begun[size:]
	}
}

func (t *trickler) frame(frame []byte) error {
	kind, stream := frame[length], binary.LittleEndian.Uint32(frame[length+1:])
	switch {
	case kind != part && kind != message:
	case t.slow[stream]:
		return nil // comes after what takes for ever
	case len(frame)-header > t.enough:
		t.slow[stream] = true
		go t.trickle(slices.Clone(frame))
		return nil
	}
	return t.send(frame)
}

func (t *trickler) trickle(frame []byte) {
	tick := time.NewTicker(t.pause)
	defer tick.Stop()
	piece := slices.Clone(frame[:header+1])
	binary.LittleEndian.PutUint32(piece, header-length+1)
	piece[length] = part
	for _, b := range frame[header:] {
		piece[header] = b
		if t.send(piece) != nil {
			return
		}
		select {
		case <-tick.C:
		case <-t.gone:
			return
		}
	}
}

// Link lets connections to an address through at so many bytes in a second each way, late
// by so much, until done. It returns its own address.
func Link(address string, rate int, late time.Duration, done <-chan struct{}) (string, error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	go func() {
		<-done
		ln.Close()
	}()
	go func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			behind, err := net.Dial("tcp", address)
			if err != nil {
				conn.Close()
				continue
			}
			go carry(conn, behind, rate, late)
			go carry(behind, conn, rate, late)
		}
	}()
	return ln.Addr().String(), nil
}

// carry carries bytes one way, and then the end.
func carry(from, to net.Conn, rate int, late time.Duration) {
	type piece struct {
		data []byte
		due  time.Time
	}
	way := make(chan piece, 1024)
	go func() {
		defer close(way)
		for {
			data := make([]byte, max(rate/10, 1))
			n, err := from.Read(data)
			if n > 0 {
				// As long as they take to be sent nothing more is.
				time.Sleep(time.Duration(n) * time.Second / time.Duration(rate))
				way <- piece{data[:n], time.Now().Add(late)}
			}
			if err != nil {
				return
			}
		}
	}()
	for p := range way {
		time.Sleep(time.Until(p.due))
		if _, err := to.Write(p.data); err != nil {
			break
		}
	}
	to.Close()
	from.Close()
	for range way { // its reader ends
	}
}
