// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"

	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/wire"
)

// Find finds objects and says which they are.
func (s *session) Find(_ context.Context, c *wire.Find) pkcs11.RV {
	asked, adjusted := splitAdjusted(c.Template)
	handles, rv := s.objects(asked)
	if rv != pkcs11.CKR_OK {
		return rv
	}
	for _, object := range handles {
		if s.token.isHidden(object) {
			continue
		}
		k, rv := s.identify(object)
		switch {
		case rv == pkcs11.CKR_OBJECT_HANDLE_INVALID:
			continue // destroyed since it was found
		case rv != pkcs11.CKR_OK:
			return rv
		case s.hides(&k) || !s.shows(&k, adjusted):
			continue
		}
		c.Found = append(c.Found, k.Identity)
		if c.Limit > 0 && uint64(len(c.Found)) == c.Limit {
			break
		}
	}
	return pkcs11.CKR_OK
}

// Identify says which object one is.
func (s *session) Identify(_ context.Context, c *wire.Identify) pkcs11.RV {
	k, rv := s.visible(c.Object)
	c.Identity = k.Identity
	return rv
}

// visible identifies an object unless it is hidden.
func (s *session) visible(object uint64) (known, pkcs11.RV) {
	if s.token.isHidden(object) {
		return known{}, pkcs11.CKR_OBJECT_HANDLE_INVALID
	}
	k, rv := s.identify(object)
	if rv == pkcs11.CKR_OK && s.hides(&k) {
		return known{}, pkcs11.CKR_OBJECT_HANDLE_INVALID
	}
	return k, rv
}

// Resolve finds the objects that are the one wanted: same class, type and key
// material. Label and ID only say where to look first (field report E5).
func (s *session) Resolve(_ context.Context, c *wire.Resolve) pkcs11.RV {
	if len(c.Wanted.Fingerprint) == 0 {
		return pkcs11.CKR_OK // nothing can be the same as what is not known
	}
	var rv pkcs11.RV
	c.Found, rv = s.resolve(&c.Wanted)
	return rv
}

func (s *session) resolve(wanted *wire.Identity) ([]wire.Identity, pkcs11.RV) {
	class := pkcs11.Template{pkcs11.Ulong(pkcs11.CKA_CLASS, wanted.Class)}
	switch wanted.Class {
	case pkcs11.CKO_PUBLIC_KEY, pkcs11.CKO_PRIVATE_KEY, pkcs11.CKO_SECRET_KEY:
		class = append(class, pkcs11.Ulong(pkcs11.CKA_KEY_TYPE, wanted.KeyType))
	}
	hints := []pkcs11.Template{class}
	if len(wanted.Label) > 0 {
		hints = append(hints, class.With(pkcs11.Bytes(pkcs11.CKA_LABEL, wanted.Label)))
	}
	if len(wanted.ID) > 0 && wanted.Class != pkcs11.CKO_DATA {
		hints = append(hints, hints[len(hints)-1].With(pkcs11.Bytes(pkcs11.CKA_ID, wanted.ID)))
	}
	for i := len(hints) - 1; i >= 0; i-- {
		find := wire.Find{Template: hints[i]}
		if rv := s.Find(bg, &find); rv != pkcs11.CKR_OK {
			return nil, rv
		}
		var same []wire.Identity
		for _, id := range find.Found {
			if id.Same(wanted) {
				same = append(same, id)
			}
		}
		if same != nil {
			return same, pkcs11.CKR_OK
		}
	}
	return nil, pkcs11.CKR_OK
}

// FindObjectsInit finds at once what C_FindObjects then gives out, without what
// is hidden.
func (s *session) FindObjectsInit(ctx context.Context, c *wire.FindObjectsInit) pkcs11.RV {
	if s.find != nil {
		return pkcs11.CKR_OPERATION_ACTIVE
	}
	found := wire.Find{Template: c.Template}
	if rv := s.Find(ctx, &found); rv != pkcs11.CKR_OK {
		return rv
	}
	s.find = make([]uint64, len(found.Found))
	for i := range found.Found {
		s.find[i] = found.Found[i].Object
	}
	return pkcs11.CKR_OK
}

// FindObjects gives out what was found.
func (s *session) FindObjects(_ context.Context, c *wire.FindObjects) pkcs11.RV {
	switch {
	case s.find == nil:
		return pkcs11.CKR_OPERATION_NOT_INITIALIZED
	case c.ObjectsRoom.Null:
		return pkcs11.CKR_ARGUMENTS_BAD
	}
	n := min(c.ObjectsRoom.Capacity, uint64(len(s.find)))
	c.Objects.Values = s.find[:n:n]
	s.find = s.find[n:]
	return pkcs11.CKR_OK
}

// FindObjectsFinal ends the search.
func (s *session) FindObjectsFinal(context.Context, *wire.FindObjectsFinal) pkcs11.RV {
	if s.find == nil {
		return pkcs11.CKR_OPERATION_NOT_INITIALIZED
	}
	s.find = nil
	return pkcs11.CKR_OK
}
