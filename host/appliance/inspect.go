// SPDX-License-Identifier: Apache-2.0

package appliance

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"time"

	"oneslot.dev/oneslot/certificate"
)

// warn tells what keeps clients out, or will soon: files that cannot be read, certificates
// that end (field-L9). An operator hears of it when the appliance is started and told to
// read its configuration again, and not from the first client.
func (l *Listener) warn() {
	config := l.config.Load()
	now := time.Now()
	l.warnOfOwn(config, now)
	for _, t := range config.Tokens {
		if err := readable(t.Module); err != nil {
			l.Log.Error("token-unavailable", "token", t.Name, "reason", fmt.Errorf("module: %w: install it, or correct module in the configuration", err))
		}
	}
	if config.User != "" && os.Getuid() == 0 {
		if _, err := user.Lookup(config.User); err != nil {
			l.Log.Error("user-unknown", "reason", fmt.Errorf("user: %w: make that account, or correct user in the configuration", err))
		}
	}
	if err := config.authorities(now); err != nil {
		l.Log.Error("authority-unreadable", "reason", advise(err))
	}
	clients, err := Register(config.Register).Clients()
	if err != nil {
		l.Log.Error("register-unreadable", "reason", advise(err))
	}
	for _, c := range clients {
		if text := certificate.Warning(c.Expires(), now); text != "" {
			l.Log.Warn("certificate-expires", "whose", "client "+c.Name, "when", text)
		}
	}
}

// warnOfOwn is warn for the certificate and key of the appliance.
func (l *Listener) warnOfOwn(config *Config, now time.Time) {
	whole := true
	if cert, err := certificate.Read(config.Certificate); err != nil {
		l.Log.Error("certificate-unreadable", "reason", mendCertificate(err))
		whole = false
	} else if text := certificate.Warning(cert.NotAfter, now); text != "" {
		l.Log.Warn("certificate-expires", "whose", "appliance", "file", config.Certificate, "when", text)
	}
	if err := readable(config.Key); err != nil {
		l.Log.Error("key-unreadable", "reason", mendCertificate(err))
		whole = false
	} else if text := certificate.Exposed(config.Key); text != "" {
		l.Log.Warn("key-exposed", "file", config.Key, "reason", text+"; who has read it can pass for this appliance, so make a new one")
	}
	if !whole {
		return
	}
	if _, err := tls.LoadX509KeyPair(config.Certificate, config.Key); err != nil {
		l.Log.Error("key-unreadable", "reason", fmt.Errorf("%s and %s: %w: they have to be made together, by `oneslot-member cert new`", config.Certificate, config.Key, err))
	}
}

// mendCertificate says what to do about a certificate or key that is not there: nobody
// is let in without.
func mendCertificate(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: `oneslot-member cert new` makes certificate and key; run it as the user of the appliance", err)
	}
	return advise(err)
}

// advise says whom a file has to be readable for.
func advise(err error) error {
	if errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("%w: let the user read it that the appliance runs as, here number %d", err, os.Getuid())
	}
	return err
}

// readable is nil if the file may be read by this process.
func readable(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return f.Close()
}
