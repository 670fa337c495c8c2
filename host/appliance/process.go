// SPDX-License-Identifier: Apache-2.0

package appliance

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"time"

	"oneslot.dev/oneslot/certificate"
	"oneslot.dev/oneslot/host"
	"oneslot.dev/oneslot/wire"
	"oneslot.dev/oneslot/wire/stream"
)

// recheckEvery is how often a client that is connected is looked up again.
const recheckEvery = time.Minute

// drainIdle is how long nothing must have been asked of a connection that drains
// before it ends by itself: its client does not know that it is to go.
const drainIdle = 30 * time.Second

// A process serves one connection: one application of one client on one token.
type process struct {
	desk   *desk
	log    *slog.Logger
	config *Config
	token  string // its name
	client string // its name, once it is let in

	cert  *x509.Certificate
	chain []*x509.Certificate
}

// Serve is the whole life of the process of a connection. Everything it has to
// say, the listener logs; an error is for what the listener cannot know.
func Serve(socket net.Conn, parent *net.UnixConn) error {
	p := &process{desk: newDesk(parent)}
	p.log = p.desk.logger()
	first, err := p.desk.next()
	if err != nil {
		return fmt.Errorf("no configuration from the listener: %w", err)
	}
	p.config = first.Config
	if tcp, ok := socket.(*net.TCPConn); ok {
		if socket, err = stream.Prepare(tcp); err != nil {
			return err
		}
	}
	socket.SetDeadline(time.Now().Add(time.Duration(p.config.Limits.Handshake)))
	made, err := p.greet(socket)
	if err != nil {
		return p.refuse(made, err)
	}
	return p.serve(made, first.Draining)
}

// greet does the handshake and reads which token is wanted. The connection it
// returns can carry a refusal, if the handshake is done.
func (p *process) greet(conn net.Conn) (*tls.Conn, error) {
	pair, err := tls.LoadX509KeyPair(p.config.Certificate, p.config.Key)
	if err != nil {
		return nil, fmt.Errorf("certificate and key of the appliance: %w", err)
	}
	secure := tls.Server(conn, &tls.Config{
		MinVersion:   tls.VersionTLS13,
		Certificates: []tls.Certificate{pair},
		NextProtos:   []string{wire.ALPN},
		// Any certificate will do for the handshake, which proves that the
		// client has its key. Who that is, and whether it is still valid, the
		// register says, and the client is told.
		ClientAuth: tls.RequireAnyClientCert,
		// Each connection proves anew who it is.
		SessionTicketsDisabled: true,
		// A frame is one record, and one packet where it fits.
		DynamicRecordSizingDisabled: true,
	})
	if err := secure.Handshake(); err != nil {
		return nil, &wire.Refusal{Code: "handshake", Text: err.Error()}
	}
	state := secure.ConnectionState()
	p.cert, p.chain = state.PeerCertificates[0], state.PeerCertificates[1:]
	p.log = p.log.With("certificate", certificate.Of(p.cert).Short())
	if state.NegotiatedProtocol != wire.ALPN {
		return secure, &wire.Refusal{Code: wire.RefusedVersion, Text: "the client does not offer the protocol " + wire.ALPN + " (ALPN)"}
	}
	p.token, err = wire.ReadKnock(secure)
	return secure, err
}

// refuse ends a connection that is not let in, and says why: to the operator in
// the log, to the client by a code.
func (p *process) refuse(conn *tls.Conn, err error) error {
	var refusal *wire.Refusal
	if !errors.As(err, &refusal) {
		refusal = &wire.Refusal{Code: wire.RefusedOutOfOrder, Text: "the appliance cannot serve: its operator finds the reason in its log"}
		if conn != nil && p.token == "" { // it was the client that went away
			refusal = &wire.Refusal{Code: wire.RefusedMalformed, Text: "no greeting came"}
		}
		p.log.Error("connection-refused", "code", string(refusal.Code), "token", p.token, "reason", err)
	} else {
		p.log.Warn("connection-refused", "code", string(refusal.Code), "token", p.token, "reason", refusal.Text)
	}
	if conn != nil {
		wire.SendRefusal(conn, refusal)
		conn.Close()
	}
	return nil
}

// serve lets the client in, or not, and answers it until the connection ends.
func (p *process) serve(conn *tls.Conn, draining bool) error {
	if draining {
		return p.refuse(conn, &wire.Refusal{Code: wire.RefusedDraining, Text: "the appliance is going down for maintenance"})
	}
	d, err := p.config.decide(p.cert, p.chain, p.token, time.Now())
	if d != nil {
		p.log = p.log.With("client", d.client.Name)
	}
	if err == nil {
		err = p.desk.admit(d.client.Name)
	}
	if err != nil {
		return p.refuse(conn, err)
	}
	p.client = d.client.Name
	p.note(d.client)
	tries, err := Register(p.config.Register).tries(d.client.Name, &p.config.Limits)
	if err != nil {
		return p.refuse(conn, err)
	}
	token := p.config.token(p.token)
	if err := p.settle(token); err != nil {
		return p.refuse(conn, err)
	}
	p.log = p.log.With("token", p.token)
	audit := newAudit(p.log)
	behind := host.New(host.Config{Module: token.Module, Label: token.Label, Serial: token.Serial, Init: token.Init, Log: p.log})
	g := newGuard(behind, p.token, d.grant, &p.config.Limits, tries, audit, p.log)
	if err := wire.Welcome(conn); err != nil {
		return p.refuse(nil, err)
	}
	conn.SetDeadline(time.Time{})
	begin := time.Now()
	p.log.Info("client-connected", "grant", d.grant.String())
	why := p.answer(conn, g)
	audit.flush()
	p.log.Info("client-disconnected", "reason", why, "after", time.Since(begin).Round(time.Millisecond), "calls", audit.calls())
	return nil
}

// note keeps in mind when the client's certificate ends, and says so if nobody
// else will: of who is known by an authority, the register knows no certificate.
func (p *process) note(c *Client) {
	if c.knownBy(certificate.Of(p.cert)) {
		if err := Register(p.config.Register).learn(c, p.cert); err != nil {
			p.log.Warn("register-not-written", "reason", err) // the expiry stays unknown
		}
	} else if text := certificate.Warning(p.cert.NotAfter, time.Now()); text != "" {
		p.log.Warn("certificate-expires", "whose", "client "+c.Name, "when", text)
	}
}

// settle gives up what the connection does not need, before a line of the
// vendor's code has run.
func (p *process) settle(token *Token) error {
	if err := becomeUser(p.config.User); err != nil {
		return err
	}
	for name, value := range token.Env {
		if err := os.Setenv(name, value); err != nil {
			return fmt.Errorf("token %s: env: %w", token.Name, err)
		}
	}
	if p.config.User == "" {
		return nil
	}
	// The register is read again while the connection lasts.
	if _, err := p.config.decide(p.cert, p.chain, p.token, time.Now()); err != nil {
		return fmt.Errorf("user %s: %w: let that user read the register", p.config.User, err)
	}
	return nil
}

// answer serves the token until the connection ends, and says why it did.
func (p *process) answer(conn net.Conn, g *guard) (why string) {
	draining, ended := make(chan struct{}), make(chan struct{})
	cut := make(chan string, 1)
	var over error // written before ended is closed
	// Twice as many streams as sessions: those beyond are told why they get none.
	service := stream.Service{
		Host: g, Streams: uint32(2*p.config.Limits.Sessions + 16), Memory: uint64(p.config.Limits.Memory) << 20,
		Message: time.Duration(p.config.Limits.Message), Draining: draining,
	}
	go func() {
		defer close(ended)
		over = service.Serve(conn)
	}()
	go g.audit.run(time.Duration(p.config.Limits.Audit), ended)
	go p.watch(g, draining, ended, func(reason string) {
		cut <- reason
		conn.SetDeadline(time.Unix(1, 0)) // whatever the client does
	})
	<-ended
	select {
	case why = <-cut:
	default:
		why = "the client closed the connection, or is gone"
		switch {
		case errors.Is(over, stream.ErrMemory):
			why = over.Error() + " (limits: memory)"
		case errors.Is(over, stream.ErrUnfinished):
			why = over.Error() + " (limits: message)"
		case over != nil:
			why = over.Error()
		}
	}
	return why
}

// watch ends the connection when it has to end. It calls cut at most once.
func (p *process) watch(g *guard, draining chan<- struct{}, ended <-chan struct{}, cut func(reason string)) {
	orders := make(chan *order)
	go p.receive(orders, ended)
	recheck := time.NewTicker(recheckEvery)
	defer recheck.Stop()
	var age <-chan time.Time
	if limit := time.Duration(p.config.Limits.ConnectionAge); limit > 0 {
		timer := time.NewTimer(limit)
		defer timer.Stop()
		age = timer.C
	}
	reason := ""
	for reason == "" {
		var err error
		select {
		case o := <-orders:
			switch {
			case o == nil:
				reason = "the listener is gone"
			case o.Draining:
				reason = "drained: the appliance goes down for maintenance"
			case o.Config != nil:
				p.config = o.Config
				reason, err = p.recheck(g)
			}
		case <-recheck.C:
			reason, err = p.recheck(g)
		case <-age:
			reason = "drained: the connection is as old as it may be (limits: connection_age)"
		case <-ended:
			return
		}
		var refusal *wire.Refusal
		switch {
		case errors.As(err, &refusal) && refusal.Code == wire.RefusedExpired:
			reason = "drained: " + refusal.Text
		case errors.As(err, &refusal):
			// The operator took the client's right away: at once.
			cut(string(refusal.Code) + ": " + refusal.Text)
			return
		case err != nil:
			p.log.Error("client-not-checked", "reason", err)
		}
	}
	p.log.Info("connection-draining", "reason", reason)
	close(draining)
	cut(p.outwait(g, orders, ended, reason))
}

// recheck looks the client up again. What its grant says now counts at once; the
// connection drains for that, since the client knows the old one.
func (p *process) recheck(g *guard) (drain string, err error) {
	d, err := p.config.decide(p.cert, p.chain, p.token, time.Now())
	if err != nil {
		return "", err
	}
	before := g.grant.Load()
	switch {
	case d.client.Name != p.client:
		return "", &wire.Refusal{Code: wire.RefusedUnknown, Text: "the certificate is now one of client " + d.client.Name}
	case *before == d.grant:
		return "", nil
	case before.Officer && !d.grant.Officer:
		// The security officer may be logged in.
		return "", &wire.Refusal{Code: wire.RefusedToken, Text: "the client is no security officer any more"}
	}
	g.grant.Store(&d.grant)
	return "drained: the client's grant has changed: " + d.grant.String(), nil
}

// outwait waits until the client has gone, or has asked nothing for a while, or
// has been given all the time there is, or has lost its right: that ends it at once,
// whatever it drains for. It returns why the connection ends.
func (p *process) outwait(g *guard, orders <-chan *order, ended <-chan struct{}, reason string) string {
	ctx, cancel := context.WithTimeout(context.Background(), time.Duration(p.config.Limits.Drain))
	defer cancel()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	recheck := time.NewTicker(recheckEvery)
	defer recheck.Stop()
	for {
		select {
		case <-ended:
			return reason
		case <-ctx.Done():
			return reason
		case o := <-orders:
			if o == nil {
				orders = nil // the listener is gone: there are no more
				continue
			}
			if o.Config != nil {
				p.config = o.Config
			}
		case <-recheck.C:
		case <-tick.C:
			if g.idle() > drainIdle {
				return reason
			}
			continue
		}
		_, err := p.recheck(g)
		var refusal *wire.Refusal
		if errors.As(err, &refusal) && refusal.Code != wire.RefusedExpired {
			return string(refusal.Code) + ": " + refusal.Text
		}
	}
}

// receive passes orders on. Nil says that the listener is gone.
func (p *process) receive(orders chan<- *order, ended <-chan struct{}) {
	for {
		o, err := p.desk.next()
		if err != nil {
			o = nil
		}
		select {
		case orders <- o:
		case <-ended:
			return
		}
		if o == nil {
			return
		}
	}
}
