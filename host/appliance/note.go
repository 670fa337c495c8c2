// SPDX-License-Identifier: Apache-2.0

package appliance

import (
	"context"

	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/wire"
)

// The operations that a session can have active.
const (
	encrypting = iota
	decrypting
	digesting
	signing
	verifying
	operations
)

// note writes a call into the audit. Of an operation the call that ends it
// counts, or the one that fails; reading and searching does not.
func (s *guarded) note(c wire.Call, key string) {
	g := s.guard
	rv := c.Result()
	switch c := c.(type) {
	case *wire.Find:
		g.learn(c.Found...)
		return
	case *wire.Resolve:
		g.learn(c.Found...)
		return
	case *wire.Identify:
		g.learn(c.Identity)
		return
	case *wire.Import:
		g.learn(c.Identity)
		key = keyName(&c.Identity)
	case *wire.Publish:
		g.learn(c.Identity)
		key = keyName(&c.Identity)
	case *wire.DestroyObject:
		g.drop(c.Object)
	case *wire.Logout:
		g.forget()
	}
	if at, ends := operation(c); at >= 0 {
		switch {
		case !ends && rv == pkcs11.CKR_OK:
			return
		case ends && (rv == pkcs11.CKR_BUFFER_TOO_SMALL):
			return // the operation goes on
		}
	} else if c.Number().Class() != wire.Make && c.Number() != wire.NumberWrapKey && c.Number() != wire.NumberGenerateRandom && c.Number() != wire.NumberExport {
		return
	}
	g.audit.note(event{c.Number().String(), key, rv})
}

// operation says which operation a call belongs to, -1 for none, and whether a
// call that succeeds ends it.
func operation(c wire.Call) (at int, ends bool) {
	switch c.(type) {
	case *wire.EncryptInit, *wire.EncryptUpdate:
		return encrypting, false
	case *wire.Encrypt, *wire.EncryptFinal:
		return encrypting, true
	case *wire.DecryptInit, *wire.DecryptUpdate:
		return decrypting, false
	case *wire.Decrypt, *wire.DecryptFinal:
		return decrypting, true
	case *wire.DigestInit, *wire.DigestUpdate, *wire.DigestKey:
		return digesting, false
	case *wire.Digest, *wire.DigestFinal:
		return digesting, true
	case *wire.SignInit, *wire.SignUpdate, *wire.SignRecoverInit:
		return signing, false
	case *wire.Sign, *wire.SignFinal, *wire.SignRecover:
		return signing, true
	case *wire.VerifyInit, *wire.VerifyUpdate, *wire.VerifyRecoverInit:
		return verifying, false
	case *wire.Verify, *wire.VerifyFinal, *wire.VerifyRecover:
		return verifying, true
	}
	return -1, false
}

// key is the name of the key that a call works with. It is asked for before the
// call, which may end the key.
func (s *guarded) key(ctx context.Context, c wire.Call) string {
	if at, _ := operation(c); at >= 0 {
		if handle, ok := begins(c); ok {
			s.active[at] = s.name(ctx, handle)
		}
		return s.active[at]
	}
	switch c := c.(type) {
	case *wire.DestroyObject:
		return s.name(ctx, c.Object)
	case *wire.SetAttributeValue:
		return s.name(ctx, c.Object)
	case *wire.CopyObject:
		return s.name(ctx, c.Source)
	case *wire.WrapKey:
		return s.name(ctx, c.Key)
	case *wire.UnwrapKey:
		return s.name(ctx, c.Unwrapping)
	case *wire.DeriveKey:
		return s.name(ctx, c.Base)
	case *wire.Export:
		return s.name(ctx, c.Object)
	}
	return ""
}

// begins is the key with which a call begins an operation.
func begins(c wire.Call) (key uint64, ok bool) {
	switch c := c.(type) {
	case *wire.EncryptInit:
		return c.Key, true
	case *wire.DecryptInit:
		return c.Key, true
	case *wire.SignInit:
		return c.Key, true
	case *wire.SignRecoverInit:
		return c.Key, true
	case *wire.VerifyInit:
		return c.Key, true
	case *wire.VerifyRecoverInit:
		return c.Key, true
	}
	return 0, false
}

// name is the name of a key for the audit. The engine has looked most keys up
// before, so it is known.
func (s *guarded) name(ctx context.Context, handle uint64) string {
	g := s.guard
	g.mu.Lock()
	name, known := g.names[handle]
	g.mu.Unlock()
	if known {
		return name
	}
	call := wire.Identify{Object: handle}
	if s.Identify(ctx, &call) != pkcs11.CKR_OK {
		return "unidentified"
	}
	g.learn(call.Identity)
	return keyName(&call.Identity)
}

// maxNames bounds what is remembered of a token with very many objects.
const maxNames = 100_000

// learn remembers the names of objects that a reply named.
func (g *guard) learn(found ...wire.Identity) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for i := range found {
		if len(g.names) >= maxNames {
			clear(g.names)
		}
		if found[i].Object != 0 {
			g.names[found[i].Object] = keyName(&found[i])
		}
	}
}

func (g *guard) drop(handle uint64) {
	g.mu.Lock()
	delete(g.names, handle)
	g.mu.Unlock()
}

// forget drops all names: handles may mean other objects now.
func (g *guard) forget() {
	g.mu.Lock()
	clear(g.names)
	g.mu.Unlock()
}
