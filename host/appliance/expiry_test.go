// SPDX-License-Identifier: Apache-2.0

package appliance

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"oneslot.dev/oneslot/certificate"
)

const day = 24 * time.Hour

// field-L9: the appliance warns of its own certificate and of its clients', from
// 30 days ahead, at the start, twice a day and when it is told to read again what
// it knows; and no more of a client that has the next one.
func TestTheApplianceWarnsAhead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		folder := t.TempDir()
		c := &Config{Certificate: filepath.Join(folder, "a.crt"), Key: filepath.Join(folder, "a.key"), Register: folder}
		make := func(valid time.Duration) time.Time {
			os.Remove(c.Certificate)
			os.Remove(c.Key)
			cert, err := certificate.WriteNew(certificate.Wish{Name: "a", Valid: valid}, c.Certificate, c.Key)
			if err != nil {
				t.Fatal(err)
			}
			return cert.NotAfter
		}
		register := func(name string, ends ...time.Time) {
			err := Register(folder).Change(name, func(*Client) (*Client, error) {
				k := &Client{Name: name}
				for i, end := range ends {
					k.Certificates = append(k.Certificates, Certificate{Fingerprint: certificate.Fingerprint{byte(i)}, Expires: end})
				}
				return k, nil
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		now := time.Now()
		make(31 * day)
		register("web", now.Add(10*day+time.Hour))
		register("mail", now.Add(100*day))
		register("unknown", now.Add(10*day), time.Time{})
		register("next", now.Add(10*day), now.Add(400*day))

		var log logged
		l := &Listener{Load: func() (*Config, error) { return c, nil }, Log: slog.New(slog.NewTextHandler(&log, nil))}
		l.config.Store(c)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go l.look(ctx)
		told := func(when string, own, web int) {
			t.Helper()
			synctest.Wait()
			text := log.taken()
			if got := strings.Count(text, `whose=appliance file=`+c.Certificate+` when="expires on`); got != own {
				t.Errorf("%s: %d warnings of the appliance's certificate, not %d:\n%s", when, got, own, text)
			}
			if got := strings.Count(text, `whose="client web" when="expires on`); got != web {
				t.Errorf("%s: %d warnings of web's certificate, not %d:\n%s", when, got, web, text)
			}
			if got := strings.Count(text, "certificate-expires"); got != own+web {
				t.Errorf("%s: %d warnings in all:\n%s", when, got, text)
			}
		}
		told("at the start", 0, 1)
		time.Sleep(time.Hour)
		told("an hour later", 0, 0)
		time.Sleep(24 * time.Hour)
		told("a day later", 1, 2) // the appliance's has come within 30 days
		register("web", now.Add(10*day+time.Hour), now.Add(400*day))
		make(365 * day)
		if err := l.Reload(); err != nil {
			t.Fatal(err)
		}
		told("with the next ones", 0, 0)
		time.Sleep(24 * time.Hour)
		told("a day after that", 0, 0)

		if err := os.Remove(c.Certificate); err != nil {
			t.Fatal(err)
		}
		l.Reload()
		if text := log.taken(); !strings.Contains(text, "certificate-unreadable") || !strings.Contains(text, "oneslot-member cert new") {
			t.Errorf("no word of a certificate that is gone:\n%s", text)
		}
		c.Tokens = []Token{{Name: "ca", Module: "/nowhere/vendor.so"}}
		if err := os.Remove(c.Key); err != nil {
			t.Fatal(err)
		}
		l.Reload()
		if text := log.taken(); !strings.Contains(text, "key-unreadable") || strings.Contains(text, "key-exposed") || !strings.Contains(text, "token-unavailable") {
			t.Errorf("no word of a key that is gone:\n%s", text)
		}
	})
}

// By telephone the register learns a fingerprint alone. When the client comes, its
// certificate says when it ends, and the operator is told (N1, field-L9).
func TestTheRegisterLearnsWhenACertificateEnds(t *testing.T) {
	folder := t.TempDir()
	r := Register(folder)
	cert, err := certificate.WriteNew(certificate.Wish{Name: "web", Valid: 10 * day}, filepath.Join(folder, "web.crt"), filepath.Join(folder, "web.key"))
	if err != nil {
		t.Fatal(err)
	}
	web := &Client{Name: "web", Certificates: []Certificate{{Fingerprint: certificate.Fingerprint{1}}, {Fingerprint: certificate.Of(cert)}}, Grants: []Grant{{Token: "ca", ReadOnly: true}}}
	if err := r.Change("web", func(*Client) (*Client, error) { return web, nil }); err != nil {
		t.Fatal(err)
	}
	ends := func() (ends []time.Time) {
		t.Helper()
		c, err := r.Client("web")
		if err != nil || len(c.Certificates) != 2 || len(c.Grants) != 1 || !c.Grants[0].ReadOnly {
			t.Fatalf("%+v, %v", c, err)
		}
		return []time.Time{c.Certificates[0].Expires, c.Certificates[1].Expires}
	}

	// An operator is at work with it: nobody waits for that.
	lock, err := os.Open(folder)
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	if err := r.learn(web, cert); err != nil || !ends()[1].IsZero() {
		t.Errorf("under an operator's lock: %v, %v", ends(), err)
	}
	lock.Close()
	if err := r.learn(web, cert); err != nil || !ends()[0].IsZero() || !ends()[1].Equal(cert.NotAfter) {
		t.Errorf("%v, %v: the second ends at %v", ends(), err, cert.NotAfter)
	}

	// Removed since it came in: it does not come back.
	if err := r.Change("web", func(*Client) (*Client, error) { return nil, nil }); err != nil {
		t.Fatal(err)
	}
	if err := r.learn(web, cert); err != nil {
		t.Error(err)
	}
	if c, err := r.Client("web"); c != nil || err != nil {
		t.Errorf("a client that was removed is there again: %v, %v", c, err)
	}
}

// logged is a log that is written while it is read.
type logged struct {
	mu   sync.Mutex // guards what follows
	text bytes.Buffer
}

func (l *logged) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(line)
}

// taken returns what was written since the last time.
func (l *logged) taken() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	defer l.text.Reset()
	return l.text.String()
}
