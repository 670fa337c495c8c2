// SPDX-License-Identifier: Apache-2.0

// Package remote reaches a member on an appliance: oneslot-member listening on a
// TLS port elsewhere. Both ends show a certificate, and each knows the other's.
package remote

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync/atomic"
	"syscall"
	"time"

	"oneslot.dev/oneslot/certificate"
	"oneslot.dev/oneslot/member"
	"oneslot.dev/oneslot/wire"
	"oneslot.dev/oneslot/wire/stream"
)

// Config says which token of which appliance, and how both ends know each other.
type Config struct {
	Name    string
	Address string // host:port
	Token   string // what the appliance calls the token

	// Certificate and Key are this client's, as PEM files. They are read
	// anew for each connection.
	Certificate, Key string

	// The appliance is pinned: by the fingerprint of its certificate, or by
	// the name in one that an authority of ServerCA issued.
	Server     string
	ServerName string
	ServerCA   string
}

// greetTimeout bounds the time from the first packet to being let in. An
// appliance that can be reached takes milliseconds for it.
const greetTimeout = 10 * time.Second

// Member is a member on an appliance.
type Member struct {
	config Config
	shown  atomic.Pointer[x509.Certificate] // what the appliance showed last
}

// New returns a member that is connected with at each Connect.
func New(c Config) *Member { return &Member{config: c} }

// Name is the member's name in the configuration.
func (m *Member) Name() string { return m.config.Name }

// Connect dials, proves who is there at both ends, asks for the token, and has
// it describe itself.
func (m *Member) Connect(ctx context.Context) (member.Conn, error) {
	conn, err := m.enter(ctx)
	if err != nil {
		return nil, &member.Fault{Member: m.config.Name, Err: err}
	}
	client := stream.New(conn)
	made, err := member.Greet(ctx, m.config.Name, client, func() {})
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, &member.Fault{Member: m.config.Name, Err: m.explain(ctx, "description of the token", ctx.Err())}
	case err != nil:
		return nil, &member.Fault{Member: m.config.Name, Err: m.inside(client.Err(), err)}
	}
	return made, nil
}

// endedInside is the code of a connection that the appliance let in and that was
// gone before the token had described itself. An appliance cannot say it: who
// would is gone.
const endedInside = "connection-ended"

// inside says why there is no token behind a connection that the appliance let
// in. gone is why the connection is, if it is.
func (m *Member) inside(gone, err error) error {
	var fault *member.Fault
	if errors.As(err, &fault) {
		err = fault.Err
	}
	if gone != nil && !errors.Is(gone, wire.ErrClosed) {
		return fmt.Errorf("%s: %s: the appliance let this client in, and its process for it ended before it had the token: the vendor's module may have crashed; the appliance's log says more (%w)", m.config.Address, endedInside, gone)
	}
	return fmt.Errorf("%s: %w", m.config.Address, err)
}

// enter returns a connection on which the appliance has let this client in.
func (m *Member) enter(ctx context.Context) (net.Conn, error) {
	settings, err := m.settings()
	if err != nil {
		return nil, err
	}
	limit, cancel := context.WithTimeout(ctx, greetTimeout)
	defer cancel()
	socket, err := new(net.Dialer).DialContext(limit, "tcp", m.config.Address)
	if err != nil {
		return nil, m.explain(ctx, "connect", err)
	}
	if err := wire.KeepAlive(socket.(*net.TCPConn)); err != nil {
		socket.Close()
		return nil, fmt.Errorf("%s: %w", m.config.Address, err)
	}
	// Whatever is waited for from here on ends with the context.
	stop := context.AfterFunc(limit, func() { socket.SetDeadline(time.Unix(1, 0)) })
	prepared, err := stream.Prepare(socket.(*net.TCPConn))
	if err != nil {
		stop()
		socket.Close()
		return nil, fmt.Errorf("%s: %w", m.config.Address, err)
	}
	conn := tls.Client(prepared, settings)
	what := "TLS handshake"
	if err = conn.Handshake(); err == nil {
		what = "greeting"
		err = wire.Knock(conn, m.config.Token)
	}
	if !stop() && err == nil {
		err = limit.Err()
	}
	if err != nil {
		socket.Close()
		return nil, m.explain(ctx, what, err)
	}
	return conn, nil
}

// explain says what failed, and what to do about what an operator can mend.
func (m *Member) explain(ctx context.Context, what string, err error) error {
	var refusal *wire.Refusal
	var unpinned *notPinned
	switch {
	case errors.As(err, &refusal):
		return fmt.Errorf("%s: the appliance refused: %s: %s", m.config.Address, refusal.Code, refusal.Text)
	case errors.As(err, &unpinned):
		return fmt.Errorf("%s: %w", m.config.Address, unpinned)
	case ctx.Err() != nil:
		return fmt.Errorf("%s: %s: %w", m.config.Address, what, ctx.Err())
	case errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, context.DeadlineExceeded), errors.Is(err, syscall.ETIMEDOUT):
		return fmt.Errorf("%s: %s: no answer within %v: is the address right, and does a firewall let it through?", m.config.Address, what, greetTimeout)
	case what != "connect" && (errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)):
		return fmt.Errorf("%s: %s: the appliance closed the connection: it may have too many of them; its log says why", m.config.Address, what)
	}
	return fmt.Errorf("%s: %s: %w%s", m.config.Address, what, err, advice(err))
}

// advice says what to look at when an appliance is not reached.
func advice(err error) string {
	var name *net.DNSError
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return ": nothing listens there, or a firewall refuses it: does `oneslot-member listen` run on that host, at this port?"
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return ": there is no way to that host: is it up, is the address right, and is the routing of this host?"
	case errors.As(err, &name) && name.IsNotFound:
		return ": no host is called so: correct address, or the name service"
	case errors.As(err, &name):
		return ": the name service gives no answer: see /etc/resolv.conf, or write address with a number"
	case errors.As(err, new(tls.RecordHeaderError)):
		return ": what listens there speaks no TLS, so it is no appliance: is the port right?"
	}
	return ""
}

// settings are read for each connection: certificates are replaced while
// applications run (field-L9).
func (m *Member) settings() (*tls.Config, error) {
	pair, err := tls.LoadX509KeyPair(m.config.Certificate, m.config.Key)
	if err != nil {
		return nil, fmt.Errorf("certificate of this client: %w", err)
	}
	if err := certificate.Valid(pair.Leaf, time.Now()); err != nil {
		return nil, fmt.Errorf("certificate of this client, %s: %w: make a new one with `oneslot cert new`, and have it registered", m.config.Certificate, err)
	}
	verify, err := m.verify()
	if err != nil {
		return nil, err
	}
	return &tls.Config{
		MinVersion:   tls.VersionTLS13,
		Certificates: []tls.Certificate{pair},
		NextProtos:   []string{wire.ALPN},
		ServerName:   m.config.ServerName,
		// The default check would accept any certificate for the name that
		// any authority of this host issued. Verification follows instead.
		InsecureSkipVerify: true,
		VerifyConnection:   verify,
		// A frame is one record, and one packet where it fits.
		DynamicRecordSizingDisabled: true,
	}, nil
}

// notPinned is the fault of a server that is not the one that is meant.
type notPinned struct{ why string }

func (n *notPinned) Error() string { return n.why }

// verify makes the check of the server's certificate.
func (m *Member) verify() (func(tls.ConnectionState) error, error) {
	var wanted certificate.Fingerprint
	roots := x509.NewCertPool()
	if m.config.Server != "" {
		var err error
		if wanted, err = certificate.Parse(m.config.Server); err != nil {
			return nil, fmt.Errorf("server: %w", err)
		}
	} else {
		text, err := os.ReadFile(m.config.ServerCA)
		if err != nil {
			return nil, fmt.Errorf("server_ca: %w", err)
		}
		if !roots.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("server_ca: %s holds no certificate in PEM form", m.config.ServerCA)
		}
	}
	return func(state tls.ConnectionState) error {
		shown := state.PeerCertificates[0]
		m.shown.Store(shown)
		if m.config.Server == "" {
			return m.verifyName(state, roots)
		}
		if got := certificate.Of(shown); got != wanted {
			return &notPinned{fmt.Sprintf("the appliance shows another certificate than the pinned one, %s: if its operator confirms that fingerprint, put it into server", got)}
		}
		if err := certificate.Valid(shown, time.Now()); err != nil {
			return &notPinned{"certificate of the appliance: " + err.Error()}
		}
		return nil
	}, nil
}

func (m *Member) verifyName(state tls.ConnectionState, roots *x509.CertPool) error {
	between := x509.NewCertPool()
	for _, c := range state.PeerCertificates[1:] {
		between.AddCert(c)
	}
	shown := state.PeerCertificates[0]
	_, err := shown.Verify(x509.VerifyOptions{Roots: roots, Intermediates: between, DNSName: m.config.ServerName})
	advice := ""
	switch {
	case err == nil:
		return nil
	case errors.As(err, new(x509.HostnameError)):
		advice = ": correct server_name, or ask whose appliance this is"
	case errors.As(err, new(x509.UnknownAuthorityError)):
		advice = fmt.Sprintf(": no authority in server_ca (%s) has issued it; it is %s", m.config.ServerCA, certificate.Of(shown))
	}
	return &notPinned{"certificate of the appliance: " + err.Error() + advice}
}
