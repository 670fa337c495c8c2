// SPDX-License-Identifier: Apache-2.0

package group

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/wire"
)

// A SurveyDifference is an attribute that does not read the same on the members
// that have an object. Values that are secret are not looked at.
type SurveyDifference struct {
	Attribute string            `json:"attribute"`
	Values    map[string]string `json:"values"` // by member; of several copies there, all of them
}

// shape is how the value of an attribute is shown.
type shape uint8

const (
	shapeHex shape = iota
	shapeText
	shapeBool
	shapeUlong
)

// A trait is an attribute that copies of an object have in common.
type trait struct {
	kind  pkcs11.AttributeType
	shape shape
}

// The traits of objects, by what they are. None is secret: of private and secret
// keys no value is asked for.
var (
	traitsOfAll = []trait{
		{pkcs11.CKA_LABEL, shapeText}, {pkcs11.CKA_PRIVATE, shapeBool}, {pkcs11.CKA_MODIFIABLE, shapeBool},
		{pkcs11.CKA_COPYABLE, shapeBool}, {pkcs11.CKA_DESTROYABLE, shapeBool},
	}
	traitsOfKeys = []trait{
		{pkcs11.CKA_ID, shapeHex}, {pkcs11.CKA_START_DATE, shapeText}, {pkcs11.CKA_END_DATE, shapeText},
		{pkcs11.CKA_DERIVE, shapeBool}, {pkcs11.CKA_LOCAL, shapeBool}, {pkcs11.CKA_KEY_GEN_MECHANISM, shapeUlong},
		{pkcs11.CKA_ALLOWED_MECHANISMS, shapeHex},
	}
	traitsOfGuarded = []trait{
		{pkcs11.CKA_SENSITIVE, shapeBool}, {pkcs11.CKA_EXTRACTABLE, shapeBool}, {pkcs11.CKA_ALWAYS_SENSITIVE, shapeBool},
		{pkcs11.CKA_NEVER_EXTRACTABLE, shapeBool}, {pkcs11.CKA_WRAP_WITH_TRUSTED, shapeBool},
		{pkcs11.CKA_DECRYPT, shapeBool}, {pkcs11.CKA_SIGN, shapeBool}, {pkcs11.CKA_UNWRAP, shapeBool},
	}
	traitsOfClass = map[uint64][]trait{
		pkcs11.CKO_PUBLIC_KEY: {
			{pkcs11.CKA_SUBJECT, shapeHex}, {pkcs11.CKA_ENCRYPT, shapeBool}, {pkcs11.CKA_VERIFY, shapeBool},
			{pkcs11.CKA_VERIFY_RECOVER, shapeBool}, {pkcs11.CKA_WRAP, shapeBool}, {pkcs11.CKA_TRUSTED, shapeBool},
		},
		pkcs11.CKO_PRIVATE_KEY: {
			{pkcs11.CKA_SUBJECT, shapeHex}, {pkcs11.CKA_SIGN_RECOVER, shapeBool}, {pkcs11.CKA_ALWAYS_AUTHENTICATE, shapeBool},
		},
		pkcs11.CKO_SECRET_KEY: {
			{pkcs11.CKA_ENCRYPT, shapeBool}, {pkcs11.CKA_VERIFY, shapeBool}, {pkcs11.CKA_WRAP, shapeBool},
			{pkcs11.CKA_TRUSTED, shapeBool}, {pkcs11.CKA_CHECK_VALUE, shapeHex}, {pkcs11.CKA_VALUE_LEN, shapeUlong},
		},
		pkcs11.CKO_CERTIFICATE: {
			{pkcs11.CKA_ID, shapeHex}, {pkcs11.CKA_TRUSTED, shapeBool}, {pkcs11.CKA_CERTIFICATE_CATEGORY, shapeUlong},
			{pkcs11.CKA_START_DATE, shapeText}, {pkcs11.CKA_END_DATE, shapeText}, {pkcs11.CKA_SUBJECT, shapeHex},
			{pkcs11.CKA_ISSUER, shapeHex}, {pkcs11.CKA_SERIAL_NUMBER, shapeHex}, {pkcs11.CKA_URL, shapeText},
		},
		pkcs11.CKO_DATA: {{pkcs11.CKA_APPLICATION, shapeText}, {pkcs11.CKA_OBJECT_ID, shapeHex}},
	}
)

// traits are what is compared of objects of a class.
func traits(class uint64) []trait {
	all := slices.Clone(traitsOfAll)
	switch class {
	case pkcs11.CKO_PRIVATE_KEY, pkcs11.CKO_SECRET_KEY:
		all = append(append(all, traitsOfKeys...), traitsOfGuarded...)
	case pkcs11.CKO_PUBLIC_KEY:
		all = append(all, traitsOfKeys...)
	}
	return append(all, traitsOfClass[class]...)
}

// traitRoom is the longest value of an attribute that is looked at, in bytes.
const traitRoom = 16 << 10

// differ finds out which attributes of the copies of an object do not read the
// same. A copy that cannot be read is in the error.
func (g *Group) differ(copies []holding) (out []SurveyDifference, err error) {
	if len(copies) < 2 {
		return nil, nil
	}
	kinds := traits(copies[0].id.Class)
	read := make([][]string, len(copies))
	for i, c := range copies {
		if read[i], err = readTraits(c.id.Object, kinds, func(call wire.Call) error {
			_, err := c.link.background(g.ctx, g.limits(nil), call)
			return err
		}); err != nil {
			return nil, fmt.Errorf("member %s: its attributes cannot be read: %w", c.link.seat.member.Name(), err)
		}
	}
	for k, t := range kinds {
		values := make(map[string][]string)
		for i, c := range copies {
			name := c.link.seat.member.Name()
			values[name] = append(values[name], read[i][k])
		}
		joined, different := make(map[string]string), make(map[string]bool)
		for name, list := range values {
			slices.Sort(list)
			list = slices.Compact(list) // how many copies there are is said elsewhere
			joined[name] = strings.Join(list, " and ")
			different[joined[name]] = true
		}
		if len(different) > 1 {
			out = append(out, SurveyDifference{t.kind.String(), joined})
		}
	}
	return out, nil
}

// readTraits reads attributes of one copy, as they are shown. A token that does
// not answer for all of them at once is asked for each.
func readTraits(object uint64, kinds []trait, do func(wire.Call) error) ([]string, error) {
	call := wire.GetAttributeValue{Object: object}
	for _, t := range kinds {
		call.Query = append(call.Query, wire.Question{Type: t.kind, Form: wire.AskRoom, Capacity: traitRoom})
	}
	if err := do(&call); err != nil {
		return nil, err
	}
	out := make([]string, len(kinds))
	for i, t := range kinds {
		if call.RV.HasReply() && len(call.Values) > i {
			out[i] = t.shape.show(call.Values[i])
			continue
		}
		one := wire.GetAttributeValue{Object: object, Query: call.Query[i : i+1]}
		if err := do(&one); err != nil {
			return nil, err
		}
		if out[i] = absent; one.RV.HasReply() && len(one.Values) == 1 {
			out[i] = t.shape.show(one.Values[0])
		}
	}
	return out, nil
}

// absent is how an attribute is shown that an object does not have. Tokens do
// not agree on whether that is an empty value.
const absent = "none"

func (s shape) show(v wire.Value) string {
	switch {
	case v.Form != wire.GotData || len(v.Data) == 0:
		return absent
	case s == shapeText:
		return fmt.Sprintf("%q", v.Data)
	case s == shapeBool && len(v.Data) == 1:
		return fmt.Sprint(v.Data[0] != 0)
	case s == shapeUlong && len(v.Data) == 8:
		return fmt.Sprintf("%#x", binary.LittleEndian.Uint64(v.Data))
	}
	return fmt.Sprintf("%x", v.Data)
}
