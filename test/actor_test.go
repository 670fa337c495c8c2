// SPDX-License-Identifier: Apache-2.0

package test_test

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"time"

	p11 "github.com/miekg/pkcs11"

	"oneslot.dev/oneslot/test/cluster"
	"oneslot.dev/oneslot/test/history"
	"oneslot.dev/oneslot/test/token"
)

// An actor is an application in a process of its own: the test program, started
// again. It does what it is told, line by line, several threads at a time, each in
// a session of its own.

// actorVariable says to the test program how many threads it has as an actor.
const actorVariable = "ONESLOT_TEST_ACTOR"

// An order is what one thread of an actor is to do.
type order struct {
	Thread int
	Kind   history.Kind
	Object string
	Label  string
}

// An account is what came of it.
type account struct {
	Thread  int
	Outcome history.Outcome
	Labels  map[string]string // of all objects, by their name
	MAC     []byte            // that the object made of macText
	Why     string            // it failed
	Wrong   string            // what no token may do
}

// macText is what keys are used on. A key is known by what it makes of it.
var macText = []byte("one text for all")

// An actor as the test sees it.
type actor struct {
	*exec.Cmd
	w  *world
	in io.WriteCloser

	mu    sync.Mutex // guards what is written to orders
	lines *json.Encoder
	done  []chan account // of each thread
}

// actor starts an application that is logged in.
func (w *world) actor(threads int) *actor {
	w.t.Helper()
	program, err := os.Executable()
	w.must(err)
	a := &actor{Cmd: w.Command(program), w: w}
	a.Env = append(a.Env, fmt.Sprint(actorVariable, "=", threads))
	a.Stderr = os.Stderr
	a.in, err = a.StdinPipe()
	w.must(err)
	out, err := a.StdoutPipe()
	w.must(err)
	a.lines = json.NewEncoder(a.in)
	for range threads {
		a.done = append(a.done, make(chan account, 1))
	}
	w.must(a.Start())
	w.t.Cleanup(func() { a.Process.Kill() }) // where it is not at its end
	hello := make(chan account, 1)
	go func() {
		defer close(hello)
		for d := json.NewDecoder(out); ; {
			var got account
			if err := d.Decode(&got); err != nil {
				for _, done := range a.done {
					close(done)
				}
				return
			}
			if got.Thread < 0 {
				hello <- got
				continue
			}
			a.done[got.Thread] <- got
		}
	}()
	if got := <-hello; got.Outcome != history.Done {
		w.t.Fatalf("an application does not start: %s", got.Why)
	}
	return a
}

// do has a thread carry out an order.
func (a *actor) do(o order) account {
	a.mu.Lock()
	err := a.lines.Encode(o)
	a.mu.Unlock()
	if err != nil {
		return account{Outcome: history.Failed, Wrong: fmt.Sprint("the application is gone: ", err)}
	}
	got, alive := <-a.done[o.Thread]
	if !alive {
		return account{Outcome: history.Failed, Wrong: "the application is gone"}
	}
	return got
}

// engine is the process ID of the actor's engine.
func (a *actor) engine() int {
	a.w.t.Helper()
	all, err := a.w.Status()
	a.w.must(err)
	for _, s := range all {
		for _, application := range s.Applications {
			if application.PID == a.Process.Pid {
				return s.Engine.PID
			}
		}
	}
	a.w.t.Fatalf("application %d has no engine: %+v", a.Process.Pid, all)
	return 0
}

// members are the actor's own processes of a member.
func (a *actor) members(name string) (pids []int) {
	engine := a.engine()
	for _, p := range a.w.Processes() {
		if p.Member == name && p.Parent == engine {
			pids = append(pids, p.PID)
		}
	}
	return pids
}

// leave lets it come to an end, which must be a good one.
func (a *actor) leave() {
	a.w.t.Helper()
	a.w.must(a.in.Close())
	defer time.AfterFunc(cluster.Patience, func() { a.Process.Kill() }).Stop()
	for _, done := range a.done {
		for range done { // nothing comes any more
		}
	}
	if err := a.Wait(); err != nil {
		a.w.t.Errorf("an application ended badly: %v", err)
	}
}

// A cast is what an actor is on its own side.
type cast struct {
	*token.Token

	mu      sync.Mutex // guards what follows
	out     *json.Encoder
	handles map[string]p11.ObjectHandle // kept for good: they stay valid (H1)
}

// beActor is main of an actor.
func beActor() (code int) {
	var threads int
	fmt.Sscan(os.Getenv(actorVariable), &threads)
	c := &cast{out: json.NewEncoder(os.Stdout), handles: make(map[string]p11.ObjectHandle)}
	var err error
	if c.Token, err = token.Open(os.Getenv("MODULE"), os.Getenv("TOKEN")); err == nil {
		defer c.Close()
		_, err = c.Login(os.Getenv("PIN"))
	}
	orders := make([]chan order, threads)
	var all sync.WaitGroup
	for i := range orders {
		var s p11.SessionHandle
		if err == nil {
			s, err = c.Session()
		}
		orders[i] = make(chan order, 1)
		all.Go(func() {
			for o := range orders[i] {
				c.tell(c.act(s, o))
			}
		})
	}
	if err != nil {
		c.tell(account{Thread: -1, Outcome: history.Failed, Why: err.Error()})
		return 1
	}
	c.tell(account{Thread: -1, Outcome: history.Done})
	for d := json.NewDecoder(os.Stdin); ; {
		var o order
		if err := d.Decode(&o); err != nil {
			if err != io.EOF {
				fmt.Fprintln(os.Stderr, "actor:", err)
				code = 1
			}
			break
		}
		orders[o.Thread] <- o
	}
	for _, o := range orders {
		close(o)
	}
	all.Wait()
	return code
}

func (c *cast) tell(a account) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.out.Encode(a); err != nil {
		fmt.Fprintln(os.Stderr, "actor:", err)
	}
}

// act carries out an order.
func (c *cast) act(s p11.SessionHandle, o order) account {
	a := account{Thread: o.Thread, Outcome: history.Done}
	var err error
	switch o.Kind {
	case history.Create:
		err = c.create(s, o)
	case history.Find:
		a.Labels, err = c.look(s)
	default:
		a.MAC, err = c.touch(s, o)
	}
	switch {
	case err == nil:
	case errors.Is(err, errMissing):
		a.Outcome = history.Missing
	case errors.Is(err, p11.Error(p11.CKR_DEVICE_ERROR)) && o.Kind != history.Create && o.Kind != history.Find:
		a.Outcome, a.Why = history.Nowhere, err.Error()
	case errors.Is(err, token.ErrWrong):
		a.Outcome, a.Wrong = history.Failed, err.Error()
	default:
		a.Outcome, a.Why = history.Failed, err.Error()
	}
	return a
}

var errMissing = errors.New("it is not there")

// missing says so if that is what an error means.
func missing(err error) error {
	if errors.Is(err, p11.Error(p11.CKR_OBJECT_HANDLE_INVALID)) || errors.Is(err, p11.Error(p11.CKR_KEY_HANDLE_INVALID)) {
		return errMissing
	}
	return err
}

// isGenerated says whether the HSM chooses the value of an object. Else it is valueOf.
func isGenerated(object string) bool { return object[len(object)-1]%2 == 1 }

func valueOf(object string) []byte {
	sum := sha256.Sum256([]byte("the value of " + object))
	return sum[:]
}

// create makes a secret key whose ID is the object's name.
func (c *cast) create(s p11.SessionHandle, o order) error {
	template := []*p11.Attribute{
		token.Class(p11.CKO_SECRET_KEY), p11.NewAttribute(p11.CKA_KEY_TYPE, p11.CKK_GENERIC_SECRET),
		p11.NewAttribute(p11.CKA_TOKEN, true), p11.NewAttribute(p11.CKA_PRIVATE, true), p11.NewAttribute(p11.CKA_SENSITIVE, true),
		p11.NewAttribute(p11.CKA_SIGN, true), p11.NewAttribute(p11.CKA_ID, o.Object), token.Label(o.Label),
	}
	var made p11.ObjectHandle
	var err error
	if isGenerated(o.Object) {
		mechanism := []*p11.Mechanism{p11.NewMechanism(p11.CKM_GENERIC_SECRET_KEY_GEN, nil)}
		made, err = c.GenerateKey(s, mechanism, append(template, p11.NewAttribute(p11.CKA_VALUE_LEN, 32)))
	} else {
		made, err = c.CreateObject(s, append(template, p11.NewAttribute(p11.CKA_VALUE, valueOf(o.Object))))
	}
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.handles[o.Object] = made
	return nil
}

// handle is what the process calls an object, or will from now on.
func (c *cast) handle(s p11.SessionHandle, object string) (p11.ObjectHandle, error) {
	c.mu.Lock()
	known := c.handles[object]
	c.mu.Unlock()
	if known != 0 {
		return known, nil
	}
	found, err := c.Find(s, token.Class(p11.CKO_SECRET_KEY), p11.NewAttribute(p11.CKA_ID, object))
	switch {
	case err != nil:
		return 0, err
	case len(found) == 0:
		return 0, errMissing
	case len(found) > 1:
		return 0, fmt.Errorf("%w: %s is found %d times", token.ErrWrong, object, len(found))
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.handles[object] = found[0]
	return found[0], nil
}

// touch changes, destroys or uses an object.
func (c *cast) touch(s p11.SessionHandle, o order) (mac []byte, err error) {
	h, err := c.handle(s, o.Object)
	if err != nil {
		return nil, err
	}
	switch o.Kind {
	case history.Label:
		err = c.SetAttributeValue(s, h, []*p11.Attribute{token.Label(o.Label)})
	case history.Destroy:
		err = c.DestroyObject(s, h)
	case history.Use:
		if err = c.SignInit(s, []*p11.Mechanism{p11.NewMechanism(p11.CKM_SHA256_HMAC, nil)}, h); err == nil {
			mac, err = c.Sign(s, macText)
		}
	}
	return mac, missing(err)
}

// look searches for everything. An object that is gone before its label is read is
// missing.
func (c *cast) look(s p11.SessionHandle) (map[string]string, error) {
	found, err := c.Find(s, token.Class(p11.CKO_SECRET_KEY))
	if err != nil {
		return nil, err
	}
	labels := make(map[string]string)
	for _, h := range found {
		got, err := c.GetAttributeValue(s, h, []*p11.Attribute{p11.NewAttribute(p11.CKA_ID, nil), p11.NewAttribute(p11.CKA_LABEL, nil)})
		switch {
		case errors.Is(missing(err), errMissing), errors.Is(err, p11.Error(p11.CKR_DEVICE_ERROR)):
			continue // with a member away nobody says that it is gone (field-G8)
		case err != nil:
			return nil, fmt.Errorf("C_GetAttributeValue: %w", err)
		}
		name, label := string(got[0].Value), string(got[1].Value)
		if old, twice := labels[name]; twice {
			return nil, fmt.Errorf("%w: a search finds %s as %q and as %q", token.ErrWrong, name, old, label)
		}
		labels[name] = label
	}
	return labels, nil
}
