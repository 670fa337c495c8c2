// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"slices"

	"oneslot.dev/oneslot/group"
	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/wire"
)

// An offer is what the tokens behind a slot say of one mechanism, taken together.
type offer struct {
	info   pkcs11.MechanismInfo // key sizes narrowed, flags and-ed
	some   uint64               // the flags that some token has
	every  uint64               // those that no token lacks which tells what the mechanism is for
	tokens int                  // that have the mechanism
	uneven bool                 // they differ in the key sizes
}

// offers are the mechanisms of a slot.
type offers struct {
	told   uint64 // what the group knew of its tokens: group.Group.Told
	tokens int
	order  []pkcs11.MechanismType // of the first token
	by     map[pkcs11.MechanismType]*offer
}

// take adds what one token offers.
func (o *offers) take(d *wire.Description) {
	o.tokens++
	for _, m := range d.Mechanisms {
		known := o.by[m.Type]
		switch {
		case known == nil:
			o.by[m.Type] = &offer{info: m.Info, some: m.Info.Flags, every: functions(m.Info), tokens: 1}
			o.order = append(o.order, m.Type)
		case known.tokens < o.tokens: // one that is listed twice counts once
			known.tokens++
			known.join(m.Info)
		}
	}
}

// join narrows an offer to what another token has, too (rule G8).
func (o *offer) join(other pkcs11.MechanismInfo) {
	flags := o.info.Flags & other.Flags
	o.some, o.every = o.some|other.Flags, o.every&functions(other)
	switch {
	case saysNoSize(other):
	case saysNoSize(o.info):
		o.info = other
	default:
		o.uneven = o.uneven || o.info.MinKeySize != other.MinKeySize || o.info.MaxKeySize != other.MaxKeySize
		o.info.MinKeySize = max(o.info.MinKeySize, other.MinKeySize)
		o.info.MaxKeySize = min(o.info.MaxKeySize, other.MaxKeySize)
	}
	o.info.Flags = flags
}

// functions are the flags of what a mechanism is for: all, if the token tells none.
func functions(i pkcs11.MechanismInfo) uint64 {
	const all = 2*pkcs11.CKF_DERIVE - pkcs11.CKF_ENCRYPT
	if i.Flags&all == 0 {
		return all
	}
	return i.Flags & all
}

// saysNoSize says whether a token tells no key sizes for a mechanism: "for some
// mechanisms [they] have meaningless values" (PKCS#11 2.40, 3.5).
func saysNoSize(i pkcs11.MechanismInfo) bool {
	return i.MaxKeySize == 0 || i.MinKeySize == pkcs11.Unavailable || i.MaxKeySize == pkcs11.Unavailable && i.MinKeySize == 0
}

// offers is what the tokens behind the slot offer, of those that were ever seen: it
// does not shrink when a member is merely away (rule G8). nil: none was seen.
func (s *slot) offers() *offers {
	told := s.group.Told()
	if kept := s.offered.Load(); kept != nil && kept.told == told && s.virtual != nil {
		return kept
	}
	about := s.about()
	if len(about) == 0 {
		return nil
	}
	o := &offers{told: told, by: make(map[pkcs11.MechanismType]*offer)}
	for _, d := range about {
		o.take(d)
	}
	s.offered.Store(o)
	return o
}

// listed says whether the slot offers a mechanism: all its tokens do, and oneslot can
// carry it (rule G8).
func (o *offers) listed(kind pkcs11.MechanismType) *offer {
	if m := o.by[kind]; m != nil && m.tokens == o.tokens && kind.Carried() {
		return m
	}
	return nil
}

// refuses is the answer to a call that names a mechanism for a function (a flag of
// CK_MECHANISM_INFO). What some members of a group offer and others do not is not listed,
// and is refused whichever member would have got the call: it would work or not as the
// balance has it, or make a key that other members cannot use (field-K6). Of what no
// member lists, or all do, the token says what is wrong.
func (s *slot) refuses(m *pkcs11.Mechanism, function uint64) pkcs11.RV {
	if s.virtual == nil || m.Absent {
		return pkcs11.CKR_OK
	}
	if o := s.offers(); o != nil {
		return o.refuses(m.Type, function)
	}
	return pkcs11.CKR_OK
}

func (o *offers) refuses(kind pkcs11.MechanismType, function uint64) pkcs11.RV {
	m := o.by[kind]
	if m != nil && (m.tokens < o.tokens || m.some&function != 0 && m.every&function == 0) {
		return pkcs11.CKR_MECHANISM_INVALID
	}
	return pkcs11.CKR_OK
}

// A keySize is the size of a key for a mechanism, in bits; zero: it is not known.
type keySize struct {
	bits   uint64
	secret bool
}

// within says whether a token takes keys of this size. Of secret keys some tokens tell
// the sizes in bytes and others in bits, whatever the standard says of the mechanism.
func (k keySize) within(i pkcs11.MechanismInfo) bool {
	in := func(n uint64) bool { return n >= i.MinKeySize && n <= i.MaxKeySize }
	return k.bits == 0 || saysNoSize(i) || in(k.bits) || k.secret && in(k.bits/8)
}

// refusesSize is refuses for the size of a key that is to be made. One that some members
// take and others do not is outside of what the slot tells, since it could not be copied
// to those.
func (s *slot) refusesSize(m *pkcs11.Mechanism, k keySize) pkcs11.RV {
	if s.virtual == nil || m.Absent || k.bits == 0 {
		return pkcs11.CKR_OK
	}
	if o := s.offers(); o == nil || o.by[m.Type] == nil || !o.by[m.Type].uneven {
		return pkcs11.CKR_OK
	}
	if take, refuse := s.whoTakes(m.Type, k); take > 0 && refuse > 0 {
		return pkcs11.CKR_KEY_SIZE_RANGE
	}
	return pkcs11.CKR_OK
}

// whoTakes counts the tokens whose key sizes for a mechanism allow a key, and those whose
// do not.
func (s *slot) whoTakes(kind pkcs11.MechanismType, k keySize) (take, refuse int) {
	for _, d := range s.about() {
		if takes(d, kind, k) {
			take++
		} else {
			refuse++
		}
	}
	return take, refuse
}

// takes says whether a token has a mechanism for keys of a size.
func takes(d *wire.Description, kind pkcs11.MechanismType, k keySize) bool {
	return slices.ContainsFunc(d.Mechanisms, func(m wire.OfferedMechanism) bool { return m.Type == kind && k.within(m.Info) })
}

// A fit says on which members a key that exists can be used with a mechanism: where the
// key sizes differ, on those whose sizes allow it, so that it does not work as the balance
// has it. nil: on all alike, and the token says what is wrong.
type fit struct {
	kind pkcs11.MechanismType
	size keySize
}

// fit is what members a key is for with a mechanism.
func (s *slot) fit(m *pkcs11.Mechanism, key *object) *fit {
	if s.virtual == nil || key == nil || m.Absent {
		return nil
	}
	if o := s.offers(); o == nil || o.by[m.Type] == nil || !o.by[m.Type].uneven {
		return nil
	}
	id := key.identity()
	size := keySize{id.Size, id.Class == pkcs11.CKO_SECRET_KEY}
	if take, refuse := s.whoTakes(m.Type, size); take == 0 || refuse == 0 {
		return nil
	}
	return &fit{m.Type, size}
}

// on passes over a member that does not take the key.
func (f *fit) on(p *group.Place) error {
	if f != nil && !takes(p.About(), f.kind, f.size) {
		return group.ErrElsewhere
	}
	return nil
}

// or is the return value for a key that no member can use: without a fit it is that of
// a key that is on none.
func (f *fit) or(elsewhere pkcs11.RV) pkcs11.RV {
	if f != nil {
		return pkcs11.CKR_KEY_SIZE_RANGE
	}
	return elsewhere
}

// pairSize is the size of a pair that a template asks for.
func pairSize(public *pkcs11.Template) keySize {
	if bits, ok := public.Ulong(pkcs11.CKA_MODULUS_BITS); ok {
		return keySize{bits: bits}
	}
	if params := public.Bytes(pkcs11.CKA_EC_PARAMS); params != nil {
		return keySize{bits: pkcs11.CurveOf(params).Bits}
	}
	return keySize{bits: 8 * uint64(len(public.Bytes(pkcs11.CKA_PRIME)))}
}

// secretSize is the size of a secret key that a template asks for.
func secretSize(t *pkcs11.Template) keySize {
	n, _ := t.Ulong(pkcs11.CKA_VALUE_LEN)
	return keySize{8 * n, true}
}

// GetMechanismList is C_GetMechanismList.
func (a *application) GetMechanismList(_ context.Context, c *wire.GetMechanismList) pkcs11.RV {
	s, rv := a.slot(c.Slot)
	if rv != pkcs11.CKR_OK {
		return rv
	}
	o := s.offers()
	if o == nil {
		return pkcs11.CKR_TOKEN_NOT_PRESENT
	}
	list := []uint64{}
	for _, kind := range o.order {
		if o.listed(kind) != nil {
			list = append(list, uint64(kind))
		}
	}
	c.Mechanisms, rv = c.MechanismsRoom.FitUlongs(list)
	return rv
}

// GetMechanismInfo is C_GetMechanismInfo.
func (a *application) GetMechanismInfo(_ context.Context, c *wire.GetMechanismInfo) pkcs11.RV {
	s, rv := a.slot(c.Slot)
	if rv != pkcs11.CKR_OK {
		return rv
	}
	o := s.offers()
	if o == nil {
		return pkcs11.CKR_TOKEN_NOT_PRESENT
	}
	m := o.listed(pkcs11.MechanismType(c.Kind))
	if m == nil {
		return pkcs11.CKR_MECHANISM_INVALID
	}
	c.Info = m.info
	return pkcs11.CKR_OK
}
