// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
)

// greetings are the first bytes of each version on a network connection. What is
// here of a version that was released never changes.
var greetings = map[int]struct{ knock, welcome, refusal string }{
	1: {"oneslot 1 engine ca\n", "oneslot 1 welcome\n", "oneslot 1 refused token-not-granted not yours\n"},
}

// talk reads what a peer sends, and keeps what is written.
type talk struct {
	io.Reader
	said bytes.Buffer
}

func (c *talk) Write(b []byte) (int, error) { return c.said.Write(b) }

func TestGoldenGreetings(t *testing.T) {
	g, known := greetings[Version]
	if !known {
		t.Fatalf("version %d has no golden greeting", Version)
	}
	c := &talk{Reader: strings.NewReader(g.welcome)}
	if err := Knock(c, "ca"); err != nil || c.said.String() != g.knock {
		t.Errorf("an engine says %q, %v", c.said.String(), err)
	}
	if token, err := ReadKnock(strings.NewReader(g.knock)); token != "ca" || err != nil {
		t.Errorf("an appliance reads %q, %v", token, err)
	}
	var out bytes.Buffer
	if Welcome(&out); out.String() != g.welcome {
		t.Errorf("an appliance says %q", &out)
	}
	out.Reset()
	if SendRefusal(&out, &Refusal{RefusedToken, "not yours"}); out.String() != g.refusal {
		t.Errorf("an appliance says %q", &out)
	}
	// The codes are what operators look up: they stay.
	var refusal *Refusal
	if err := Knock(&talk{Reader: strings.NewReader(g.refusal)}, "ca"); !errors.As(err, &refusal) || *refusal != (Refusal{"token-not-granted", "not yours"}) {
		t.Errorf("an engine reads %v", err)
	}
	if got := fmt.Sprint(ALPN, " ", serviceName, " ", methodName, " ", noticesName, " ", codecName, " ", headerVersion, " ", headerView, " ", noticeDraining); got != "oneslot oneslot.Member Session Notices oneslot oneslot-version oneslot-view 1" {
		t.Errorf("what gRPC carries is called %q", got)
	}
}

// Each side refuses a version and a role that it does not know, and says so in a
// way that the other's operator can act on.
func TestUnknownVersionsAndRoles(t *testing.T) {
	for knock, want := range map[string]string{
		"oneslot 9 engine ca\n":        `refused: version: this appliance speaks version 1 of the protocol, and the client version "9": have both run releases that speak the same`,
		"oneslot -1 engine ca\n":       `the client version "-1"`,
		"oneslot  engine ca\n":         `the client version ""`,
		"oneslot 9 x y z\n":            `refused: version`, // a later version may say anything after it
		"oneslot 1 administrator ca\n": `refused: role: this appliance serves engines, each for one token, and not the role "administrator"`,
		"oneslot 1 engine\n":           `refused: role`,
	} {
		if _, err := ReadKnock(strings.NewReader(knock)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("appliance: %q: %v", knock, err)
		}
	}
	for answer, want := range map[string]string{
		"oneslot 9 welcome\n":                         `the appliance speaks version "9" of the protocol, and this client version 1: have both run`,
		"oneslot 9 refused version speak version 9\n": `refused: version: speak version 9`, // also a later appliance is understood
		"oneslot 1 come-in\n":                         "malformed",
	} {
		if err := Knock(&talk{Reader: strings.NewReader(answer)}, "ca"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("engine: %q: %v", answer, err)
		}
	}
}

// A stream says its version too: what is behind a greeting that somebody else
// made is not taken on trust.
func TestUnknownVersionOfAStream(t *testing.T) {
	for want, header := range map[string][]string{
		`speaks version 1 of the protocol, and the engine version ["9"]`: {headerVersion, "9", headerView, "group"},
		`the engine version []`:       {headerView, "group"},
		`there is no view [everyone]`: {headerVersion, "1", headerView, "everyone"},
		`there is no view []`:         {headerVersion, "1"},
	} {
		ours, theirs := pair(t, syscall.SOCK_STREAM)
		go ServeStreams(theirs, echo{})
		client, err := NewStreams(ours)
		if err != nil {
			t.Fatal(err)
		}
		c := client.(*streamClient)
		ctx := metadata.AppendToOutgoingContext(t.Context(), header...)
		stream, err := c.grpc.NewStream(ctx, &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, "/"+serviceName+"/"+methodName)
		if err != nil {
			t.Fatal(err)
		}
		if err := stream.RecvMsg(&packet{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v; want %q", header, err, want)
		}
		client.Close()
	}
}

// FuzzGreeting feeds both ends of the greeting. Nobody reads beyond the line,
// and whatever is let in or refused can be shown on a terminal.
func FuzzGreeting(f *testing.F) {
	for _, g := range greetings {
		f.Add([]byte(g.knock))
		f.Add([]byte(g.welcome))
		f.Add([]byte(g.refusal))
	}
	f.Add([]byte("SSH-2.0-OpenSSH\r\n"))
	f.Add([]byte("oneslot 1 engine \x1b[2J\n"))
	printable := func(t *testing.T, text string) {
		if strings.ContainsFunc(text, func(c rune) bool { return c < ' ' || c == 0x7f }) {
			t.Fatalf("%q was let through", text)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		in := bytes.NewReader(data)
		token, err := ReadKnock(in)
		var refusal *Refusal
		switch {
		case err == nil:
			printable(t, token)
		case errors.As(err, &refusal):
			var out bytes.Buffer
			SendRefusal(&out, refusal)
			if err := Knock(&talk{Reader: &out}, "ca"); !errors.As(err, &refusal) {
				t.Fatalf("the refusal of %q is read as %v", data, err)
			}
		}
		if read := len(data) - in.Len(); read > maxKnock || read > 1+bytes.IndexByte(append(data, '\n'), '\n') {
			t.Fatalf("%d bytes of %q were read", read, data)
		}
		in = bytes.NewReader(data)
		if err := Knock(&talk{Reader: in}, "ca"); err != nil && !errors.Is(err, io.EOF) {
			printable(t, err.Error())
		}
		if read := len(data) - in.Len(); read > maxWelcome {
			t.Fatalf("%d bytes were read", read)
		}
	})
}

// FuzzConnection feeds both ends of what follows the greeting. Neither may crash
// or stay, whatever the other sends before it hangs up.
func FuzzConnection(f *testing.F) {
	const preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
	f.Add([]byte(preface))
	f.Add([]byte(preface + "\x00\x00\x00\x04\x00\x00\x00\x00\x00"))           // SETTINGS
	f.Add([]byte("\x00\x00\x00\x04\x00\x00\x00\x00\x00\x00\x00\x08\x07\x00")) // SETTINGS, half a GOAWAY
	f.Add(append([]byte(preface), recording(f)...))                           // what an engine says
	f.Fuzz(func(t *testing.T, data []byte) {
		send := func(serve func(net.Conn)) {
			ours, theirs := net.Pipe()
			over := make(chan struct{})
			go func() {
				defer close(over)
				serve(theirs)
			}()
			go io.Copy(io.Discard, ours)
			ours.SetWriteDeadline(time.Now().Add(time.Second)) // it may have hung up, or read no more
			ours.Write(data)
			ours.Close()
			<-over
		}
		send(func(c net.Conn) { ServeStreams(c, echo{}) })
		send(func(c net.Conn) {
			client, err := NewStreams(c)
			if err != nil {
				t.Fatal(err)
			}
			defer client.Close()
			if s, err := client.Open(GroupView); err == nil {
				if _, _, err := s.Do(context.Background(), ample, ample, random(8)); err == nil {
					t.Log("answered")
				}
			}
		})
	})
}

// recording is what an engine sends after the preface that makes one call.
func recording(tb testing.TB) []byte {
	ours, theirs := pair(tb, syscall.SOCK_STREAM)
	kept := &keeping{Conn: theirs}
	done := make(chan struct{})
	go func() {
		defer close(done)
		ServeStreams(kept, echo{})
	}()
	client, err := NewStreams(ours)
	if err != nil {
		tb.Fatal(err)
	}
	s, err := client.Open(GroupView)
	if err != nil {
		tb.Fatal(err)
	}
	if _, _, err := s.Do(context.Background(), ample, ample, random(8)); err != nil {
		tb.Fatal(err)
	}
	client.Close()
	<-done
	return bytes.TrimPrefix(kept.said.Bytes(), []byte("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"))
}

// keeping keeps what is read from it.
type keeping struct {
	net.Conn
	said bytes.Buffer
}

func (k *keeping) Read(b []byte) (int, error) {
	n, err := k.Conn.Read(b)
	k.said.Write(b[:n])
	return n, err
}
