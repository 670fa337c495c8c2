// SPDX-License-Identifier: Apache-2.0

package fake

import (
	"context"
	"slices"

	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/wire"
)

func (s *session) SetAttributeValue(_ context.Context, c *wire.SetAttributeValue) pkcs11.RV {
	o := s.object(c.Object)
	if o == nil {
		return pkcs11.CKR_OBJECT_HANDLE_INVALID
	}
	if a := c.Template.Find(pkcs11.CKA_LABEL); a != nil {
		o.id.Label = slices.Clone(a.Value)
	}
	if a := c.Template.Find(pkcs11.CKA_START_DATE); a != nil {
		o.start = slices.Clone(a.Value)
	}
	if s.life.token.renumber {
		delete(s.life.handles, c.Object)
	}
	return pkcs11.CKR_OK
}

func (s *session) GetAttributeValue(_ context.Context, c *wire.GetAttributeValue) (rv pkcs11.RV) {
	o := s.object(c.Object)
	if o == nil {
		return pkcs11.CKR_OBJECT_HANDLE_INVALID
	}
	for _, q := range c.Query {
		switch q.Type {
		case pkcs11.CKA_EC_POINT:
			c.Values = append(c.Values, wire.Value{Type: q.Type, Form: wire.GotData, Data: o.point()})
		case pkcs11.CKA_LABEL:
			c.Values = append(c.Values, wire.Value{Type: q.Type, Form: wire.GotData, Data: slices.Clone(o.id.Label)})
		case pkcs11.CKA_START_DATE:
			c.Values = append(c.Values, wire.Value{Type: q.Type, Form: wire.GotData, Data: slices.Clone(o.start)})
		default:
			c.Values = append(c.Values, wire.Value{Type: q.Type, Form: wire.GotUnavailable})
			rv = pkcs11.CKR_ATTRIBUTE_TYPE_INVALID
		}
	}
	return rv
}
