// SPDX-License-Identifier: Apache-2.0

package appliance

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"os"
	"path/filepath"
	"testing"
	"time"

	"oneslot.dev/oneslot/wire"
)

// An authority issues certificates to clients.
type authority struct {
	t    *testing.T
	key  *ecdsa.PrivateKey
	cert *x509.Certificate
}

func newAuthority(t *testing.T) *authority {
	a := &authority{t: t}
	a.key, a.cert = a.make("authority", nil, true)
	return a
}

func (a *authority) make(name string, by *authority, isCA bool) (*ecdsa.PrivateKey, *x509.Certificate) {
	a.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	serial, _ := rand.Int(rand.Reader, big.NewInt(1<<60))
	form := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: name}, IsCA: isCA, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign | x509.KeyUsageCRLSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	parent, signer := form, key
	if by != nil {
		parent, signer = by.cert, by.key
	}
	der, err := x509.CreateCertificate(rand.Reader, form, parent, key.Public(), signer)
	if err != nil {
		a.t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		a.t.Fatal(err)
	}
	return key, cert
}

func (a *authority) issue(name string) *x509.Certificate {
	_, cert := a.make(name, a, false)
	return cert
}

// revoke writes a list of revoked certificates.
func (a *authority) revoke(file string, until time.Time, certs ...*x509.Certificate) {
	a.t.Helper()
	list := &x509.RevocationList{Number: big.NewInt(1), ThisUpdate: time.Now().Add(-2 * time.Hour), NextUpdate: until}
	for _, c := range certs {
		list.RevokedCertificateEntries = append(list.RevokedCertificateEntries, x509.RevocationListEntry{SerialNumber: c.SerialNumber, RevocationTime: time.Now()})
	}
	der, err := x509.CreateRevocationList(rand.Reader, list, a.cert, a.key)
	if err != nil {
		a.t.Fatal(err)
	}
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "X509 CRL", Bytes: der}), 0o600); err != nil {
		a.t.Fatal(err)
	}
}

func TestClientsOfAnAuthority(t *testing.T) {
	folder := t.TempDir()
	ours, foreign := newAuthority(t), newAuthority(t)
	c := &Config{Register: folder, ClientCA: filepath.Join(folder, "ca.pem"), Tokens: []Token{{Name: "ca"}}}
	if err := os.WriteFile(c.ClientCA, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: ours.cert.Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	err := Register(folder).Change("web", func(*Client) (*Client, error) {
		return &Client{Name: "web", CAName: "web.example.org", Grants: []Grant{{Token: "ca"}}}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	good, other := ours.issue("web.example.org"), ours.issue("web.example.org")
	check := func(what string, cert *x509.Certificate, want wire.RefusalCode) {
		t.Helper()
		d, err := c.decide(cert, nil, "ca", time.Now())
		var refusal *wire.Refusal
		switch {
		case want == "" && (err != nil || d.client.Name != "web"):
			t.Errorf("%s: %v", what, err)
		case want == wire.RefusedOutOfOrder && (err == nil || errors.As(err, &refusal)):
			t.Errorf("%s: %v", what, err)
		case want != "" && want != wire.RefusedOutOfOrder && (!errors.As(err, &refusal) || refusal.Code != want):
			t.Errorf("%s: %v, not %s", what, err, want)
		}
	}
	check("issued", good, "")
	check("another name", ours.issue("mail.example.org"), wire.RefusedUnknown)
	check("another authority, the right name", foreign.issue("web.example.org"), wire.RefusedCertificate)

	c.CRL = filepath.Join(folder, "crl.pem")
	check("no list although there must be one", good, wire.RefusedOutOfOrder)
	ours.revoke(c.CRL, time.Now().Add(time.Hour), other)
	check("not on the list", good, "")
	check("on the list", other, wire.RefusedRevoked)
	ours.revoke(c.CRL, time.Now().Add(-time.Minute), other)
	check("an old list", good, wire.RefusedOutOfOrder)
	foreign.revoke(c.CRL, time.Now().Add(time.Hour))
	check("somebody else's list", good, wire.RefusedOutOfOrder)
}
