// SPDX-License-Identifier: Apache-2.0

package test_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"oneslot.dev/oneslot/host/hosttest"
	"oneslot.dev/oneslot/test/cluster"
)

// A website is a key on the group, a certificate for it, and what speaks TLS with it.
type website struct {
	w       *world
	address string
	roots   *x509.CertPool
	chain   string // file of the certificate
	key     string // URI of the key, with the PIN
	openssl string // file of OpenSSL's configuration
	slow    map[string]*hosttest.Slow
}

// newWebsite makes the key "k", and a certificate that an authority of this test signs.
func (w *world) newWebsite() *website {
	w.t.Helper()
	slow := map[string]*hosttest.Slow{}
	for _, member := range w.Members {
		slow[member] = w.slow(member)
	}
	authority, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	w.must(err)
	root := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "authority"}, IsCA: true,
		BasicConstraintsValid: true, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour)}
	rootDER, err := x509.CreateCertificate(rand.Reader, root, root, authority.Public(), authority)
	w.must(err)
	root, err = x509.ParseCertificate(rootDER)
	w.must(err)
	leaf := &x509.Certificate{SerialNumber: big.NewInt(2), DNSNames: []string{"web"}, NotBefore: root.NotBefore, NotAfter: root.NotAfter}
	leafDER, err := x509.CreateCertificate(rand.Reader, leaf, root, w.signer(), authority)
	w.must(err)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	w.must(err)
	defer listener.Close() // the server takes the port over
	s := &website{w: w, slow: slow, address: listener.Addr().String(), roots: x509.NewCertPool(),
		chain: filepath.Join(w.Dir, "web.pem"), openssl: filepath.Join(w.Dir, "openssl.cnf"),
		key: fmt.Sprintf("pkcs11:token=%s;object=k;type=private;pin-value=%s", w.Token, w.PIN)}
	s.roots.AddCert(root)
	w.must(os.WriteFile(s.chain, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: leafDER}), 0o644))
	engines, _ := filepath.Glob("/usr/lib/*/engines-3/pkcs11.so")
	if len(engines) == 0 {
		w.t.Fatal("OpenSSL's PKCS#11 engine is not installed: run make deps")
	}
	// nginx loads keys without initialising the engine.
	w.must(os.WriteFile(s.openssl, fmt.Appendf(nil, "openssl_conf = all\n[all]\nengines = engines\n[engines]\npkcs11 = pkcs11\n"+
		"[pkcs11]\nengine_id = pkcs11\ndynamic_path = %s\nMODULE_PATH = %s\ninit = 1\n", engines[0], w.Module), 0o644))
	return s
}

// shake makes a full handshake on a new connection: the server signs once. It is
// TLS 1.2, and the servers are told to sign by PKCS #1 v1.5: a signature by PSS or
// ECDSA that fails is tried by libp11 once more in another way, so that a call that
// the group should not have failed would not be seen here.
func (s *website) shake() error {
	dialer := tls.Dialer{NetDialer: &net.Dialer{Timeout: cluster.Patience},
		Config: &tls.Config{RootCAs: s.roots, ServerName: "web", MaxVersion: tls.VersionTLS12}}
	conn, err := dialer.DialContext(s.w.t.Context(), "tcp", s.address)
	if err == nil {
		conn.Close()
	}
	return err
}

// run starts the server, in the foreground, and ends it after serve.
func (s *website) run(serve func(), name string, args ...string) {
	s.w.t.Helper()
	c := s.w.Command(name, args...)
	c.Env = append(c.Env, "OPENSSL_CONF="+s.openssl)
	var said bytes.Buffer
	c.Stdout, c.Stderr = &said, &said
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Apache ends its whole process group
	s.w.must(c.Start())
	ended := make(chan error, 1)
	go func() { ended <- c.Wait() }()
	defer func() {
		c.Process.Signal(syscall.SIGTERM)
		if err := <-ended; err != nil || s.w.t.Failed() {
			s.w.t.Errorf("%s: %v\n%s", name, err, said.String())
		}
		s.w.alone()
	}()
	s.w.await(name+" answers", func() bool {
		return len(ended) > 0 || s.shake() == nil
	})
	if len(ended) == 0 {
		serve()
	}
}

// load makes handshakes while members die and come back. None may fail. Each dies
// with a signature in it: only workers sign, so it is a worker's process that dies. No
// other does: workers come and go, and one that has just come may be in its login.
func (s *website) load() {
	var done atomic.Int64
	var clients sync.WaitGroup
	stop := make(chan struct{})
	for range 4 {
		clients.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if err := s.shake(); err != nil {
					s.w.t.Errorf("handshake %d: %v", done.Load(), err)
				}
				done.Add(1)
			}
		})
	}
	defer clients.Wait()
	defer close(stop)
	const function = "C_SignInit"
	signs := func(member, seconds string, isMeant func(pid int) bool) (undo func()) {
		undo = s.slow[member].Make(function, seconds)
		s.w.await("a signature on member "+member, func() bool {
			return slices.ContainsFunc(s.slow[member].Callers(function), isMeant)
		})
		return undo
	}
	for i, harm := range []syscall.Signal{syscall.SIGKILL, syscall.SIGSTOP} {
		member := s.w.Members[i]
		undo := signs(member, "3600", func(int) bool { return true }) // until its process ends
		before := s.w.PIDs(member)
		for _, pid := range s.slow[member].Callers(function) {
			s.w.must(syscall.Kill(pid, harm))
		}
		undo()
		begin := done.Load()
		s.w.await("handshakes go on", func() bool { return done.Load() >= begin+40 })
		signs(member, "0", func(pid int) bool { return !slices.Contains(before, pid) })() // it is back
	}
	s.w.t.Logf("%d handshakes", done.Load())
}

// nginx forks its workers after it loaded the key, and empties their environment.
// They sign on while members die (issue 3, 7; field-E).
func TestNginxWhileMembersDie(t *testing.T) {
	if !inNamespace(t) {
		return
	}
	w := newWorld(t, 3)
	s := w.newWebsite()
	user := ""
	if os.Geteuid() == 0 {
		user = "user root root;\n"
	}
	temporary := ""
	for _, kind := range []string{"client_body", "proxy", "fastcgi", "uwsgi", "scgi"} {
		temporary += fmt.Sprintf("%s_temp_path %s/tmp;\n", kind, w.Dir)
	}
	conf := filepath.Join(w.Dir, "nginx.conf")
	w.must(os.WriteFile(conf, fmt.Appendf(nil, "%sworker_processes 2; daemon off; pid %[2]s/nginx.pid; error_log stderr warn;\nevents {}\n"+
		"http { access_log off; ssl_session_cache off; ssl_session_tickets off;\n"+
		"ssl_protocols TLSv1.2; ssl_conf_command SignatureAlgorithms RSA+SHA256;\n%[3]sserver { listen %[4]s ssl;\n"+
		"ssl_certificate %[5]s; ssl_certificate_key \"engine:pkcs11:%[6]s\"; return 204; } }\n",
		user, w.Dir, temporary, s.address, s.chain, s.key), 0o600))
	if _, err := exec.LookPath("nginx"); err != nil {
		t.Fatal("nginx is not installed: run make deps")
	}
	s.run(s.load, "nginx", "-e", "stderr", "-c", conf)
}

// Apache initialises in the parent, forks it, and again forks children, which it
// replaces all the time: each makes its first signature as a new application
// (issue 3, 7).
func TestApacheWhileMembersDie(t *testing.T) {
	if !inNamespace(t) {
		return
	}
	w := newWorld(t, 3)
	s := w.newWebsite()
	user := ""
	if os.Geteuid() == 0 {
		// It does not serve as root. What it needs becomes another user's.
		user = "User www-data\nGroup www-data\n"
		w.must(os.Chmod(filepath.Dir(t.TempDir()), 0o755)) // the slow modules are in there
		folders := []string{w.Dir}
		for _, slow := range s.slow {
			folders = append(folders, slow.Folder)
		}
		if out, err := exec.Command("chown", append([]string{"-R", "www-data:www-data"}, folders...)...).CombinedOutput(); err != nil {
			t.Fatalf("chown: %v\n%s", err, out)
		}
	}
	conf := filepath.Join(w.Dir, "httpd.conf")
	text := "ServerRoot %[1]s\nServerName web\nPidFile %[1]s/httpd.pid\n" + user +
		"ErrorLog /dev/stderr\nLogLevel warn\nMutex file:%[1]s default\nListen %[2]s\nDocumentRoot %[1]s\n"
	for _, module := range []string{"mpm_prefork", "authz_core", "ssl"} {
		text += "LoadModule " + module + "_module /usr/lib/apache2/modules/mod_" + module + ".so\n"
	}
	text += "StartServers 2\nMinSpareServers 2\nMaxSpareServers 4\nMaxRequestWorkers 4\nMaxConnectionsPerChild 25\n" +
		"SSLProtocol TLSv1.2\nSSLOpenSSLConfCmd SignatureAlgorithms RSA+SHA256\n" +
		"SSLSessionCache none\nSSLSessionTickets off\nSSLEngine on\nSSLCertificateFile %[3]s\nSSLCertificateKeyFile \"%[4]s\"\n"
	w.must(os.WriteFile(conf, fmt.Appendf(nil, text, w.Dir, s.address, s.chain, s.key), 0o644))
	if _, err := exec.LookPath("apache2"); err != nil {
		t.Fatal("Apache is not installed: run make deps")
	}
	s.run(s.load, "apache2", "-f", conf, "-DFOREGROUND")
}
