// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"sync"
	"time"

	"oneslot.dev/oneslot/config"
	"oneslot.dev/oneslot/member"
	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/wire"
)

// magic opens a connection, so that a stray client is told apart.
const magic = "oneslot"

// The roles of a peer (wire/PROTOCOL.md).
const roleModule = 1

// helloTime is how long a new peer may take to say who it is.
const helloTime = 10 * time.Second

// An Engine implements virtual slots for applications.
type Engine struct {
	connect func(config.Member) member.Member
	log     *slog.Logger

	begun func() // see OnBegun
	first sync.Once

	reloading sync.Mutex // one Reload at a time

	mu           sync.Mutex // guards what follows
	config       *config.Config
	applications map[*application]struct{}
}

// New makes an engine. connect makes a member of its configuration.
func New(c *config.Config, connect func(config.Member) member.Member, log *slog.Logger) *Engine {
	return &Engine{config: c, connect: connect, log: log, applications: make(map[*application]struct{})}
}

// OnBegun has f run once, when the members of the first application have begun to
// start: it need not wait for what it does, and they take longer. C_Initialize returns
// after f. It is set before Serve.
func (e *Engine) OnBegun(f func()) { e.begun = f }

// Serve answers one application until it is gone: until its connections have
// ended, or the context. The first connection must say hello.
func (e *Engine) Serve(ctx context.Context, conn *net.UnixConn) error {
	frames := wire.NewFrames(conn)
	defer frames.Close()
	hello, err := e.greet(conn, frames)
	if err != nil {
		return err
	}
	app := newApplication(e, hello)
	if e.begun != nil {
		e.first.Do(e.begun)
	}
	e.track(app, true)
	e.catchUp(app)
	defer e.track(app, false)
	defer app.close()
	defer context.AfterFunc(ctx, func() {
		app.disconnect()
		conn.Close() // a child of the application may hold the other end
	})()
	app.settle(ctx)
	hello.Accepted, hello.Frame, hello.RV = wire.Version, wire.MaxFrame, app.offers()
	if err := frames.Reply(hello); err != nil || hello.RV != pkcs11.CKR_OK {
		return err
	}
	app.answer(frames)
	app.connections.Wait()
	return nil
}

// Refuse answers C_Initialize of an application for which there is no engine,
// so that it fails with CKR_GENERAL_ERROR rather than by a broken connection.
func Refuse(conn *net.UnixConn) {
	frames := wire.NewFrames(conn)
	defer frames.Close()
	if hello, err := new(Engine).greet(conn, frames); err == nil {
		hello.RV = pkcs11.CKR_GENERAL_ERROR
		frames.Reply(hello)
	}
}

// greet reads the hello. What is wrong with it is answered and returned.
func (e *Engine) greet(conn *net.UnixConn, frames *wire.Frames) (*wire.Hello, error) {
	conn.SetReadDeadline(time.Now().Add(helloTime))
	call, err := frames.Next()
	conn.SetReadDeadline(time.Time{})
	if err != nil {
		return nil, fmt.Errorf("hello: %w", err)
	}
	hello, ok := call.(*wire.Hello)
	if !ok || string(hello.Magic.Data) != magic {
		return nil, errors.New("hello: the peer does not speak oneslot's protocol")
	}
	if hello.Version < 1 || hello.Role != roleModule {
		hello.RV = pkcs11.CKR_FUNCTION_REJECTED
		frames.Reply(hello)
		return nil, fmt.Errorf("hello: version %d, role %d: this engine serves modules and speaks version %d", hello.Version, hello.Role, wire.Version)
	}
	return hello, nil
}

// present is the configuration that is in force.
func (e *Engine) present() *config.Config {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.config
}

func (e *Engine) track(app *application, here bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if here {
		e.applications[app] = struct{}{}
	} else {
		delete(e.applications, app)
	}
}

// answer answers the calls of one connection until it ends.
func (a *application) answer(frames *wire.Frames) {
	defer frames.Close()
	var last wire.Call
	call, err := frames.Next()
	for ; ; call, err = frames.ReplyNext(call, carriesSecret(call)) {
		if err != nil {
			if frames.Lost() {
				a.unheard(last)
			}
			if !errors.Is(err, io.EOF) && !errors.Is(err, net.ErrClosed) {
				a.log.Warn("a connection of the application ended", "reason", err)
			}
			return
		}
		last = call
		if attach, ok := call.(*wire.Attach); ok {
			attach.RV = a.attach(frames)
		} else if !wire.DispatchCryptoki(a.ctx, a, call) && !wire.DispatchOnce(a.ctx, a, call) {
			a.log.Warn("a connection of the application ended", "reason", fmt.Sprintf("an application may not call %v", call.Number()))
			return
		}
	}
}

// attach takes a further connection of the application.
func (a *application) attach(frames *wire.Frames) pkcs11.RV {
	further, err := frames.Attached()
	if err != nil {
		return pkcs11.CKR_FUNCTION_REJECTED
	}
	if !a.adopt(further) {
		further.Close()
		return pkcs11.CKR_CRYPTOKI_NOT_INITIALIZED
	}
	return pkcs11.CKR_OK
}

// carriesSecret says whether the arguments of a call are to be wiped.
func carriesSecret(call wire.Call) bool {
	switch call.Number() {
	case wire.NumberLogin, wire.NumberLoginUser, wire.NumberSetPIN, wire.NumberInitPIN, wire.NumberInitToken, wire.NumberCreateObject:
		return true
	}
	return false
}
