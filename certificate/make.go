// SPDX-License-Identifier: Apache-2.0

package certificate

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// clockSkew is how far the clocks of the two ends may differ at the beginning.
const clockSkew = time.Hour

// A Wish says what certificate to make.
type Wish struct {
	Name  string        // common name
	Hosts []string      // names and addresses of an appliance; none for a client
	Valid time.Duration // from now on
}

// New makes a key and a certificate signed with it, as PEM. Nobody vouches for
// it: the other end knows it by its fingerprint.
func New(w Wish) (certPEM, keyPEM []byte, cert *x509.Certificate, err error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, nil, err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, nil, nil, err
	}
	now := time.Now()
	form := &x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{CommonName: w.Name},
		NotBefore:    now.Add(-clockSkew),
		NotAfter:     now.Add(w.Valid),
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	if len(w.Hosts) > 0 {
		form.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	}
	for _, host := range w.Hosts {
		if ip := net.ParseIP(host); ip != nil {
			form.IPAddresses = append(form.IPAddresses, ip)
		} else {
			form.DNSNames = append(form.DNSNames, host)
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, form, form, key.Public(), key)
	if err != nil {
		return nil, nil, nil, err
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, nil, nil, err
	}
	cert, err = x509.ParseCertificate(der)
	certPEM = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	keyPEM = pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})
	return certPEM, keyPEM, cert, err
}

// Exposed says of a key file that everybody on this host may read it, "" if that is not so
// or cannot be told. A group may: it is how several accounts share one. Unlike ssh with
// such a file, nobody is refused for it: that would end a service that works.
func Exposed(keyFile string) string {
	info, err := os.Stat(keyFile)
	if err != nil || info.Mode().Perm()&0o004 == 0 {
		return ""
	}
	return "everybody on this host may read it: chmod o-rwx " + keyFile
}

// WriteNew makes a certificate and writes the pair. It overwrites nothing: a key
// that is gone cannot be had back.
func WriteNew(w Wish, certFile, keyFile string) (*x509.Certificate, error) {
	certPEM, keyPEM, cert, err := New(w)
	if err != nil {
		return nil, err
	}
	if err := create(keyFile, keyPEM, 0o600); err != nil {
		return nil, err
	}
	if err := create(certFile, certPEM, 0o644); err != nil {
		return nil, errors.Join(err, os.Remove(keyFile))
	}
	return cert, nil
}

func create(path string, text []byte, mode os.FileMode) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if errors.Is(err, os.ErrExist) {
		return fmt.Errorf("%s is there already and is not overwritten: move it away or take another name", path)
	}
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	return errors.Join(err, f.Close())
}

// Read reads the first certificate of a PEM file.
func Read(path string) (*x509.Certificate, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		if block.Type == "CERTIFICATE" {
			cert, err := x509.ParseCertificate(block.Bytes)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", path, err)
			}
			return cert, nil
		}
	}
	return nil, fmt.Errorf("%s holds no certificate in PEM form", path)
}
