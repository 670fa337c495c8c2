// SPDX-License-Identifier: Apache-2.0

package token

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// A Load is many threads at work on a token, each in a session of its own.
type Load struct {
	stop    chan struct{}
	once    sync.Once // closes stop
	threads sync.WaitGroup

	verified, failed, wrong atomic.Int64
	longest                 atomic.Int64 // since the last Slice

	mu       sync.Mutex // guards what follows
	total    Result
	problems []error // the first few
}

// A Result counts calls. A call is the pair of Init and single-part function.
type Result struct {
	Verified int64 // succeeded, and the answer is right
	Failed   int64 // returned an error
	Wrong    int64 // returned a wrong answer
	Longest  time.Duration
}

// Start begins to work: thread after thread takes the next kind of work, and
// then each goes round through all of them.
func (t *Token) Start(threads int, works ...Work) *Load { return t.StartPaced(0, threads, works...) }

// StartPaced begins to work with a pause of each thread after each call, so that the
// machine has time for others.
func (t *Token) StartPaced(pause time.Duration, threads int, works ...Work) *Load {
	l := &Load{stop: make(chan struct{})}
	for i := range threads {
		l.threads.Go(func() {
			s, err := t.Session()
			if err != nil {
				l.note(&l.failed, err)
				return
			}
			for n := i; l.running(); n++ {
				l.one(works[n%len(works)], func(w Work) (func() error, error) { return w.Do(s) })
				l.rest(pause)
			}
			if err := t.CloseSession(s); err != nil {
				l.note(&l.failed, fmt.Errorf("C_CloseSession: %w", err))
			}
		})
	}
	return l
}

func (l *Load) running() bool {
	select {
	case <-l.stop:
		return false
	default:
		return true
	}
}

func (l *Load) rest(pause time.Duration) {
	if pause == 0 {
		return
	}
	select {
	case <-l.stop:
	case <-time.After(pause):
	}
}

func (l *Load) one(w Work, do func(Work) (func() error, error)) {
	begin := time.Now()
	check, err := do(w)
	took := int64(time.Since(begin))
	for {
		longest := l.longest.Load()
		if took <= longest || l.longest.CompareAndSwap(longest, took) {
			break
		}
	}
	if err == nil {
		err = check()
	}
	switch {
	case err == nil:
		l.verified.Add(1)
	case errors.Is(err, ErrWrong):
		l.note(&l.wrong, fmt.Errorf("%s: %w", w.Name, err))
	default:
		l.note(&l.failed, fmt.Errorf("%s: %w", w.Name, err))
	}
}

func (l *Load) note(counter *atomic.Int64, err error) {
	counter.Add(1)
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.problems) < 10 {
		l.problems = append(l.problems, fmt.Errorf("%s %w", time.Now().UTC().Format("15:04:05.000"), err))
	}
}

// Slice returns what happened since the last Slice.
func (l *Load) Slice() Result {
	r := Result{
		Verified: l.verified.Swap(0),
		Failed:   l.failed.Swap(0),
		Wrong:    l.wrong.Swap(0),
		Longest:  time.Duration(l.longest.Swap(0)),
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.total.Verified += r.Verified
	l.total.Failed += r.Failed
	l.total.Wrong += r.Wrong
	l.total.Longest = max(l.total.Longest, r.Longest)
	return r
}

// Total is what happened so far. The error holds the first few problems, and is
// nil if there was none.
func (l *Load) Total() (Result, error) {
	l.Slice()
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.total, errors.Join(l.problems...)
}

// Stop lets the calls under way end, and returns the total. It may be called
// again.
func (l *Load) Stop() (Result, error) {
	l.once.Do(func() { close(l.stop) })
	l.threads.Wait()
	return l.Total()
}
