// SPDX-License-Identifier: Apache-2.0

package fake

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/wire"
)

func (s *session) GenerateKey(_ context.Context, c *wire.GenerateKey) pkcs11.RV {
	if !s.life.loggedIn {
		return pkcs11.CKR_USER_NOT_LOGGED_IN
	}
	c.Key = s.handle(s.newKey(pkcs11.CKO_SECRET_KEY, s.material(), c.Template))
	return pkcs11.CKR_OK
}

// GenerateKeyPair makes a pair whose halves have no fingerprint in common.
func (s *session) GenerateKeyPair(_ context.Context, c *wire.GenerateKeyPair) pkcs11.RV {
	if !s.life.loggedIn {
		return pkcs11.CKR_USER_NOT_LOGGED_IN
	}
	if c.Mechanism.Type == pkcs11.CKM_EC_KEY_PAIR_GEN {
		return s.generateEC(c)
	}
	material := s.material()
	c.PublicKey = s.handle(s.newKey(pkcs11.CKO_PUBLIC_KEY, material+" public", c.Public))
	c.PrivateKey = s.handle(s.newKey(pkcs11.CKO_PRIVATE_KEY, material+" private", c.Private))
	return pkcs11.CKR_OK
}

// CreateObject makes a secret key of the value that the application brings. One
// without a value cannot be recognised, nor copied.
func (s *session) CreateObject(_ context.Context, c *wire.CreateObject) pkcs11.RV {
	if !s.life.loggedIn {
		return pkcs11.CKR_USER_NOT_LOGGED_IN
	}
	o := s.newKey(pkcs11.CKO_SECRET_KEY, string(c.Template.Bytes(pkcs11.CKA_VALUE)), c.Template)
	if len(c.Template.Bytes(pkcs11.CKA_VALUE)) == 0 {
		o.id.Fingerprint, o.id.Flags = nil, o.id.Flags&^wire.Copyable
	}
	c.Object = s.handle(o)
	return pkcs11.CKR_OK
}

func (s *session) material() string {
	s.life.token.made++
	return fmt.Sprintf("%s %d", s.life.token.serial, s.life.token.made)
}

// newKey makes a session object.
func (s *session) newKey(class uint64, material string, t pkcs11.Template) *object {
	sum := sha256.Sum256([]byte(material))
	o := &object{id: wire.Identity{
		Class: class, KeyType: pkcs11.CKK_AES, Size: 256, Flags: wire.Private | wire.Copyable,
		Fingerprint: sum[:], Label: slices.Clone(t.Bytes(pkcs11.CKA_LABEL)),
	}, start: slices.Clone(t.Bytes(pkcs11.CKA_START_DATE))}
	s.made = append(s.made, o)
	return o
}

func (s *session) Export(_ context.Context, c *wire.Export) pkcs11.RV {
	o := s.object(c.Object)
	if o == nil {
		return pkcs11.CKR_OBJECT_HANDLE_INVALID
	}
	c.Blob, _ = json.Marshal(blob{o.id, o.start, o.pairBytes()})
	return pkcs11.CKR_OK
}

// A blob is the wrapped form of an object.
type blob struct {
	Identity wire.Identity
	Start    []byte
	Pair     []byte
}

func (s *session) Import(_ context.Context, c *wire.Import) pkcs11.RV {
	var b blob
	if json.Unmarshal(c.Blob, &b) != nil {
		return pkcs11.CKR_WRAPPED_KEY_INVALID
	}
	if !c.Token {
		o := &object{b.Identity, b.Start, pairOf(b.Pair)}
		s.made = append(s.made, o)
		c.Identity = s.identity(o)
		return pkcs11.CKR_OK
	}
	if b.Identity.Flags&wire.Private != 0 && !s.life.loggedIn {
		return pkcs11.CKR_USER_NOT_LOGGED_IN
	}
	c.Identity = s.place(object{b.Identity, b.Start, pairOf(b.Pair)}, c.Copies, c.Named)
	return pkcs11.CKR_OK
}

func (s *session) Publish(_ context.Context, c *wire.Publish) pkcs11.RV {
	o := s.object(c.Object)
	if o == nil {
		return pkcs11.CKR_OBJECT_HANDLE_INVALID
	}
	c.Identity = s.place(*o, c.Copies, true)
	return pkcs11.CKR_OK
}

// place adds a token object unless there are enough copies of it, with named one of
// its name among them.
func (s *session) place(made object, copies uint64, named bool) wire.Identity {
	made.id.Flags |= wire.OnToken
	var there []*object
	for _, o := range s.life.token.objects {
		switch {
		case !o.id.Same(&made.id):
		case string(o.id.Label) == string(made.id.Label):
			there, named = append([]*object{o}, there...), false
		default:
			there = append(there, o)
		}
	}
	if len(there) > 0 && uint64(len(there)) >= copies && !named {
		return s.identity(there[0])
	}
	if t := s.life.token; t.slow > 0 {
		t.mu.Unlock()
		time.Sleep(t.slow)
		t.mu.Lock()
	}
	s.life.token.objects = append(s.life.token.objects, &made)
	return s.identity(&made)
}
