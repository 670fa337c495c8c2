// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"
)

// The greeting is the first exchange on a network connection, once TLS has said
// who is there and before anything else is spoken (PROTOCOL.md): the engine
// names the token, the appliance lets it in or says why not.
const (
	ALPN = "oneslot" // the protocol's name in the TLS handshake

	greetingMagic = "oneslot"
	maxKnock      = 256 // bytes, the line end included
	maxWelcome    = 1024
)

// A Refusal is why an appliance does not let a client in.
type Refusal struct {
	Code RefusalCode
	Text string
}

func (r *Refusal) Error() string { return fmt.Sprintf("refused: %s: %s", r.Code, r.Text) }

// RefusalCode is the stable name of a reason, to look up (docs/appliance.md).
type RefusalCode string

// The reasons.
const (
	RefusedVersion     RefusalCode = "version"             // the appliance speaks another version of the protocol
	RefusedRole        RefusalCode = "role"                // no such role
	RefusedMalformed   RefusalCode = "malformed"           // not a greeting
	RefusedUnknown     RefusalCode = "unknown-client"      // no client is registered by this certificate
	RefusedExpired     RefusalCode = "certificate-expired" // or not valid yet
	RefusedRevoked     RefusalCode = "certificate-revoked"
	RefusedCertificate RefusalCode = "certificate-invalid"
	RefusedToken       RefusalCode = "token-not-granted" // or there is none of that name
	RefusedFull        RefusalCode = "too-many-connections"
	RefusedDraining    RefusalCode = "draining"
	RefusedOutOfOrder  RefusalCode = "appliance-out-of-order" // its log says why

	// RefusedUnavailable comes later than the others: the token is looked for
	// when the client is in. The first stream ends with it.
	RefusedUnavailable RefusalCode = "token-unavailable"
)

// Knock says which token is wanted, and waits to be let in. It is a *Refusal if
// the appliance said why not. The caller bounds the time with a deadline.
func Knock(conn io.ReadWriter, token string) error {
	if _, err := fmt.Fprintf(conn, "%s %d engine %s\n", greetingMagic, Version, token); err != nil {
		return err
	}
	line, err := readLine(conn, maxWelcome)
	if err != nil {
		return err
	}
	word := strings.SplitN(line, " ", 5)
	switch {
	case len(word) < 3 || word[0] != greetingMagic:
		return errors.New("whoever answers there is no oneslot appliance")
	case word[2] == "welcome":
		if word[1] != fmt.Sprint(Version) {
			return fmt.Errorf("the appliance speaks version %.16q of the protocol, and this client version %d: have both run releases that speak the same", word[1], Version)
		}
		return nil
	case word[2] == "refused" && len(word) == 5:
		return &Refusal{RefusalCode(OneLine(word[3], maxWelcome)), OneLine(word[4], maxWelcome)}
	}
	return errors.New("the appliance's greeting is malformed")
}

// ReadKnock returns the name of the token that is wanted. It is a *Refusal, not
// sent yet, if the greeting is none.
func ReadKnock(conn io.Reader) (token string, err error) {
	line, err := readLine(conn, maxKnock)
	if err != nil {
		return "", err
	}
	word := strings.Split(line, " ")
	switch {
	case word[0] != greetingMagic || len(word) < 3:
		return "", &Refusal{RefusedMalformed, "this is an appliance of oneslot, and that was no greeting"}
	case word[1] != fmt.Sprint(Version):
		return "", &Refusal{RefusedVersion, fmt.Sprintf("this appliance speaks version %d of the protocol, and the client version %.16q: have both run releases that speak the same", Version, word[1])}
	case word[2] != "engine" || len(word) != 4:
		return "", &Refusal{RefusedRole, fmt.Sprintf("this appliance serves engines, each for one token, and not the role %.32q with %d words", word[2], len(word)-3)}
	}
	return word[3], nil
}

// Welcome lets a client in.
func Welcome(conn io.Writer) error {
	_, err := fmt.Fprintf(conn, "%s %d welcome\n", greetingMagic, Version)
	return err
}

// SendRefusal tells a client why it is not let in.
func SendRefusal(conn io.Writer, r *Refusal) error {
	line := fmt.Appendf(nil, "%s %d refused %s %s", greetingMagic, Version, r.Code, OneLine(r.Text, maxWelcome))
	_, err := conn.Write(append(line[:min(len(line), maxWelcome-1)], '\n'))
	return err
}

// OneLine is text as one line of at most so many bytes: what a peer says must not write
// into somebody's terminal or log.
func OneLine(text string, most int) string {
	text = strings.Map(func(c rune) rune {
		if !unicode.IsPrint(c) {
			return ' '
		}
		return c
	}, strings.ToValidUTF8(text, "?"))
	return strings.ToValidUTF8(text[:min(len(text), most)], "")
}

var errLine = errors.New("the greeting is too long or has control characters")

// readLine reads no byte beyond the line: what follows is not ours.
func readLine(conn io.Reader, most int) (string, error) {
	line := make([]byte, 0, 64)
	for len(line) < most {
		line = slices.Grow(line, 1)
		b := line[len(line) : len(line)+1]
		if _, err := io.ReadFull(conn, b); err != nil {
			return "", err
		}
		if b[0] == '\n' {
			return string(line), nil
		}
		// A peer must not write into somebody's terminal or log.
		if b[0] < ' ' || b[0] == 0x7f {
			return "", errLine
		}
		line = line[:len(line)+1]
	}
	return "", errLine
}
