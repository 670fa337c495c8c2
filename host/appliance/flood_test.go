// SPDX-License-Identifier: Apache-2.0

package appliance_test

import (
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"oneslot.dev/oneslot/host/appliance"
	"oneslot.dev/oneslot/test/programs"
)

// A flood is connections that are kept, say nothing, and are closed when the
// other end closes them.
type flood struct {
	b       *bench
	made    atomic.Int64
	open    sync.WaitGroup
	workers sync.WaitGroup
}

// flood makes this many connections from each address of loopback as fast as it can,
// and more, at a rate that leaves the machine to others, until it shall stop.
func (b *bench) flood(each int64, stop func() bool, addresses ...string) *flood {
	f := &flood{b: b}
	const workers = 64
	var next atomic.Int64
	for range workers {
		f.workers.Go(func() {
			for {
				n := next.Add(1) - 1
				if n >= each*int64(len(addresses)) {
					if stop() {
						return
					}
					<-time.After(100 * time.Millisecond)
				}
				f.one(addresses[n%int64(len(addresses))])
			}
		})
	}
	return f
}

func (f *flood) one(address string) {
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(address)}, Timeout: patience}
	conn, err := dialer.Dial("tcp", f.b.address)
	if err != nil {
		f.b.t.Errorf("from %s: %v", address, err)
		return
	}
	f.made.Add(1)
	f.open.Go(func() {
		io.Copy(io.Discard, conn)
		conn.Close()
	})
}

// ended waits until all have been made and closed.
func (f *flood) ended() {
	f.workers.Wait()
	f.open.Wait()
}

// children are the processes that this one has, and those that it has not waited for.
// They are listed by the thread that started them. One that ends leaves its to another,
// whose list may be read after that.
func children() (pids []string) {
	files, _ := filepath.Glob("/proc/self/task/*/children")
	for _, file := range files {
		text, _ := os.ReadFile(file)
		pids = append(pids, strings.Fields(string(text))...)
	}
	slices.Sort(pids)
	return slices.Compact(pids)
}

// processes counts those that serve connections.
func processes() (n int) {
	for _, child := range children() {
		line, _ := os.ReadFile("/proc/" + child + "/cmdline")
		if strings.Contains(string(line), "\x00connection\x00") {
			n++
		}
	}
	return n
}

func descriptors() int {
	all, _ := os.ReadDir("/proc/self/fd")
	return len(all)
}

// resident is the memory of this process, in KiB.
func resident(t *testing.T) int {
	t.Helper()
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "VmRSS:")
	n, err := strconv.Atoi(strings.Fields(rest)[0])
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// Ten thousand connections that say nothing, half of them from one address and
// half from a hundred: who is in keeps being served; who is registered comes in
// while others than he flood by one address, and afterwards in any case; there
// are never more processes than the limits allow, and nothing is left behind.
func TestTenThousandConnections(t *testing.T) {
	const halfOpen, inside, coming = 16, 2, 1
	half := int64(5000)
	if programs.Race {
		half = 1000 // all of it is slower, and what races does so with fewer
	}
	b := start(t, func(c *appliance.Config) {
		c.Limits.HalfOpen, c.Limits.HalfOpenPerAddress = halfOpen, 4
	})
	clients := []*client{b.client("web", ca), b.client("mail", ca)}
	served := make([]atomic.Int64, inside)
	var calling sync.WaitGroup
	stop := make(chan struct{})
	for i, c := range clients {
		a := c.connect()
		calling.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				a.works()
				served[i].Add(1)
			}
		})
	}
	var most atomic.Int64
	calling.Go(func() {
		look := time.NewTicker(5 * time.Millisecond) // less than one of them takes to start
		defer look.Stop()
		for {
			select {
			case <-stop:
				return
			case <-look.C:
				most.Store(max(most.Load(), int64(processes())))
			}
		}
	})
	files, lines := descriptors(), strings.Count(b.logged(), "\n")

	late, came := b.client("late", ca).member("ca"), atomic.Int64{}
	f := b.flood(half, func() bool { return came.Load() >= 3 }, "127.0.0.2")
	for slow := 0; came.Load() < 3; {
		conn, err := late.Connect(t.Context())
		// Who is turned away hears so at once. No answer is from a machine that is busy.
		if err != nil && strings.Contains(err.Error(), "no answer within") && slow < 30 {
			slow++
			continue
		}
		if err != nil {
			t.Errorf("a registered client beside a flood from another address: %v", err)
			came.Store(3)
			break
		}
		conn.Close()
		came.Add(1)
	}
	f.ended()
	memory := resident(t) // of this process, which has both ends in it
	total := f.made.Load()

	var addresses []string
	for i := range 100 {
		addresses = append(addresses, fmt.Sprintf("127.0.1.%d", i+1))
	}
	before := []int64{served[0].Load(), served[1].Load()}
	b.flood(half/int64(len(addresses)), func() bool { return served[0].Load() > before[0] && served[1].Load() > before[1] }, addresses...).ended()
	total += half
	b.await("a registered client to come in after the flood", func() bool {
		conn, err := late.Connect(t.Context())
		if err == nil {
			conn.Close()
		}
		return err == nil
	})
	b.await("the flood to be over", func() bool { return b.listener.Connections() == inside })
	close(stop)
	calling.Wait()
	b.await("the processes of the flood to end", func() bool { return processes() == inside })
	b.await("its descriptors to be closed", func() bool { return descriptors() <= files })

	if n := most.Load(); n > halfOpen+inside+coming {
		t.Errorf("there were %d processes", n)
	}
	// The race detector remembers what it saw of each goroutine.
	if n := resident(t); !programs.Race && n > memory+32<<10 {
		t.Errorf("memory grew from %d to %d KiB by the second flood", memory, n)
	}
	b.tells("connection-turned-away", "from=127.0.0.2", "half_open_per_address")
	b.tells("connection-turned-away", "from=127.0.1.", "half_open)")
	logged := b.logged()
	turned := strings.Count(logged, "turned-away")
	ended := strings.Count(logged, "connection-refused") + strings.Count(logged, "client-") + strings.Count(logged, "connection-ended-abnormally")
	if strings.Count(logged, "\n")-lines > turned+ended+10 || turned > 1000 {
		t.Errorf("the flood made %d lines in the log, %d of them of who was turned away", strings.Count(logged, "\n")-lines, turned)
	}
	t.Logf("%d connections, at most %d processes; %d and %d calls meanwhile; %d lines of who was turned away",
		total, most.Load(), served[0].Load(), served[1].Load(), turned)
}

// N2: what a connection costs ends with it. After three hundred, some of which were
// cut off by the client in the middle, the listener has as many processes,
// descriptors and goroutines as before.
func TestConnectionsLeaveNothing(t *testing.T) {
	const rounds, together = 30, 10
	// The collector closes what is forgotten, and must not hide it.
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	b := start(t, nil)
	web, stranger := b.client("web", ca), b.client("stranger")
	web.connect().Close() // what is made once is there
	rest := func() bool { return b.listener.Connections() == 0 && processes() == 0 }
	b.await("the first connection to end", rest)
	before, files, routines := len(children()), descriptors(), runtime.NumGoroutine()
	var served atomic.Int64
	for range rounds {
		var all sync.WaitGroup
		for i := range together {
			all.Go(func() {
				switch i {
				case 0: // not let in
					if conn, err := stranger.member("ca").Connect(t.Context()); err == nil {
						conn.Close()
						t.Error("a stranger was let in")
					}
				case 1: // hangs up before it has said anything
					if conn, err := net.Dial("tcp", b.address); err == nil {
						conn.Close()
					}
				default:
					conn, err := web.member("ca").Connect(t.Context())
					switch {
					case err == nil:
						conn.Close()
						served.Add(1)
					case !strings.Contains(err.Error(), "no answer within"): // a busy machine
						t.Error(err)
					}
				}
			})
		}
		all.Wait()
	}
	if served.Load() < rounds {
		t.Errorf("%d connections were served", served.Load())
	}
	b.await("the processes to end", rest)
	b.await("no more children than before, dead ones among them", func() bool { return len(children()) <= before })
	b.await("as many descriptors as before", func() bool { return descriptors() <= files })
	b.await("as many goroutines as before", func() bool { return runtime.NumGoroutine() <= routines })
}
