// SPDX-License-Identifier: Apache-2.0

package main

import (
	"time"

	"oneslot.dev/oneslot/certificate"
	"oneslot.dev/oneslot/config"
)

// noteExpiry warns ahead of the end of the certificate that lets this client in
// at an appliance.
func noteExpiry(m *config.Member, f *finding) {
	if m.Address == "" {
		return
	}
	cert, err := certificate.Read(m.Certificate)
	if err != nil {
		return // connecting says why
	}
	if warning := certificate.Warning(cert.NotAfter, time.Now()); warning != "" {
		f.note("the certificate %s %s: make the next one with oneslot cert new, and have it registered with --also", m.Certificate, warning)
	}
}
