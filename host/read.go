// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"slices"
	"time"

	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/wire"
)

// bg stands for the context of calls to the module: they cannot be cancelled,
// the process can be killed.
var bg = context.Background()

// room asks for an attribute that is expected to be short.
func room(t pkcs11.AttributeType, capacity uint64) wire.Question {
	return wire.Question{Type: t, Form: wire.AskRoom, Capacity: capacity}
}

// Rooms for attributes: byte strings whose length is not known beforehand are
// read at once if they are as short as they usually are.
const (
	shortRoom = 256
	wholeRoom = 4 << 10 // for certificates and our records; the most that is asked at once
	valueRoom = 1 << 20 // asked for its length first by the module's caller
)

// read reads attributes of an object with one call of the module, and two more if one of
// them may be long. Those that cannot be had are absent from the result.
func (s *session) read(object uint64, kinds ...pkcs11.AttributeType) (pkcs11.Template, pkcs11.RV) {
	query := make(wire.Query, len(kinds))
	for i, t := range kinds {
		query[i] = room(t, roomFor(t))
	}
	c := wire.GetAttributeValue{Object: object, Query: query}
	rv := s.raw.GetAttributeValue(bg, &c)
	if isUnclear(rv) {
		return s.readSingly(object, query, rv)
	}
	if !rv.HasReply() {
		return nil, rv
	}
	out := taken(make(pkcs11.Template, 0, len(kinds)), c.Values)
	if rv == pkcs11.CKR_OK {
		return out, rv
	}
	// The code tells of one attribute; any that is missing may have been too long.
	var missing wire.Query
	for i, v := range c.Values {
		if v.Form != wire.GotData && query[i].Capacity >= shortRoom && mayBeLong(v.Type, out) {
			missing = append(missing, wire.Question{Type: v.Type})
		}
	}
	if missing == nil {
		return out, pkcs11.CKR_OK
	}
	longer, rv := s.readLonger(object, missing)
	return append(out, longer...), rv
}

// readLonger reads those attributes that there are, however long they are.
func (s *session) readLonger(object uint64, missing wire.Query) (pkcs11.Template, pkcs11.RV) {
	lengths := wire.GetAttributeValue{Object: object, Query: missing}
	rv := s.raw.GetAttributeValue(bg, &lengths)
	if isUnclear(rv) {
		return s.readSingly(object, missing, rv)
	}
	if !rv.HasReply() {
		return nil, rv
	}
	values := wire.GetAttributeValue{Object: object}
	for _, v := range lengths.Values {
		if v.Form == wire.GotLength {
			values.Query = append(values.Query, room(v.Type, min(v.Length, valueRoom)))
		}
	}
	if values.Query == nil {
		return nil, pkcs11.CKR_OK
	}
	if rv := s.raw.GetAttributeValue(bg, &values); !rv.HasReply() {
		return nil, rv
	}
	return taken(nil, values.Values), pkcs11.CKR_OK
}

// taken adds the values that there are to a template.
func taken(t pkcs11.Template, values wire.Values) pkcs11.Template {
	for _, v := range values {
		if v.Form == wire.GotData {
			t = append(t, pkcs11.Attribute{Type: v.Type, Value: v.Data})
		}
	}
	return t
}

// mayBeLong says whether an attribute that was not had may be there, as far as
// the object's class is among what was read. On a network HSM each call is a round trip,
// and each object lacks one of these (PKCS#11 2.40, 4.5 to 4.8; CKA_UNIQUE_ID 3.0, 4.4).
func mayBeLong(t pkcs11.AttributeType, read pkcs11.Template) bool {
	class, known := read.Ulong(pkcs11.CKA_CLASS)
	switch t {
	case pkcs11.CKA_UNIQUE_ID:
		return false // one that is longer is as good as none
	case pkcs11.CKA_APPLICATION, pkcs11.CKA_OBJECT_ID:
		return !known || class == pkcs11.CKO_DATA
	case pkcs11.CKA_ID:
		return !known || class != pkcs11.CKO_DATA
	}
	return true
}

// isUnclear says whether an answer says nothing: why it failed, or which attribute of a
// query is to blame.
func isUnclear(rv pkcs11.RV) bool {
	return rv == pkcs11.CKR_GENERAL_ERROR || rv == pkcs11.CKR_FUNCTION_FAILED
}

// readSingly reads attributes one by one. SoftHSM 2.6.1 answers a whole query
// with CKR_GENERAL_ERROR for one attribute it cannot read, such as a date of a
// private object.
func (s *session) readSingly(object uint64, query wire.Query, failed pkcs11.RV) (out pkcs11.Template, rv pkcs11.RV) {
	for _, q := range query {
		if q.Form != wire.AskRoom || q.Capacity >= shortRoom {
			q = room(q.Type, valueRoom)
		}
		c := wire.GetAttributeValue{Object: object, Query: wire.Query{q}}
		rv := s.raw.GetAttributeValue(bg, &c)
		if rv == pkcs11.CKR_OK {
			out = append(out, pkcs11.Attribute{Type: q.Type, Value: c.Values[0].Data})
		} else if !rv.HasReply() && rv != failed {
			return nil, rv
		}
	}
	if out == nil {
		return nil, failed
	}
	return out, pkcs11.CKR_OK
}

// roomFor is the room to read an attribute in at the first try.
func roomFor(t pkcs11.AttributeType) uint64 {
	switch kinds[t] {
	case kindBool:
		return 1
	case kindUlong:
		return 8
	case kindDate:
		return 8
	}
	switch t {
	case pkcs11.CKA_MODULUS, pkcs11.CKA_ALLOWED_MECHANISMS:
		return 2048
	case pkcs11.CKA_VALUE:
		return wholeRoom
	}
	return shortRoom
}

// How long a question is put again to a token that gives no clear answer.
const (
	askAgainFirst = time.Millisecond
	askAgainFor   = 200 * time.Millisecond
)

// untilClear asks a token something that changes nothing, and again for a while if
// the answer says nothing: SoftHSM 2.6.1 answers so while another process writes
// what is asked for. unclear are answers that say no more to this question.
func untilClear(ask func() pkcs11.RV, unclear ...pkcs11.RV) (rv pkcs11.RV) {
	begin := time.Now()
	for pause := askAgainFirst; ; pause *= 2 {
		if rv = ask(); !isUnclear(rv) && !slices.Contains(unclear, rv) || time.Since(begin)+pause > askAgainFor {
			return rv
		}
		<-time.NewTimer(pause).C
	}
}

// objects finds objects by their attributes.
func (s *session) objects(template pkcs11.Template) (all []uint64, rv pkcs11.RV) {
	rv = untilClear(func() (rv pkcs11.RV) {
		all, rv = s.raw.FindAll(template)
		return rv
	})
	s.token.settled()
	return all, rv
}

// write makes, copies or destroys an object on the token, one at a time.
func (s *session) write(call func() pkcs11.RV) pkcs11.RV {
	s.token.writing.Lock()
	defer s.token.writing.Unlock()
	return call()
}

// destroy destroys an object and forgets it.
func (s *session) destroy(object uint64) pkcs11.RV {
	rv := s.write(func() pkcs11.RV { return s.raw.DestroyObject(bg, &wire.DestroyObject{Object: object}) })
	if rv == pkcs11.CKR_OK {
		s.token.forget(object)
	}
	return rv
}
