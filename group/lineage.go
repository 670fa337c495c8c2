// SPDX-License-Identifier: Apache-2.0

package group

import (
	"slices"

	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/wire"
)

// Objects of one key are told apart by what they are called, and changes rename them.
// What an object was called, and is called later, the journal tells.

// lineage are the names that the object of an event had before and gets after it, as far
// as the journal knows, and whether it is destroyed then.
func (e *entry) lineage() (names map[string]bool, ended bool) {
	now := renamed(e.Identity, e.Changes)
	names = map[string]bool{nameOf(&e.Identity): true, nameOf(&now): true}
	follow := func(live map[string]bool, n *entry, from, to wire.Identity) (over bool) {
		switch name := nameOf(&n.Identity); {
		case !n.Identity.Same(&e.Identity):
		case n.Op == opDestroy:
			over = live[name]
			delete(live, name)
		case n.Op == opChange && renames(n.Changes) && live[nameOf(&from)]:
			names[nameOf(&to)], live[nameOf(&to)] = true, true
		}
		return over
	}
	live := map[string]bool{nameOf(&e.Identity): true}
	for _, n := range slices.Backward(e.before) {
		if n.Op == opCreate && live[nameOf(&n.Identity)] {
			break // it began there
		}
		follow(live, n, renamed(n.Identity, n.Changes), n.Identity)
	}
	live = map[string]bool{nameOf(&now): true}
	for _, n := range e.later {
		ended = follow(live, n, n.Identity, renamed(n.Identity, n.Changes)) || ended
	}
	return names, ended
}

// ended says whether the journal has the destruction of the object of an event.
func (e *entry) ended() bool {
	_, ended := e.lineage()
	return ended
}

// kin are those objects found on a member that an event may be about: none that was
// created later under another name, and if the member has missed the creation of its
// object, none of another name at all.
func (e *entry) kin(g *Group, l *link, found []wire.Identity) []wire.Identity {
	rivals, missed := make(map[string]bool), false
	for _, n := range e.later {
		if n.Op == opCreate && n.Identity.Same(&e.Identity) {
			of, _ := n.lineage()
			for name := range of {
				rivals[name] = true
			}
		}
	}
	for _, n := range e.before {
		if n.Op == opCreate && !n.Open && n.Identity.Same(&e.Identity) && n.waits(g, l) {
			of, _ := n.lineage()
			missed = missed || of[nameOf(&e.Identity)]
		}
	}
	if len(rivals) == 0 && !missed {
		return found
	}
	mine, _ := e.lineage()
	return slices.DeleteFunc(slices.Clone(found), func(id wire.Identity) bool {
		return !mine[nameOf(&id)] && (missed || rivals[nameOf(&id)])
	})
}

// renames says whether a change of attributes is one of what an object is called.
func renames(t pkcs11.Template) bool {
	return t.Find(pkcs11.CKA_LABEL) != nil || t.Find(pkcs11.CKA_ID) != nil
}

// renamed is an identity after a change of attributes.
func renamed(id wire.Identity, t pkcs11.Template) wire.Identity {
	if a := t.Find(pkcs11.CKA_LABEL); a != nil {
		id.Label = a.Value
	}
	if a := t.Find(pkcs11.CKA_ID); a != nil {
		id.ID = a.Value
	}
	return id
}
