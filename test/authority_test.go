// SPDX-License-Identifier: Apache-2.0

package test_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// An authority issues certificates to appliances and their clients.
type authority struct {
	n      *network
	key    *ecdsa.PrivateKey
	cert   *x509.Certificate
	issued map[string]*big.Int // serial numbers by name
}

// newAuthority makes one that an appliance accepts, with a list of revoked
// certificates, which is empty.
func (n *network) newAuthority(member string) *authority {
	n.t.Helper()
	a := n.authority()
	a.write("ca.pem", "CERTIFICATE", a.cert.Raw)
	a.revoke()
	conf := n.applianceConf(member)
	text, err := os.ReadFile(conf)
	n.must(err)
	const at = "register = \"clients\"\n"
	more := at + "client_ca = \"" + a.file("ca.pem") + "\"\ncrl = \"" + a.file("crl.pem") + "\"\n"
	n.must(os.WriteFile(conf, []byte(strings.Replace(string(text), at, more, 1)), 0o600))
	n.reload(member)
	return a
}

// authority makes one that nobody knows of.
func (n *network) authority() *authority {
	n.t.Helper()
	a := &authority{n: n, issued: map[string]*big.Int{}}
	a.key, a.cert = a.make("authority")
	return a
}

func (a *authority) file(name string) string { return filepath.Join(a.n.Dir, name) }

func (a *authority) write(name, kind string, der []byte) {
	a.n.t.Helper()
	// In one step: connections read it at any time.
	a.n.must(os.WriteFile(a.file(name+".new"), pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600))
	a.n.must(os.Rename(a.file(name+".new"), a.file(name)))
}

// make makes a key and its certificate; the first is the authority's own.
func (a *authority) make(name string) (*ecdsa.PrivateKey, *x509.Certificate) {
	a.n.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	a.n.must(err)
	form := &x509.Certificate{
		SerialNumber: big.NewInt(int64(len(a.issued)) + 1), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IsCA: a.cert == nil, BasicConstraintsValid: true,
		KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth},
		DNSNames:    []string{name},
	}
	parent, signer := form, key
	if a.cert != nil {
		parent, signer = a.cert, a.key
	}
	der, err := x509.CreateCertificate(rand.Reader, form, parent, key.Public(), signer)
	a.n.must(err)
	cert, err := x509.ParseCertificate(der)
	a.n.must(err)
	a.issued[name] = cert.SerialNumber
	return key, cert
}

// issue writes a certificate and its key.
func (a *authority) issue(name, file string) {
	a.n.t.Helper()
	key, cert := a.make(name)
	der, err := x509.MarshalPKCS8PrivateKey(key)
	a.n.must(err)
	a.write(file+".crt", "CERTIFICATE", cert.Raw)
	a.write(file+".key", "PRIVATE KEY", der)
}

// client is the world of a client with a certificate of the authority, known to
// an appliance by the name in it.
func (a *authority) client(member, name string) *world {
	a.n.t.Helper()
	a.issue(name, name)
	a.n.register(member, "add", name, "--token=token", "--ca-name="+name)
	return a.n.client(name)
}

// revoke writes the list of revoked certificates.
func (a *authority) revoke(names ...string) {
	a.n.t.Helper()
	list := &x509.RevocationList{Number: big.NewInt(1), ThisUpdate: time.Now().Add(-time.Hour), NextUpdate: time.Now().Add(24 * time.Hour)}
	for _, name := range names {
		list.RevokedCertificateEntries = append(list.RevokedCertificateEntries,
			x509.RevocationListEntry{SerialNumber: a.issued[name], RevocationTime: time.Now()})
	}
	der, err := x509.CreateRevocationList(rand.Reader, list, a.cert, a.key)
	a.n.must(err)
	a.write("crl.pem", "X509 CRL", der)
}

// N1; field-L9: a certificate is revoked under load, and the list read again. Its
// client is cut off and refused with a code; the other loses no call and keeps
// its process.
func TestNetworkRevokedUnderLoad(t *testing.T) {
	if !inNamespace(t) {
		return
	}
	n := newNetwork(t, 1)
	authority := n.newAuthority("a")
	stays, goes := authority.client("a", "stays"), authority.client("a", "goes")
	var both []*stress
	for _, w := range []*world{stays, goes} {
		s := w.stress("-for=0", "-threads=4", "-work=rsa,ecdsa", "-key="+filepath.Base(w.Conf))
		t.Cleanup(func() {
			s.Process.Kill()
			_ = s.Wait()
		})
		n.work(s) // before the next logs in, see TestNetworkTenApplications
		both = append(both, s)
	}
	before := n.served("a", 2)
	n.reload("a") // of the list that names nobody
	n.work(both...)
	if now := n.served("a", 2); !slices.Equal(before, now) {
		t.Errorf("processes %v before, %v after an empty list was read", before, now)
	}

	authority.revoke("goes")
	n.reload("a")
	n.cutOff("a", "goes", "certificate-revoked")
	n.left("a", before, 1)
	n.work(both[0])
	both[0].end()
	if said := goes.check(); !strings.Contains(said, "certificate-revoked") {
		t.Errorf("oneslot check of the revoked client does not say why:\n%s", said)
	}
	if out, err := n.Command(n.Program, "check", "--config", stays.Conf).CombinedOutput(); err != nil {
		t.Errorf("the client that stays: %v\n%s", err, out)
	}
}

// N1; field-L9: an appliance gets its next certificate under load. Connections that
// there are go on; new ones meet the next certificate, which has to be the pinned one.
func TestNetworkCertificateReplacedUnderLoad(t *testing.T) {
	if !inNamespace(t) {
		return
	}
	n := newNetwork(t, 1)
	other := n.registered("other")
	a := n.login()
	load := a.load(4, a.everything()...)
	before := n.served("a", 1)
	for _, file := range []string{"appliance.crt", "appliance.key"} {
		n.must(os.Remove(filepath.Join(n.Dir, "a", file)))
	}
	made := exec.Command(filepath.Join(bin, "oneslot-member"), "cert", "new", "--config="+n.applianceConf("a"))
	out, err := made.Output()
	n.must(err)
	next := strings.TrimSpace(string(out))
	n.reload("a")
	n.must(n.Works("a"))
	if now := n.served("a", 1); !slices.Equal(before, now) {
		t.Errorf("processes %v before, %v after the certificate was replaced", before, now)
	}
	if said := other.check(); !strings.Contains(said, "another certificate than the pinned one, "+next) {
		t.Errorf("oneslot check does not tell of the next certificate:\n%s", said)
	}
	text, err := os.ReadFile(other.Conf)
	n.must(err)
	_, rest, _ := strings.Cut(string(text), "\nserver = \"")
	pinned, _, _ := strings.Cut(rest, "\"")
	n.must(os.WriteFile(other.Conf, []byte(strings.Replace(string(text), pinned, next, 1)), 0o600))
	if out, err := n.Command(n.Program, "check", "--config", other.Conf).CombinedOutput(); err != nil {
		t.Errorf("with the next certificate pinned: %v\n%s", err, out)
	}
	unharmed(t, load)
}

// N1; field-L9: an appliance that is pinned by its name gets a certificate of another
// authority under load, and the client the bundle of that one. No call fails, whichever
// comes first; what is connected goes on, new connections use what is there now, and a
// bundle that is none is told of.
func TestNetworkServerAuthorityReplacedUnderLoad(t *testing.T) {
	if !inNamespace(t) {
		return
	}
	n := newNetwork(t, 1)
	first, second := n.authority(), n.authority()
	bundle := func(text []byte) { // in one step, as the manual of every such tool says
		t.Helper()
		n.must(os.WriteFile(first.file("server.new"), text, 0o600))
		n.must(os.Rename(first.file("server.new"), first.file("server.pem")))
	}
	root := func(a *authority) []byte {
		return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.cert.Raw})
	}
	first.issue("hsm1", "a/appliance")
	bundle(root(first))
	text, err := os.ReadFile(n.Conf)
	n.must(err)
	pinned := regexp.MustCompile(`(?m)^server = .*$`).ReplaceAll(text, []byte("server_name = \"hsm1\"\nserver_ca = \"server.pem\""))
	n.must(os.WriteFile(n.Conf, pinned, 0o600))
	n.must(n.Set(`probe_timeout = "40s"`, `command_timeout = "50s"`)) // how long calls wait for a member
	other := n.registered("other")
	connects := func(when string) {
		t.Helper()
		if out, err := n.Command(n.Program, "check", "--config", other.Conf).CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", when, err, out)
		}
	}
	refused := func(when, why string) {
		t.Helper()
		if said := other.check(); !strings.Contains(said, why) {
			t.Errorf("%s oneslot check does not say %q:\n%s", when, why, said)
		}
	}
	a := n.login()
	load := a.load(4, a.everything()...)
	before := n.served("a", 1)
	connects("with the first authority")

	bundle(root(second))
	refused("with the next bundle only", "no authority in server_ca ("+first.file("server.pem")+") has issued it")
	second.issue("hsm1", "a/appliance")
	n.reload("a")
	connects("with the next authority")
	bundle([]byte("nonsense"))
	refused("with a bundle that is none", "server_ca: "+first.file("server.pem")+" holds no certificate in PEM form")
	n.must(os.Remove(first.file("server.pem")))
	refused("without a bundle", "server_ca: open "+first.file("server.pem"))
	n.must(n.Works("a"))
	if now := n.served("a", 1); !slices.Equal(before, now) {
		t.Errorf("processes %v before, %v after authority and bundle were replaced", before, now)
	}

	// The engine that runs connects anew, and finds the bundle that is there then.
	bundle(append(root(first), root(second)...))
	n.must(syscall.Kill(before[0], syscall.SIGKILL))
	n.await("another process on the appliance", func() bool {
		now := children(n.listener("a"))
		return len(now) == 1 && now[0] != before[0]
	})
	n.must(n.Ready())
	n.must(n.Works("a"))
	unharmed(t, load)
}
