// SPDX-License-Identifier: Apache-2.0

// Package token is a token as an application sees it that loads a PKCS#11
// module, and work to do on it of which every answer is checked in software. It
// is for tests and the demonstration, and knows nothing of groups or members.
package token

import (
	"errors"
	"fmt"

	p11 "github.com/miekg/pkcs11"
)

// A Token is one slot of a module that this process has loaded and initialised.
type Token struct {
	*p11.Ctx
	Slot uint
}

// New loads the module and initialises it.
func New(module string) (*Token, error) {
	ctx := p11.New(module)
	if ctx == nil {
		return nil, fmt.Errorf("%s: not loaded", module)
	}
	if err := ctx.Initialize(); err != nil {
		ctx.Destroy()
		return nil, fmt.Errorf("C_Initialize: %w", err)
	}
	return &Token{Ctx: ctx}, nil
}

// Open loads the module, initialises it and chooses the token by its label.
func Open(module, label string) (*Token, error) {
	t, err := New(module)
	if err != nil {
		return nil, err
	}
	if err := t.Choose(label); err != nil {
		t.Close()
		return nil, err
	}
	return t, nil
}

// Choose finds the slot of the token with this label.
func (t *Token) Choose(label string) error {
	slots, err := t.GetSlotList(true)
	if err != nil {
		return fmt.Errorf("C_GetSlotList: %w", err)
	}
	for _, slot := range slots {
		about, err := t.GetTokenInfo(slot)
		if err != nil {
			return fmt.Errorf("C_GetTokenInfo: %w", err)
		}
		if about.Label == label {
			t.Slot = slot
			return nil
		}
	}
	return fmt.Errorf("no token %q in %d slots", label, len(slots))
}

// Close finalises and unloads the module.
func (t *Token) Close() error {
	err := t.Finalize()
	t.Destroy()
	return err
}

// Session opens a read-write session.
func (t *Token) Session() (p11.SessionHandle, error) {
	s, err := t.OpenSession(t.Slot, p11.CKF_SERIAL_SESSION|p11.CKF_RW_SESSION)
	if err != nil {
		return 0, fmt.Errorf("C_OpenSession: %w", err)
	}
	return s, nil
}

// Login opens a session and logs the user in.
func (t *Token) Login(pin string) (p11.SessionHandle, error) {
	s, err := t.Session()
	if err != nil {
		return 0, err
	}
	if err := t.Ctx.Login(s, p11.CKU_USER, pin); err != nil {
		return s, fmt.Errorf("C_Login: %w", err)
	}
	return s, nil
}

// Find returns what matches, in the token's order.
func (t *Token) Find(s p11.SessionHandle, template ...*p11.Attribute) ([]p11.ObjectHandle, error) {
	if err := t.FindObjectsInit(s, template); err != nil {
		return nil, fmt.Errorf("C_FindObjectsInit: %w", err)
	}
	var all []p11.ObjectHandle
	for {
		some, _, err := t.FindObjects(s, 64)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("C_FindObjects: %w", err), t.FindObjectsFinal(s))
		}
		if len(some) == 0 {
			return all, t.FindObjectsFinal(s)
		}
		all = append(all, some...)
	}
}

// Attribute reads one attribute.
func (t *Token) Attribute(s p11.SessionHandle, o p11.ObjectHandle, kind uint) ([]byte, error) {
	got, err := t.GetAttributeValue(s, o, []*p11.Attribute{p11.NewAttribute(kind, nil)})
	if err != nil {
		return nil, fmt.Errorf("C_GetAttributeValue(%#x): %w", kind, err)
	}
	return got[0].Value, nil
}

// Class is the template of a class, for searches.
func Class(class uint) *p11.Attribute { return p11.NewAttribute(p11.CKA_CLASS, class) }

// Label is the template of a label.
func Label(label string) *p11.Attribute { return p11.NewAttribute(p11.CKA_LABEL, label) }

// ID is the template of a CKA_ID.
func ID(id ...byte) *p11.Attribute { return p11.NewAttribute(p11.CKA_ID, id) }
