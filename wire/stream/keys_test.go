// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"crypto/sha512"
	"crypto/tls"
	"encoding/hex"
	"hash"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"oneslot.dev/oneslot/certificate"
)

// changing makes records of TLS 1.3 that change the keys of a client, and ask the server
// to change its own (RFC 8446, 4.6.3, 5.2, 7.1 and 7.2).
type changing struct {
	t      *testing.T
	hash   func() hash.Hash
	size   int // of a key
	seal   func(key []byte) sealer
	secret []byte
}

// sealer is as much of a cipher.AEAD as making records takes.
type sealer interface {
	Seal(dst, nonce, plaintext, additionalData []byte) []byte
	Overhead() int
}

func gcm(key []byte) sealer {
	block, err := aes.NewCipher(key)
	if err != nil {
		panic(err) // of a key of another size
	}
	seal, err := cipher.NewGCM(block)
	if err != nil {
		panic(err)
	}
	return seal
}

func (c *changing) expand(label string, size int) []byte {
	info := append([]byte{byte(size >> 8), byte(size), byte(len("tls13 " + label))}, "tls13 "+label+"\x00"...)
	out, err := hkdf.Expand(c.hash, c.secret, string(info), size)
	if err != nil {
		c.t.Fatal(err)
	}
	return out
}

// next is a frame that is a sign of life, and then as many changes as a server takes
// before the next one.
func (c *changing) next() []byte {
	all := c.record(frame(pong, 0, ""), 23, 0)
	for i := range 15 {
		all = append(all, c.record([]byte{24, 0, 0, 1, 1}, 22, byte((15-i)/15))...) // key_update, update_requested
		c.secret = c.expand("traffic upd", c.hash().Size())
	}
	return all
}

// record is one of so much content of a type, which has a number under its key.
func (c *changing) record(said []byte, what, number byte) []byte {
	seal := c.seal(c.expand("key", c.size))
	said = append(said, what)
	nonce := c.expand("iv", 12)
	nonce[11] ^= number
	record := []byte{23, 3, 3, 0, byte(len(said) + seal.Overhead())}
	return seal.Seal(record, nonce, said, record)
}

// A client of TLS changes keys for ever, and takes no answer: the appliance ends the
// connection before that fills memory.
func TestKeysThatChangeForEver(t *testing.T) {
	file := filepath.Join(t.TempDir(), "both")
	if _, err := certificate.WriteNew(certificate.Wish{Name: "both", Valid: time.Hour}, file+".crt", file+".key"); err != nil {
		t.Fatal(err)
	}
	own, err := tls.LoadX509KeyPair(file+".crt", file+".key")
	if err != nil {
		t.Fatal(err)
	}
	ours, theirs := net.Pipe()
	defer ours.Close()
	over := make(chan error, 1)
	server := tls.Server(&outlet{Conn: theirs}, &tls.Config{SessionTicketsDisabled: true, Certificates: []tls.Certificate{own}, MinVersion: tls.VersionTLS13})
	go func() {
		if err := server.Handshake(); err != nil {
			over <- err
			return
		}
		over <- Serve(server, echo{})
	}()
	var log bytes.Buffer
	client := tls.Client(ours, &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS13, KeyLogWriter: &log})
	if err := client.Handshake(); err != nil {
		t.Fatal(err)
	}
	keys := &changing{t: t}
	switch suite := client.ConnectionState().CipherSuite; suite {
	case tls.TLS_AES_128_GCM_SHA256:
		keys.hash, keys.size, keys.seal = sha256.New, 16, gcm
	case tls.TLS_AES_256_GCM_SHA384:
		keys.hash, keys.size, keys.seal = sha512.New384, 32, gcm
	case tls.TLS_CHACHA20_POLY1305_SHA256: // without instructions for AES: GODEBUG=cpu.aes=off
		keys.hash, keys.size, keys.seal = sha256.New, 32, func(key []byte) sealer { return chacha{key} }
	default:
		t.Fatalf("TLS with %s", tls.CipherSuiteName(suite))
	}
	for line := range strings.Lines(log.String()) {
		if word := strings.Fields(line); word[0] == "CLIENT_TRAFFIC_SECRET_0" {
			keys.secret, err = hex.DecodeString(word[2])
		}
	}
	if err != nil || keys.secret == nil {
		t.Fatal("no secret in the log of keys", err)
	}
	ours.SetWriteDeadline(time.Now().Add(ample))
	for range 1 << 16 {
		if _, err = ours.Write(keys.next()); err != nil {
			break
		}
	}
	if err == nil {
		t.Error("a million keys later the connection is still there")
	}
	ours.Close()
	<-over // TLS has lost count of the keys by then, and says that
}
