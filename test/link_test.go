// SPDX-License-Identifier: Apache-2.0

package test_test

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// A place is a network namespace: a host of its own, as far as packets go.
type place struct {
	n       *network
	pid     int    // of a process that is there; 0: where the test is
	address string // of the appliances, seen from there
	link    string // name of the cable's ends; empty where the appliances are
}

// command prepares to run something there.
func (p *place) command(args ...string) *exec.Cmd {
	if p.pid != 0 {
		args = append([]string{"nsenter", "-t", fmt.Sprint(p.pid), "-n"}, args...)
	}
	return exec.Command(args[0], args[1:]...)
}

func (p *place) run(args ...string) {
	p.n.t.Helper()
	if out, err := p.command(args...).CombinedOutput(); err != nil {
		p.n.t.Fatalf("%s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// newPlace makes a namespace that lasts as long as the test.
func (n *network) newPlace() *place {
	n.t.Helper()
	holder := exec.Command("unshare", "--net", "sh", "-c", "ip link set lo up && echo there && exec sleep infinity")
	holder.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	out, err := holder.StdoutPipe()
	n.must(err)
	n.must(holder.Start())
	n.t.Cleanup(func() {
		holder.Process.Kill()
		holder.Wait()
	})
	_, err = io.ReadFull(out, make([]byte, len("there\n")))
	n.must(err)
	return &place{n: n, pid: holder.Process.Pid}
}

// elsewhere moves the appliances into a namespace of their own. A cable leads
// there from here.
func (n *network) elsewhere() (here, there *place) {
	n.t.Helper()
	there = n.newPlace()
	here = &place{n: n}
	here.connect(there, 1)
	n.stopAll()
	for _, member := range n.Members {
		conf := n.applianceConf(member)
		text, err := os.ReadFile(conf)
		n.must(err)
		n.must(os.WriteFile(conf, []byte(strings.Replace(string(text), `"127.0.0.1:`, `"0.0.0.0:`, 1)), 0o600))
		n.edit(n.addresses[member], here.address+":"+n.port(member))
	}
	there.run(n.Program, "sandbox", n.Dir)
	return here, there
}

func (n *network) applianceConf(member string) string {
	return n.Dir + "/" + member + "/appliance.toml"
}

// connect lays a cable to where the appliances are.
func (p *place) connect(there *place, number int) {
	p.n.t.Helper()
	p.link, p.address = fmt.Sprint("cable", number), fmt.Sprintf("10.77.%d.2", number)
	p.run("ip", "link", "add", p.link, "type", "veth", "peer", "name", p.link, "netns", fmt.Sprint(there.pid))
	for end, address := range map[*place]string{p: fmt.Sprintf("10.77.%d.1/24", number), there: p.address + "/24"} {
		end.run("ip", "address", "add", address, "dev", p.link)
		end.run("ip", "link", "set", p.link, "up")
	}
}

// pull pulls the cable of p at the appliances' end. The result plugs it in again.
func (there *place) pull(p *place) (plug func()) {
	there.n.t.Helper()
	there.run("ip", "link", "set", p.link, "down")
	return func() { there.run("ip", "link", "set", p.link, "up") }
}

// swallow drops packets to appliances, by further conditions of iptables.
func (there *place) swallow(members []string, more ...string) (undo func()) {
	there.n.t.Helper()
	var rules [][]string
	for _, member := range members {
		rules = append(rules, append([]string{"INPUT", "-p", "tcp", "--dport", there.n.port(member)}, more...))
		if len(more) == 0 {
			rules = append(rules, []string{"OUTPUT", "-p", "tcp", "--sport", there.n.port(member)})
		}
	}
	change := func(how string) {
		there.n.t.Helper()
		for _, rule := range rules {
			there.run(append(append([]string{"iptables", "-w", how}, rule...), "-j", "DROP")...)
		}
	}
	change("-A")
	return func() { change("-D") }
}

// outlast waits for something that one timeout may delay, and not one for each
// of many.
func (n *network) outlast(what string, most time.Duration, run func()) {
	n.t.Helper()
	begin := time.Now()
	run()
	took := time.Since(begin)
	if took >= most {
		n.t.Errorf("%s took %v", what, took)
	}
	n.t.Logf("%s took %v", what, took.Round(time.Millisecond))
}

// delay puts a proxy before an appliance that holds every packet back.
func (n *network) delay(member string, by time.Duration) {
	n.t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	n.must(err)
	n.t.Cleanup(func() { ln.Close() })
	target := n.addresses[member]
	n.edit(target, ln.Addr().String())
	go func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			behind, err := net.Dial("tcp", target)
			if err != nil {
				conn.Close()
				continue
			}
			go late(conn, behind, by)
			go late(behind, conn, by)
		}
	}()
}

// late carries bytes one way, and then the end.
func late(from, to net.Conn, by time.Duration) {
	type chunk struct {
		data []byte
		due  time.Time
	}
	way := make(chan chunk, 1024)
	go func() {
		defer close(way)
		for {
			data := make([]byte, 32<<10)
			n, err := from.Read(data)
			if n > 0 {
				way <- chunk{data[:n], time.Now().Add(by)}
			}
			if err != nil {
				return
			}
		}
	}()
	for c := range way {
		time.Sleep(time.Until(c.due)) // this is the delay that the test wants
		if _, err := to.Write(c.data); err != nil {
			break
		}
	}
	to.Close()
	from.Close()
	for range way { // its reader ends
	}
}
