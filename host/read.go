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
	valueRoom = 1 << 20 // asked for its length first by the module's caller
)

// read reads attributes of an object with one call of the module, two if one
// of them is long. Those that cannot be had are absent from the result.
func (s *session) read(object uint64, kinds ...pkcs11.AttributeType) (pkcs11.Template, pkcs11.RV) {
	query := make(wire.Query, len(kinds))
	for i, t := range kinds {
		query[i] = room(t, roomFor(t))
	}
	c := wire.GetAttributeValue{Object: object, Query: query}
	rv := s.raw.GetAttributeValue(bg, &c)
	if rv == pkcs11.CKR_GENERAL_ERROR || rv == pkcs11.CKR_FUNCTION_FAILED {
		return s.readSingly(object, query, rv)
	}
	if !rv.HasReply() {
		return nil, rv
	}
	out := make(pkcs11.Template, 0, len(kinds))
	var longer wire.Query
	for i, v := range c.Values {
		switch {
		case v.Form == wire.GotData:
			out = append(out, pkcs11.Attribute{Type: v.Type, Value: v.Data})
		case query[i].Capacity == shortRoom && rv != pkcs11.CKR_OK:
			// The code tells of one attribute; any may have been too long.
			longer = append(longer, room(v.Type, valueRoom))
		}
	}
	if longer != nil {
		c := wire.GetAttributeValue{Object: object, Query: longer}
		if rv := s.raw.GetAttributeValue(bg, &c); !rv.HasReply() {
			return nil, rv
		}
		for _, v := range c.Values {
			if v.Form == wire.GotData {
				out = append(out, pkcs11.Attribute{Type: v.Type, Value: v.Data})
			}
		}
	}
	return out, pkcs11.CKR_OK
}

// readSingly reads attributes one by one. SoftHSM 2.6.1 answers a whole query
// with CKR_GENERAL_ERROR for one attribute it cannot read, such as a date of a
// private object.
func (s *session) readSingly(object uint64, query wire.Query, failed pkcs11.RV) (out pkcs11.Template, rv pkcs11.RV) {
	for _, q := range query {
		if q.Capacity == shortRoom {
			q.Capacity = valueRoom
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
	unclear = append(unclear, pkcs11.CKR_GENERAL_ERROR, pkcs11.CKR_FUNCTION_FAILED)
	begin := time.Now()
	for pause := askAgainFirst; ; pause *= 2 {
		if rv = ask(); !slices.Contains(unclear, rv) || time.Since(begin)+pause > askAgainFor {
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
