// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"

	"oneslot.dev/oneslot/pkcs11"
)

const (
	secretLen   = 32
	checksumLen = 4 // finds slips of the finger; the secret itself cannot be guessed from it

	// What a PIN or secret file may hold at most, before it is a wrong path.
	maxSecretFile = 4096
)

// letters has no digits that look like letters (0, 1, 8, 9), so that the
// printed form of a secret can be typed from paper.
var letters = base32.StdEncoding.WithPadding(base32.NoPadding)

// newSecret makes a domain secret.
func newSecret() pkcs11.PIN {
	secret := make(pkcs11.PIN, secretLen)
	rand.Read(secret) // never fails: the standard library ends the program first
	return secret
}

// printable is the secret in groups of four letters, with a checksum.
func printable(secret pkcs11.PIN) []byte {
	sum := sha256.Sum256(secret)
	all := append(secret.Clone(), sum[:checksumLen]...)
	defer clear(all)
	text := letters.AppendEncode(nil, all)
	defer clear(text)
	return bytes.Join(chunks(text, 4), []byte("-"))
}

func chunks(text []byte, n int) [][]byte {
	var list [][]byte
	for len(text) > n {
		list = append(list, text[:n])
		text = text[n:]
	}
	return append(list, text)
}

// parseSecret reads the printed form. Dashes, blanks, case and lines that begin
// with # do not matter.
func parseSecret(text []byte) (pkcs11.PIN, error) {
	var code []byte
	for line := range bytes.Lines(text) {
		if !bytes.HasPrefix(bytes.TrimSpace(line), []byte("#")) {
			code = append(code, bytes.ToUpper(line)...)
		}
	}
	code = bytes.Map(func(r rune) rune {
		if strings.ContainsRune("- \t\r\n", r) {
			return -1
		}
		return r
	}, code)
	all, err := letters.AppendDecode(nil, code)
	if err != nil || len(all) != secretLen+checksumLen {
		return nil, errors.New("is no domain secret: is it the file that oneslot domain create wrote?")
	}
	secret := pkcs11.PIN(all[:secretLen])
	sum := sha256.Sum256(secret)
	if !bytes.Equal(sum[:checksumLen], all[secretLen:]) {
		return nil, errors.New("the checksum is wrong: a letter was mistyped or lost")
	}
	return secret, nil
}

// readSecretFile reads a file of `oneslot domain create`.
func readSecretFile(path string) (pkcs11.PIN, error) {
	text, err := readSmall(path)
	if err != nil {
		return nil, fmt.Errorf("domain secret: %w", err)
	}
	defer clear(text)
	secret, err := parseSecret(text)
	if err != nil {
		return nil, fmt.Errorf("domain secret %s: %w", path, err)
	}
	return secret, nil
}

func readSmall(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxSecretFile+1))
	if err == nil && len(text) > maxSecretFile {
		err = fmt.Errorf("%s: is larger than %d bytes: is it the right file?", path, maxSecretFile)
	}
	return text, err
}

// readPIN gets a PIN from where source says: "prompt", "env:NAME", or a file,
// whose first line counts. what names the PIN in prompts and errors.
func (d *desk) readPIN(source, what string) (pkcs11.PIN, error) {
	var pin pkcs11.PIN
	name, fromEnv := strings.CutPrefix(source, "env:")
	switch {
	case fromEnv:
		pin = pkcs11.PIN(d.getenv(name))
	case source == "prompt":
		fd := int(d.in.Fd())
		if !term.IsTerminal(fd) {
			return nil, fmt.Errorf("%s: there is no terminal to ask: name a file, or a variable as env:NAME", what)
		}
		fmt.Fprintf(d.err, "%s: ", what)
		text, err := term.ReadPassword(fd)
		fmt.Fprintln(d.err)
		if err != nil {
			return nil, fmt.Errorf("%s: not read: %w", what, err)
		}
		pin = text
	default:
		text, err := readSmall(source)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", what, err)
		}
		pin, _, _ = bytes.Cut(text, []byte("\n"))
		pin = bytes.TrimSuffix(pin, []byte("\r"))
	}
	if len(pin) == 0 {
		return nil, fmt.Errorf("%s: %s gives an empty one", what, source)
	}
	return pin, nil
}
