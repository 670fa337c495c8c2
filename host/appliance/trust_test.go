// SPDX-License-Identifier: Apache-2.0

package appliance

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"oneslot.dev/oneslot/certificate"
)

// Who can write into the register decides who may use the tokens: it is not read, and
// nothing is written where others can lay links.
func TestARegisterThatOthersWriteIsNotUsed(t *testing.T) {
	for mode, good := range map[os.FileMode]bool{0o700: true, 0o755: true, 0o770: false, 0o702: false, 0o777: false} {
		folder := t.TempDir()
		if err := os.Chmod(folder, mode); err != nil {
			t.Fatal(err)
		}
		r := Register(folder)
		if _, err := r.Clients(); (err == nil) != good {
			t.Errorf("%v: read: %v", mode, err)
		}
		if err := r.Prepare(); (err == nil) != good {
			t.Errorf("%v: prepared: %v", mode, err)
		}
		err := r.Change("web", func(*Client) (*Client, error) { return &Client{Name: "web"}, nil })
		if (err == nil) != good {
			t.Errorf("%v: changed: %v", mode, err)
		}
		if _, err := os.Stat(r.file("web")); (err == nil) != good {
			t.Errorf("%v: written: %v", mode, err)
		}
	}
}

// The same for the file of one client, and for the authorities.
func TestFilesThatOthersWriteAreNotRead(t *testing.T) {
	r := Register(t.TempDir())
	if err := r.Change("web", func(*Client) (*Client, error) { return &Client{Name: "web"}, nil }); err != nil {
		t.Fatal(err)
	}
	for mode, good := range map[os.FileMode]bool{0o600: true, 0o644: true, 0o664: false, 0o646: false} {
		if err := os.Chmod(r.file("web"), mode); err != nil {
			t.Fatal(err)
		}
		if _, err := r.Clients(); (err == nil) != good {
			t.Errorf("%v: all clients: %v", mode, err)
		}
		if _, err := r.Client("web"); (err == nil) != good {
			t.Errorf("%v: the client: %v", mode, err)
		}
	}
	folder := t.TempDir()
	c := Config{Register: string(r), ClientCA: filepath.Join(folder, "ca.pem")}
	cert, err := certificate.WriteNew(certificate.Wish{Name: "ca", Valid: time.Hour}, c.ClientCA, filepath.Join(folder, "ca.key"))
	if err != nil {
		t.Fatal(err)
	}
	os.Chmod(r.file("web"), 0o600)
	if err := r.Change("web", func(k *Client) (*Client, error) { k.CAName = "ca"; return k, nil }); err != nil {
		t.Fatal(err)
	}
	os.Chmod(c.ClientCA, 0o666)
	if _, err := c.ownerByName(cert, nil, time.Now()); err == nil || !strings.Contains(err.Error(), "client_ca: ca.pem: others than its owner may write there") {
		t.Errorf("authorities that others write: %v", err)
	}
	os.Chmod(c.ClientCA, 0o644)
	if _, err := c.ownerByName(cert, nil, time.Now()); err != nil && strings.Contains(err.Error(), "others") {
		t.Errorf("authorities that others read: %v", err)
	}
}

// A key that everybody may read is told of at the start and at each Reload.
func TestAKeyThatEverybodyReadsIsToldOf(t *testing.T) {
	folder := t.TempDir()
	c := &Config{Certificate: filepath.Join(folder, "a.crt"), Key: filepath.Join(folder, "a.key"), Register: folder, Limits: defaultLimits}
	if _, err := certificate.WriteNew(certificate.Wish{Name: "a", Valid: 90 * 24 * time.Hour}, c.Certificate, c.Key); err != nil {
		t.Fatal(err)
	}
	for mode, want := range map[os.FileMode]bool{0o600: false, 0o640: false, 0o644: true} {
		if err := os.Chmod(c.Key, mode); err != nil {
			t.Fatal(err)
		}
		var log bytes.Buffer
		l := &Listener{Log: slog.New(slog.NewTextHandler(&log, nil))}
		l.config.Store(c)
		l.warn()
		if got := strings.Contains(log.String(), "key-exposed"); got != want {
			t.Errorf("%v: %s", mode, log.String())
		}
	}
}
