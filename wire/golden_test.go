// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"oneslot.dev/oneslot/pkcs11"
)

// TestGoldenFrames reads the frames that hold Go and C to PROTOCOL.md, and
// writes them again: what was read must be what is written.
func TestGoldenFrames(t *testing.T) {
	files, err := filepath.Glob("testdata/*.hex")
	if err != nil || len(files) < 24 {
		t.Fatalf("%d golden frames: %v", len(files), err)
	}
	for _, file := range files {
		frame := readHex(t, file)
		if strings.HasSuffix(file, ".request.hex") {
			goldenRequest(t, file, frame)
		} else {
			goldenReply(t, file, frame)
		}
	}
}

func goldenCall(t *testing.T, file string, frame []byte) Call {
	t.Helper()
	if n := binary.LittleEndian.Uint32(frame); int(n) != len(frame)-4 {
		t.Fatalf("%s: length %d of a frame of %d", file, n, len(frame))
	}
	call := New(Number(binary.LittleEndian.Uint32(frame[4:])))
	if call == nil {
		t.Fatalf("%s: no such call", file)
	}
	return call
}

func goldenRequest(t *testing.T, file string, frame []byte) {
	call := goldenCall(t, file, frame)
	d := NewDecoder(frame[8:])
	call.decodeArgs(d)
	if err := d.End(); err != nil {
		t.Errorf("%s: %v", file, err)
		return
	}
	var e Encoder
	call.encodeArgs(&e)
	if !bytes.Equal(e.Buf, frame[8:]) {
		t.Errorf("%s: written again:\n%x\nread:\n%x", file, e.Buf, frame[8:])
	}
}

func goldenReply(t *testing.T, file string, frame []byte) {
	call := goldenCall(t, file, frame)
	rv := pkcs11.RV(binary.LittleEndian.Uint64(frame[8:]))
	if !rv.HasReply() {
		if len(frame) != 16 {
			t.Errorf("%s: %v with a body", file, rv)
		}
		return
	}
	d := NewDecoder(frame[16:])
	call.decodeReply(d)
	if err := d.End(); err != nil {
		t.Errorf("%s: %v", file, err)
		return
	}
	var e Encoder
	call.encodeReply(&e)
	if !bytes.Equal(e.Buf, frame[16:]) {
		t.Errorf("%s: written again:\n%x\nread:\n%x", file, e.Buf, frame[16:])
	}
}

// TestGoldenKeyMaterial reads what the derivations of TLS keys return.
func TestGoldenKeyMaterial(t *testing.T) {
	for name, want := range map[string]KeyMaterial{
		"returned-material":   {[4]uint64{0x11, 0x12, 0x13}, Data([]byte("clientIV")), Data([]byte("serverIV"))},
		"returned-material12": {Keys: [4]uint64{0x11, 0x12, 0x13}, ClientIV: Bytes{Null: true}, ServerIV: Bytes{Null: true}},
	} {
		var c DeriveKey
		d := NewDecoder(readHex(t, "testdata/"+name+".reply.hex")[16:])
		c.decodeReply(d)
		got, ok := DecodeKeyMaterial(c.Returned)
		if err := d.End(); err != nil || !ok || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, %v, want %+v, %v", name, got, ok, want, err)
		}
		if again := got.Encode(); !bytes.Equal(again.Data, c.Returned.Data) {
			t.Errorf("%s: written again:\n%x\nread:\n%x", name, again.Data, c.Returned.Data)
		}
	}
}

func readHex(t testing.TB, file string) []byte {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var digits strings.Builder
	for line := range strings.Lines(string(text)) {
		line, _, _ = strings.Cut(line, "#")
		digits.WriteString(strings.Join(strings.Fields(line), ""))
	}
	frame, err := hex.DecodeString(digits.String())
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return frame
}

// FuzzRequest feeds the decoder of requests. Whatever it accepts it writes
// again in a form that it reads as the same.
func FuzzRequest(f *testing.F) {
	files, _ := filepath.Glob("testdata/*.request.hex")
	for _, file := range files {
		frame := readHex(f, file)
		f.Add(uint32(binary.LittleEndian.Uint32(frame[4:])), frame[8:])
	}
	f.Fuzz(func(t *testing.T, number uint32, body []byte) {
		call := New(Number(number))
		if call == nil {
			return
		}
		d := NewDecoder(body)
		call.decodeArgs(d)
		if d.End() != nil {
			return
		}
		var first, second Encoder
		call.encodeArgs(&first)
		again := New(Number(number))
		d = NewDecoder(first.Buf)
		again.decodeArgs(d)
		if d.End() != nil {
			t.Fatalf("%v: what was written is not read", call.Number())
		}
		again.encodeArgs(&second)
		if !bytes.Equal(first.Buf, second.Buf) {
			t.Fatalf("%v: %x became %x", call.Number(), first.Buf, second.Buf)
		}
	})
}

// FuzzMessage feeds what engine and member read from each other.
func FuzzMessage(f *testing.F) {
	sign := []Call{&SignInit{Key: 5}, &Sign{Data: Data([]byte("data")), SignatureRoom: Room{Capacity: 64}}}
	f.Add(AppendRequest(nil, sign))
	f.Add(appendAnswers(nil, sign))
	f.Add(appendRefusal(nil, pkcs11.CKR_SESSION_COUNT))
	f.Fuzz(func(t *testing.T, message []byte) {
		if calls, err := parseRequest(message); err == nil && len(calls) == 0 {
			t.Fatal("a request without calls")
		}
		calls := []Call{&SignInit{}, &Sign{}, &Find{}, &GetAttributeValue{}, &Describe{}}
		n, err := ParseAnswers(message, calls)
		if err == nil && (n < 1 || n > len(calls)) {
			t.Fatalf("%d answers to %d calls", n, len(calls))
		}
		if err == nil && n < len(calls) && calls[n-1].Result() == pkcs11.CKR_OK {
			t.Fatalf("%d answers to %d calls, and none of a failure", n, len(calls))
		}
	})
}

func TestDecoderLimits(t *testing.T) {
	deep := func(depth int) []byte {
		var e Encoder
		e.Ulong(1)
		e.head(true, 1)
		for range depth {
			e.Ulong(uint64(pkcs11.CKA_WRAP_TEMPLATE))
			e.U8(2)
			e.Ulong(1)
		}
		e.Ulong(uint64(pkcs11.CKA_TOKEN))
		e.U8(1)
		e.Ulong(1)
		e.U8(1)
		return e.Buf
	}
	many := func(n int) []byte {
		var e Encoder
		e.Ulong(1)
		t := make(pkcs11.Template, n)
		for i := range t {
			t[i] = pkcs11.Bool(pkcs11.CKA_TOKEN, true)
		}
		e.Template(t)
		return e.Buf
	}
	lying := func(count uint64) []byte {
		var e Encoder
		e.Ulong(1)
		e.head(true, count)
		return e.Buf
	}
	for _, c := range []struct {
		name string
		body []byte
		ok   bool
	}{
		{"arrays as deep as allowed", deep(MaxDepth), true},
		{"arrays one too deep", deep(MaxDepth + 1), false},
		{"arrays 50 000 deep (field-L4)", deep(50_000), false},
		{"as many attributes as allowed", many(MaxAttributes), true},
		{"one attribute too many", many(MaxAttributes + 1), false},
		{"a count near 2^64", lying(^uint64(0)), false},
		{"a count near 2^32", lying(1 << 32), false},
	} {
		call := new(FindObjectsInit)
		d := NewDecoder(c.body)
		call.decodeArgs(d)
		if err := d.End(); (err == nil) != c.ok {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}
