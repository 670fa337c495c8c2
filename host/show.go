// SPDX-License-Identifier: Apache-2.0

package host

import (
	"bytes"
	"context"
	"slices"

	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/wire"
)

// GetAttributeValue reads attributes; in the group view adjusted ones read as
// on the original.
func (s *session) GetAttributeValue(ctx context.Context, c *wire.GetAttributeValue) pkcs11.RV {
	if s.token.isHidden(c.Object) {
		return pkcs11.CKR_OBJECT_HANDLE_INVALID
	}
	adjusted := func(q wire.Question) bool { return isAdjusted[q.Type] }
	if !s.guards() || !slices.ContainsFunc(c.Query, adjusted) || s.domain() == nil {
		return s.raw.GetAttributeValue(ctx, c)
	}
	k, rv := s.identify(c.Object)
	if rv != pkcs11.CKR_OK {
		return rv
	}
	shown := s.shown(&k)
	if len(shown) == 0 {
		return s.raw.GetAttributeValue(ctx, c)
	}
	return s.merge(ctx, c, shown)
}

// merge asks the token for what is not shown from memory.
func (s *session) merge(ctx context.Context, c *wire.GetAttributeValue, shown pkcs11.Template) pkcs11.RV {
	values, rv := make(wire.Values, len(c.Query)), pkcs11.CKR_OK
	rest := wire.GetAttributeValue{Object: c.Object, Query: wire.Query{}}
	var places []int
	for i, q := range c.Query {
		if a := shown.Find(q.Type); a != nil && isAdjusted[q.Type] {
			var one pkcs11.RV
			if values[i], one = answer(q, a.Value); one != pkcs11.CKR_OK {
				rv = one
			}
			continue
		}
		rest.Query, places = append(rest.Query, q), append(places, i)
	}
	if len(places) > 0 {
		if other := s.raw.GetAttributeValue(ctx, &rest); other != pkcs11.CKR_OK {
			rv = other
		}
		if !rv.HasReply() {
			return rv
		}
		for i, place := range places {
			values[place] = rest.Values[i]
		}
	}
	c.Values = values
	return rv
}

// answer answers a question with a value (PKCS#11 2.40, C_GetAttributeValue).
func answer(q wire.Question, value []byte) (wire.Value, pkcs11.RV) {
	switch {
	case q.Form == wire.AskLength:
		return wire.Value{Type: q.Type, Form: wire.GotLength, Length: uint64(len(value))}, pkcs11.CKR_OK
	case uint64(len(value)) > q.Capacity:
		return wire.Value{Type: q.Type, Form: wire.GotUnavailable}, pkcs11.CKR_BUFFER_TOO_SMALL
	}
	return wire.Value{Type: q.Type, Form: wire.GotData, Data: value}, pkcs11.CKR_OK
}

// splitAdjusted takes those attributes out of a search that the token would
// compare with its own values.
func (s *session) splitAdjusted(t pkcs11.Template) (rest, adjusted pkcs11.Template) {
	if !s.guards() || s.domain() == nil {
		return t, nil
	}
	for _, a := range t {
		if isAdjusted[a.Type] {
			adjusted = append(adjusted, a)
		} else {
			rest = append(rest, a)
		}
	}
	return rest, adjusted
}

// shows says whether an object reads as the adjusted attributes of a search.
func (s *session) shows(k *known, adjusted pkcs11.Template) bool {
	if len(adjusted) == 0 {
		return true
	}
	shown := s.shown(k)
	for _, a := range adjusted {
		have := shown.Find(a.Type)
		if have == nil {
			own, rv := s.read(k.Object, a.Type)
			if have = own.Find(a.Type); rv != pkcs11.CKR_OK || have == nil {
				return false
			}
		}
		if !bytes.Equal(have.Value, a.Value) {
			return false
		}
	}
	return true
}

// SetAttributeValue changes attributes. What makes a key copyable stays; what
// the application is to see of it changes in the record.
func (s *session) SetAttributeValue(ctx context.Context, c *wire.SetAttributeValue) pkcs11.RV {
	switch {
	case s.token.isHidden(c.Object):
		return pkcs11.CKR_OBJECT_HANDLE_INVALID
	case reserved(c.Template):
		return pkcs11.CKR_ATTRIBUTE_VALUE_INVALID
	case s.guards() && c.Template.Find(pkcs11.CKA_PUBLIC_KEY_INFO) != nil:
		return pkcs11.CKR_ATTRIBUTE_READ_ONLY // a key is known by it
	case !s.guards() || s.domain() == nil:
		return s.raw.SetAttributeValue(ctx, c)
	}
	k, rv := s.identify(c.Object)
	if rv != pkcs11.CKR_OK {
		return rv
	}
	shown := s.shown(&k)
	if len(shown) == 0 {
		return s.raw.SetAttributeValue(ctx, c)
	}
	if !shown.Bool(pkcs11.CKA_MODIFIABLE, true) {
		return pkcs11.CKR_ACTION_PROHIBITED
	}
	native, changed, rv := change(c.Template, shown)
	if rv != pkcs11.CKR_OK {
		return rv
	}
	if len(k.Fingerprint) == 0 { // it cannot be copied, so nothing has to be guarded
		native = c.Template
	}
	if native = s.domain().strip(native); len(native) > 0 {
		rv := s.raw.SetAttributeValue(ctx, &wire.SetAttributeValue{Object: c.Object, Template: native})
		if rv == pkcs11.CKR_ATTRIBUTE_READ_ONLY && native.Bool(pkcs11.CKA_WRAP_WITH_TRUSTED, false) && len(k.Fingerprint) > 0 {
			rv = s.replace(&k, native, changed)
			if rv == pkcs11.CKR_KEY_NOT_WRAPPABLE || rv == pkcs11.CKR_TEMPLATE_INCONSISTENT {
				rv = pkcs11.CKR_ATTRIBUTE_READ_ONLY // nor can another key be it
			}
			return rv
		}
		if rv != pkcs11.CKR_OK {
			return rv
		}
	}
	if m := s.token.making(c.Object); m != nil {
		s.token.remember(c.Object, &making{shown: changed, held: m.held})
		return pkcs11.CKR_OK
	}
	if len(k.Fingerprint) > 0 {
		_, rv = s.writeOrigin(&k, s.guardNow(c.Object), changed)
	}
	return rv
}

// replace puts an equal key that only the strict domain key can wrap into the
// place of an open one, for tokens that set CKA_WRAP_WITH_TRUSTED at creation
// only, as SoftHSM 2.6.1 does. The handle of the old one is invalid afterwards,
// as if another process had changed the key: whoever holds it resolves anew.
func (s *session) replace(k *known, native, changed pkcs11.Template) pkcs11.RV {
	b, rv := s.unsealed(k)
	if rv != pkcs11.CKR_OK {
		return rv
	}
	b.shown = changed
	for _, a := range native {
		b.attributes = b.attributes.With(a)
	}
	if rv := s.carry(b, k); rv != pkcs11.CKR_OK {
		return rv
	}
	token := k.Flags&wire.OnToken != 0
	made, rv := s.build(b, token)
	if rv != pkcs11.CKR_OK {
		return rv
	}
	if !token {
		s.token.remember(made.Object, &making{held: b.held, shown: changed})
	} else if _, rv = s.writeOrigin(k, s.guardNow(made.Object), changed); rv != pkcs11.CKR_OK {
		s.destroy(made.Object)
		return rv
	}
	s.token.forget(k.Object)
	return s.destroy(k.Object)
}

// guarded attributes are set otherwise than the application asked for.
func guarded(t pkcs11.AttributeType) bool {
	return t == pkcs11.CKA_EXTRACTABLE || t == pkcs11.CKA_SENSITIVE || t == pkcs11.CKA_WRAP_WITH_TRUSTED
}

// change splits a change into what the token is told and what is shown
// afterwards. Extractable keys may become what they cannot leave again
// (PKCS#11 2.40, table 11, footnotes 11 and 12).
func change(t, shown pkcs11.Template) (native, changed pkcs11.Template, rv pkcs11.RV) {
	changed = shown
	open := shown.Bool(pkcs11.CKA_EXTRACTABLE, false)
	// tell has the token set what it does not have set yet: SoftHSM refuses
	// to set again what cannot be unset.
	tell := func(kind pkcs11.AttributeType) {
		if open && !shown.Bool(kind, false) {
			native = native.With(pkcs11.Bool(kind, true))
		}
	}
	key := shown.Find(pkcs11.CKA_EXTRACTABLE) != nil
	for _, a := range t {
		yes := len(a.Value) == 1 && a.Value[0] != 0
		switch {
		case guarded(a.Type) && !key: // the token says what it has to say to that
			native = append(native, a)
			continue
		case guarded(a.Type) && len(a.Value) != 1:
			return nil, nil, pkcs11.CKR_ATTRIBUTE_VALUE_INVALID
		}
		switch a.Type {
		case pkcs11.CKA_EXTRACTABLE:
			if yes && !open {
				return nil, nil, pkcs11.CKR_ATTRIBUTE_READ_ONLY
			}
			if !yes {
				tell(pkcs11.CKA_SENSITIVE)
				tell(pkcs11.CKA_WRAP_WITH_TRUSTED)
				changed = changed.With(a)
			}
		case pkcs11.CKA_SENSITIVE, pkcs11.CKA_WRAP_WITH_TRUSTED:
			if !yes && shown.Bool(a.Type, false) {
				return nil, nil, pkcs11.CKR_ATTRIBUTE_READ_ONLY
			}
			if yes {
				tell(a.Type)
				changed = changed.With(a)
			}
		case pkcs11.CKA_START_DATE, pkcs11.CKA_END_DATE:
			native, changed = append(native, a), changed.With(a)
		default:
			native = append(native, a)
		}
	}
	return native, changed, pkcs11.CKR_OK
}
