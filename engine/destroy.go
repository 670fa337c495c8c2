// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"

	"oneslot.dev/oneslot/group"
	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/wire"
)

// DestroyObject is C_DestroyObject.
func (a *application) DestroyObject(_ context.Context, c *wire.DestroyObject) pkcs11.RV {
	s, o, rv := a.object(c.Session, c.Object)
	if rv != pkcs11.CKR_OK {
		return rv
	}
	if o.owner == nil && !s.rw {
		return pkcs11.CKR_SESSION_READ_ONLY
	}
	switch {
	case o.owner != nil:
		rv = s.slot.destroySessionObject(o)
	case s.slot.virtual == nil:
		rv = s.slot.onlyHere(o, func(handle uint64) wire.Call { return &wire.DestroyObject{Object: handle} })
	default:
		rv = s.slot.group.Destroy(o.identity(), o.onMember)
	}
	if rv == pkcs11.CKR_OK {
		s.slot.objects.remove(o)
	}
	return rv
}

// destroySessionObject destroys a session object on each member that has it.
// One that cannot be asked loses it with its sessions.
func (sl *slot) destroySessionObject(o *object) pkcs11.RV {
	result := pkcs11.CKR_OK
	sl.group.Each(func(p *group.Place) {
		handle, ok := o.known(p)
		if !ok {
			return
		}
		call := wire.DestroyObject{Object: handle}
		if _, err := p.Do(&call); err == nil && call.RV != pkcs11.CKR_OK && call.RV != pkcs11.CKR_OBJECT_HANDLE_INVALID {
			result = call.RV
		}
	})
	return result
}
