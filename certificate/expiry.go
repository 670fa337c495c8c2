// SPDX-License-Identifier: Apache-2.0

package certificate

import (
	"crypto/x509"
	"fmt"
	"time"
)

// WarnAhead is how long before its end a certificate is warned of.
const WarnAhead = 30 * 24 * time.Hour

// Valid says whether a certificate counts now, and if not, why.
func Valid(cert *x509.Certificate, now time.Time) error {
	switch {
	case now.After(cert.NotAfter):
		return &Outdated{false, cert.NotAfter}
	case now.Before(cert.NotBefore):
		return &Outdated{true, cert.NotBefore}
	}
	return nil
}

// Outdated is the reason why a certificate does not count, yet or any more.
type Outdated struct {
	Early bool
	Limit time.Time
}

func (o *Outdated) Error() string {
	if o.Early {
		return "the certificate is not valid before " + o.Limit.UTC().Format(time.RFC3339) + ": are both clocks right?"
	}
	return "the certificate expired on " + o.Limit.UTC().Format(time.RFC3339)
}

// Warning says that a certificate ends soon, or has ended; else it is empty.
func Warning(end, now time.Time) string {
	left := end.Sub(now)
	switch {
	case end.IsZero() || left > WarnAhead:
		return ""
	case left < 0:
		return "expired on " + end.UTC().Format(time.DateOnly)
	}
	return fmt.Sprintf("expires on %s, in %d days", end.UTC().Format(time.DateOnly), int(left/(24*time.Hour)))
}
