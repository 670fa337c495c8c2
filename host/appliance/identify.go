// SPDX-License-Identifier: Apache-2.0

package appliance

import (
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"time"

	"oneslot.dev/oneslot/certificate"
	"oneslot.dev/oneslot/wire"
)

// A decision is who a certificate belongs to and what that client may do with a
// token, or a *wire.Refusal. It is made from files that are read anew, so it can
// be made again while a connection lasts.
type decision struct {
	client *Client
	grant  Grant
}

// decide finds the client of a certificate in the register. chain are further
// certificates that the client sent.
func (c *Config) decide(cert *x509.Certificate, chain []*x509.Certificate, token string, now time.Time) (*decision, error) {
	if err := certificate.Valid(cert, now); err != nil {
		return nil, &wire.Refusal{Code: wire.RefusedExpired, Text: err.Error()}
	}
	client, err := Register(c.Register).Owner(certificate.Of(cert))
	if err == nil && client == nil && c.ClientCA != "" {
		client, err = c.ownerByName(cert, chain, now)
	}
	switch {
	case err != nil:
		return nil, err
	case client == nil:
		return nil, &wire.Refusal{Code: wire.RefusedUnknown, Text: "no client is registered here by the certificate " + certificate.Of(cert).String()}
	}
	// A token that is not granted and one that is not there look the same.
	grant := client.grant(token)
	if grant == nil || c.token(token) == nil {
		return &decision{client: client}, &wire.Refusal{Code: wire.RefusedToken, Text: fmt.Sprintf("client %s is not granted a token %q", client.Name, token)}
	}
	return &decision{client, *grant}, nil
}

// ownerByName finds a client by the name in a certificate of the authority.
func (c *Config) ownerByName(cert *x509.Certificate, chain []*x509.Certificate, now time.Time) (*Client, error) {
	clients, err := Register(c.Register).Clients()
	if err != nil {
		return nil, err
	}
	var client *Client
	for _, k := range clients {
		if k.CAName != "" && named(cert, k.CAName) {
			client = k
		}
	}
	if client == nil {
		return nil, nil
	}
	roots, err := c.roots()
	if err != nil {
		return nil, err
	}
	between := x509.NewCertPool()
	for _, k := range chain {
		between.AddCert(k)
	}
	chains, err := cert.Verify(x509.VerifyOptions{
		Roots: roots, Intermediates: between, CurrentTime: now, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	})
	if err != nil {
		return nil, &wire.Refusal{Code: wire.RefusedCertificate, Text: "the certificate is not accepted: " + err.Error()}
	}
	return client, c.revoked(cert, chains[0], now)
}

func named(cert *x509.Certificate, name string) bool {
	if cert.Subject.CommonName == name {
		return true
	}
	for _, n := range cert.DNSNames {
		if n == name {
			return true
		}
	}
	return false
}

// roots are the authorities of clients.
func (c *Config) roots() (*x509.CertPool, error) {
	text, err := readTrusted(c.ClientCA)
	if err != nil {
		return nil, fmt.Errorf("client_ca: %w", err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("client_ca: %s holds no certificate in PEM form", c.ClientCA)
	}
	return roots, nil
}

// revocations is the CRL. One that cannot be read or is out of date lets nobody in: it
// might name them.
func (c *Config) revocations(now time.Time) (*x509.RevocationList, error) {
	text, err := os.ReadFile(c.CRL)
	if err != nil {
		return nil, fmt.Errorf("crl: %w", err)
	}
	if block, _ := pem.Decode(text); block != nil {
		text = block.Bytes
	}
	list, err := x509.ParseRevocationList(text)
	if err != nil {
		return nil, fmt.Errorf("crl %s: %w", c.CRL, err)
	}
	if !list.NextUpdate.IsZero() && now.After(list.NextUpdate) {
		return nil, fmt.Errorf("crl %s: it is out of date since %s: fetch a new one", c.CRL, list.NextUpdate.UTC().Format(time.RFC3339))
	}
	return list, nil
}

// authorities says whether clients can be known by the name in their certificate, as far as
// that can be told before one comes.
func (c *Config) authorities(now time.Time) error {
	if c.ClientCA == "" {
		return nil
	}
	_, err := c.roots()
	if err == nil && c.CRL != "" {
		_, err = c.revocations(now)
	}
	return err
}

// revoked looks a certificate up in the CRL. One that is not signed by the issuer lets
// nobody in, either.
func (c *Config) revoked(cert *x509.Certificate, chain []*x509.Certificate, now time.Time) error {
	if c.CRL == "" {
		return nil
	}
	list, err := c.revocations(now)
	switch {
	case err != nil:
		return err
	case len(chain) < 2:
		return errors.New("crl: the certificate is its own authority")
	case list.CheckSignatureFrom(chain[1]) != nil:
		return fmt.Errorf("crl %s: it is not signed by the authority that issued the client's certificate", c.CRL)
	}
	for _, entry := range list.RevokedCertificateEntries {
		if entry.SerialNumber.Cmp(cert.SerialNumber) == 0 {
			return &wire.Refusal{Code: wire.RefusedRevoked, Text: "the certificate was revoked on " + entry.RevocationTime.UTC().Format(time.RFC3339)}
		}
	}
	return nil
}
