// SPDX-License-Identifier: Apache-2.0

package host

import (
	"bytes"
	"context"
	"slices"

	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/wire"
)

// Find finds objects and says which they are.
func (s *session) Find(_ context.Context, c *wire.Find) pkcs11.RV {
	asked, adjusted := s.splitAdjusted(c.Template)
	handles, rv := s.objects(asked)
	if rv != pkcs11.CKR_OK {
		return rv
	}
	for _, object := range handles {
		if s.token.isHidden(object) {
			continue
		}
		k, rv := s.identifyFound(object)
		switch {
		case rv == pkcs11.CKR_OBJECT_HANDLE_INVALID:
			continue // destroyed since it was found
		case rv != pkcs11.CKR_OK:
			return rv
		case hides(&k):
			s.token.hide(object)
			continue
		case !s.shows(&k, adjusted):
			continue
		}
		c.Found = append(c.Found, k.Identity)
		if c.Limit > 0 && uint64(len(c.Found)) == c.Limit {
			break
		}
	}
	return pkcs11.CKR_OK
}

// identifyFound identifies an object that a search has just found. While another
// session makes or destroys it, SoftHSM 2.6.1 shows it and answers questions
// about it with CKR_GENERAL_ERROR or CKR_ATTRIBUTE_VALUE_INVALID: a moment later
// it is complete, or gone, which CKR_OBJECT_HANDLE_INVALID says. An object that
// stays unreadable is an error: what is left out would seem not to be there.
func (s *session) identifyFound(object uint64) (k known, rv pkcs11.RV) {
	rv = untilClear(func() (rv pkcs11.RV) {
		k, rv = s.identify(object)
		return rv
	}, pkcs11.CKR_ATTRIBUTE_VALUE_INVALID)
	return k, rv
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
	if rv == pkcs11.CKR_OK && hides(&k) {
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

func (s *session) resolve(wanted *wire.Identity) (same []wire.Identity, rv pkcs11.RV) {
	for _, hint := range hints(wanted) {
		if same, rv = s.same(wanted, hint); rv != pkcs11.CKR_OK || same != nil {
			return same, rv
		}
	}
	return nil, pkcs11.CKR_OK
}

// hints are templates that find an object, the narrowest first.
func hints(wanted *wire.Identity) []pkcs11.Template {
	all := pkcs11.Template{pkcs11.Ulong(pkcs11.CKA_CLASS, wanted.Class)}
	if isKey(wanted.Class) {
		all = append(all, pkcs11.Ulong(pkcs11.CKA_KEY_TYPE, wanted.KeyType))
	}
	list := []pkcs11.Template{all}
	if len(wanted.Label) > 0 {
		list = append(list, all.With(pkcs11.Bytes(pkcs11.CKA_LABEL, wanted.Label)))
	}
	if len(wanted.ID) > 0 && wanted.Class != pkcs11.CKO_DATA {
		list = append(list, list[len(list)-1].With(pkcs11.Bytes(pkcs11.CKA_ID, wanted.ID)))
	}
	slices.Reverse(list)
	return list
}

// same finds those objects among the ones that fit a template that are the one
// wanted.
func (s *session) same(wanted *wire.Identity, hint pkcs11.Template) (same []wire.Identity, rv pkcs11.RV) {
	handles, rv := s.objects(hint)
	if rv != pkcs11.CKR_OK {
		return nil, rv
	}
	for _, object := range handles {
		if print := s.printOf(object); print != nil && !bytes.Equal(print, wanted.Fingerprint) {
			continue
		}
		k, rv := s.identifyFound(object)
		switch {
		case rv == pkcs11.CKR_OBJECT_HANDLE_INVALID:
		case rv != pkcs11.CKR_OK:
			return nil, rv
		case k.Same(wanted) && !hides(&k):
			same = append(same, k.Identity)
		}
	}
	return same, pkcs11.CKR_OK
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
