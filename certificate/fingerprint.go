// SPDX-License-Identifier: Apache-2.0

// Package certificate is how appliances and their clients know each other:
// fingerprints that two people can compare by telephone, and certificates that
// need no authority. It opens no connection.
package certificate

import (
	"crypto/sha256"
	"crypto/x509"
	"encoding/base32"
	"encoding/hex"
	"fmt"
	"strings"
)

// A Fingerprint is the SHA-256 of a certificate (DER).
type Fingerprint [sha256.Size]byte

// prefix stands before every fingerprint that is written down.
const prefix = "sha256:"

// group is how many characters are read out in one breath.
const group = 4

// Of is the fingerprint of a certificate.
func Of(cert *x509.Certificate) Fingerprint { return sha256.Sum256(cert.Raw) }

// String writes the fingerprint for people: base32 has no 0, 1 and 8 to be taken
// for O, I and B, and 52 characters in groups of four.
func (f Fingerprint) String() string {
	text := base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(f[:])
	var b strings.Builder
	b.WriteString(prefix)
	for i := 0; i < len(text); i += group {
		if i > 0 {
			b.WriteByte('-')
		}
		b.WriteString(text[i:min(i+group, len(text))])
	}
	return b.String()
}

// Short is its beginning, to tell certificates apart in a list. It proves nothing.
func (f Fingerprint) Short() string { return f.String()[:len(prefix)+3*group+2] }

// MarshalText writes the fingerprint into files.
func (f Fingerprint) MarshalText() ([]byte, error) { return []byte(f.String()), nil }

// UnmarshalText reads what Parse reads.
func (f *Fingerprint) UnmarshalText(text []byte) (err error) {
	*f, err = Parse(string(text))
	return err
}

// Parse reads a fingerprint as String writes it, or as 64 hexadecimal digits as
// other programs do. Case, blanks, colons and hyphens do not matter.
func Parse(text string) (f Fingerprint, err error) {
	rest := strings.TrimSpace(text)
	if len(rest) >= len(prefix) && strings.EqualFold(rest[:len(prefix)], prefix) {
		rest = rest[len(prefix):]
	}
	rest = strings.ToUpper(strings.NewReplacer("-", "", ":", "", " ", "", "\t", "").Replace(rest))
	var sum []byte
	switch len(rest) {
	case hex.EncodedLen(len(f)):
		sum, err = hex.DecodeString(rest)
	case base32.StdEncoding.WithPadding(base32.NoPadding).EncodedLen(len(f)):
		sum, err = base32.StdEncoding.WithPadding(base32.NoPadding).DecodeString(rest)
	default:
		err = fmt.Errorf("%d characters", len(rest))
	}
	if err == nil && copy(f[:], sum) != len(f) {
		err = fmt.Errorf("%d bytes", len(sum))
	}
	if err != nil {
		return f, fmt.Errorf("%q is no SHA-256 fingerprint (%w): write sha256: and 52 letters and digits, or 64 hexadecimal digits", text, err)
	}
	return f, nil
}
