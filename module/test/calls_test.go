// SPDX-License-Identifier: Apache-2.0

package module_test

import (
	"io"
	"sync/atomic"
	"testing"
)

const (
	encrypt           = 31
	getAttributeValue = 25
)

// calls runs one part of testdata/calls.c against the engine.
func calls(t *testing.T, v variant, part string, e *testEngine) string {
	t.Helper()
	c := v.command(t, "calls", part)
	c.Env = append(c.Env, "ONESLOT_SOCKET="+e.listen(t))
	return run(t, c)
}

// saying is an engine that gives one answer to one call and is polite otherwise.
func saying(to uint32, answer []byte) *testEngine {
	return &testEngine{answer: func(call uint32, args []byte) []byte {
		if call == to {
			return answer
		}
		return polite(call, args)
	}}
}

// An engine that breaks the protocol loses the connection, and the application
// never gets more than it has room for.
func TestLyingEngine(t *testing.T) {
	good := reply(sign, ok, byte(1), 3, []byte("sig"))
	withLength := func(n byte) []byte { return append([]byte{n, 0, 0, 0}, good[4:]...) }
	for name, answer := range map[string][]byte{
		"longer than the room":        reply(sign, ok, byte(1), 9, []byte("signature")),
		"longer than the frame":       reply(sign, ok, byte(1), 8, []byte("sig")),
		"absurd length":               reply(sign, ok, byte(1), -1, []byte("sig")),
		"length without data":         reply(sign, ok, byte(0), 3),
		"data with an error":          reply(sign, 0x150, byte(1), 3, []byte("sig")),
		"body with an error":          reply(sign, sessionClosed, byte(1), 3, []byte("sig")),
		"no body":                     reply(sign, ok),
		"bytes left over":             reply(sign, ok, byte(1), 3, []byte("sig!")),
		"presence of neither kind":    reply(sign, ok, byte(2), 3, []byte("sig")),
		"another call":                reply(getSlotList, ok, byte(1), 3, []byte("sig")),
		"two replies":                 append(append([]byte{}, good...), good...),
		"reply and alive":             append(append([]byte{}, good...), alive...),
		"alive with a body":           {5, 0, 0, 0, 0, 0, 0, 0, 1},
		"no header":                   {4, 0, 0, 0, sign, 0, 0, 0},
		"rv cut short":                {8, 0, 0, 0, sign, 0, 0, 0, 0, 0, 0, 0},
		"frame shorter than a header": {3, 0, 0, 0, 0, 0, 0},
		"frame of nothing":            {0, 0, 0, 0, 0, 0, 0, 0},
		"frame beyond the limit":      {1, 0, 0, 1, sign, 0, 0, 0},
		"frame of four gigabytes":     {255, 255, 255, 255, sign, 0, 0, 0},
		"closed at once":              nil,
	} {
		t.Run(name, func(t *testing.T) { calls(t, sanitized, "lie", saying(sign, answer)) })
	}
	t.Run("longer than the buffer", func(t *testing.T) {
		calls(t, sanitized, "greedy", saying(sign, reply(sign, ok, byte(1), 1<<20, []byte("sig"))))
	})
	// What is announced and does not come ends with the connection, or in silence.
	t.Run("closed in the middle", func(t *testing.T) {
		calls(t, sanitized, "lie", closingAfter(withLength(100)))
	})
	t.Run("silent in the middle", func(t *testing.T) {
		calls(t, impatient, "lie", saying(sign, withLength(100)))
	})
	t.Run("silent from the start", func(t *testing.T) {
		calls(t, impatient, "lie", saying(sign, []byte{}))
	})
}

// closingAfter answers sign with what is given and closes.
func closingAfter(answer []byte) *testEngine {
	return &testEngine{answer: func(call uint32, args []byte) []byte {
		if call == sign {
			return answer
		}
		return polite(call, args)
	}, closing: sign}
}

func TestLyingAttributes(t *testing.T) {
	const value, wrap, label = 0x11, 0x40000211, 3
	for name, body := range map[string][]any{
		"fewer answers":               {1, value, byte(1), 4, []byte("abcd")},
		"more answers":                {1 << 40},
		"longer than the room":        {2, value, byte(1), 5, []byte("abcde"), wrap, byte(3), -1},
		"another type":                {2, label, byte(1), 4, []byte("abcd"), wrap, byte(3), -1},
		"array for a value":           {2, value, byte(2), 0, wrap, byte(3), -1},
		"value for an array":          {2, value, byte(3), -1, wrap, byte(1), 4, []byte("abcd")},
		"length for a value":          {2, value, byte(0), 4, wrap, byte(3), -1},
		"more in the array than room": {2, value, byte(3), -1, wrap, byte(2), 3},
		"absurd array":                {2, value, byte(3), -1, wrap, byte(2), -1},
		"absurd number":               {2, value, byte(3), -1, wrap, byte(4), -1},
		"flat room as an array":       {2, value, byte(3), -1, wrap, byte(2), 1, wrap, byte(2), 0},
		"unavailable with a length":   {2, value, byte(3), 4, wrap, byte(3), -1},
		"form of no kind":             {2, value, byte(9), 4, wrap, byte(3), -1},
	} {
		t.Run(name, func(t *testing.T) {
			calls(t, sanitized, "attributes", saying(getAttributeValue, reply(getAttributeValue, ok, body...)))
		})
	}
}

// Silence is counted from the last sign of life: an engine that works for
// longer than the silence, and says so, is waited for.
func TestAliveKeepsACallAlive(t *testing.T) {
	e := &testEngine{answer: polite, slow: sign}
	calls(t, impatient, "patience", e)
}

// Field-H8: who was stopped for longer than a silence finds the answer that has come
// meanwhile.
func TestStoppedInACall(t *testing.T) {
	e := &testEngine{answer: polite, slow: sign}
	calls(t, impatient, "stopped", e)
}

func TestRefusedBeforeSending(t *testing.T) {
	for _, part := range []string{"absurd", "refused"} {
		t.Run(part, func(t *testing.T) {
			both(t, func(t *testing.T, v variant) {
				e := &testEngine{answer: polite}
				calls(t, v, part, e)
				for call, n := range e.calls {
					if call < hello {
						t.Errorf("call %d was sent %d times", call, n)
					}
				}
			})
		})
	}
}

// H5 of the field reports: C_Finalize ends the waiting of other threads.
func TestFinalizeWithBusyThreads(t *testing.T) {
	const threads = 32
	var waiting atomic.Int32
	c := patient.command(t, "calls", "finalize")
	in, tell := io.Pipe()
	c.Stdin = in
	e := &testEngine{answer: func(call uint32, args []byte) []byte {
		if call == sign {
			if waiting.Add(1) == threads {
				go func() { tell.Write([]byte("\n")); tell.Close() }()
			}
			return []byte{} // and no more
		}
		return polite(call, args)
	}}
	c.Env = append(c.Env, "ONESLOT_SOCKET="+e.listen(t))
	run(t, c)
}

func TestMoreThreadsThanConnections(t *testing.T) {
	both(t, func(t *testing.T, v variant) {
		e := &testEngine{answer: polite}
		calls(t, v, "many", e)
		if n := e.count(attach); n < 2 || n > 64 {
			t.Errorf("%d connections for calls, want 2 to 64", n)
		}
	})
}

func TestEngineGone(t *testing.T) {
	both(t, func(t *testing.T, v variant) {
		var e *testEngine
		e = &testEngine{answer: func(call uint32, args []byte) []byte {
			if call == sign {
				e.hangUp()
				return nil
			}
			return polite(call, args)
		}}
		calls(t, v, "gone", e)
	})
}

func TestLargeData(t *testing.T) {
	both(t, func(t *testing.T, v variant) {
		const head = 8 + 1 + 8 // session, presence and length of the data
		const room = 1 + 8
		calls(t, v, "large", &testEngine{answer: func(call uint32, args []byte) []byte {
			if call == encrypt {
				data := args[head : len(args)-room]
				return reply(call, ok, byte(1), len(data), data)
			}
			return polite(call, args)
		}})
	})
}

// Not a promise, a number to look at. The engine is the real one's framing.
func TestLatency(t *testing.T) {
	e := &testEngine{frames: true}
	t.Logf("C_GetSessionInfo, median: %s ns", calls(t, plain, "latency", e))
}
