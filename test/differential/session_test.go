// SPDX-License-Identifier: Apache-2.0

package differential_test

import (
	"fmt"

	"oneslot.dev/oneslot/pkcs11"
)

// open opens a session.
func (w *world) open(rw bool) {
	flags := pkcs11.CKF_SERIAL_SESSION
	if rw {
		flags |= pkcs11.CKF_RW_SESSION
	}
	w.openSession(flags, 0)
}

func (w *world) openSession(flags, slotOffset uint64) {
	a := w.all("C_OpenSession", fmt.Sprintf("flags %#x, slot +%d", flags, slotOffset), func(side int, c *call) {
		c.number(sides[side].slot + slotOffset)
		c.number(flags)
		c.null()
		c.null()
		c.handle()
	})
	if a.rv == pkcs11.CKR_OK {
		w.sessions = append(w.sessions, &session{handles: a.handles(0), rw: flags&pkcs11.CKF_RW_SESSION != 0})
	}
}

func (w *world) actOpen() {
	if len(w.sessions) > 6 {
		return
	}
	flags := oneOf([]uint64{4, 6, 6, 4, 2, 0, 0xff, 6}).Draw(w.T, "flags")
	offset := oneOf([]uint64{0, 0, 0, 0, 0, 0, 77777}).Draw(w.T, "slot")
	w.openSession(flags, offset)
}

func (w *world) actClose() {
	s, what := w.anySession()
	if len(w.sessions) > 0 && s == w.sessions[0] && !w.chance(20, "close the first") {
		return
	}
	a := w.all("C_CloseSession", what, func(side int, c *call) { c.number(s.handles[side]) })
	if a.rv != pkcs11.CKR_OK || w.over {
		return
	}
	s.closed = true
	w.forget(func(o *object) bool { return o.owner == s })
	for _, other := range w.sessions {
		if !other.closed {
			return
		}
	}
	w.allClosed()
}

func (w *world) actCloseAll() {
	if !w.chance(20, "close all") {
		return
	}
	w.all("C_CloseAllSessions", "", func(side int, c *call) { c.number(sides[side].slot) })
	for _, s := range w.sessions {
		s.closed = true
	}
	w.forget(func(o *object) bool { return o.owner != nil })
	w.allClosed()
	w.open(true)
}

// allClosed is what the end of the last session does. SoftHSM forgets all handles.
func (w *world) allClosed() {
	w.loggedOut()
	for _, o := range w.objects {
		o.survives = o.survives || !o.gone
	}
	w.forget(func(*object) bool { return true })
}

// forget marks objects as gone. Their handles must be invalid from now on.
func (w *world) forget(which func(*object) bool) {
	for _, o := range w.objects {
		if which(o) {
			o.gone = true
		}
	}
}

// loggedOut is what the end of a login does to handles of private objects.
func (w *world) loggedOut() {
	w.user, w.stale = -1, true
	for _, o := range w.objects {
		o.survives = o.survives || o.private && o.owner == nil && !o.gone
	}
	w.forget(func(o *object) bool { return o.private })
}

func (w *world) login(user uint64, wrong string) {
	w.loginIn(w.sessions[0], "session 0", user, input{bytes: []byte(pin + wrong)})
}

func (w *world) loginIn(s *session, what string, user uint64, p input) {
	a := w.all("C_Login", fmt.Sprintf("%s, user %d, %q", what, user, p.bytes), func(side int, c *call) {
		c.number(s.handles[side])
		c.number(user)
		c.data(p)
	})
	if a.rv == pkcs11.CKR_OK {
		w.user = int(user)
	}
}

func (w *world) actLogin() {
	s, what := w.anySession()
	user := oneOf([]uint64{1, 1, 1, 1, 0, 2, 3, 99}).Draw(w.T, "user")
	right := map[bool]string{true: soPIN, false: pin}[user == 0]
	p := oneOf([]input{
		{bytes: []byte(right)}, {bytes: []byte(right)}, {bytes: []byte(right)}, {bytes: []byte("wrong1")},
		{bytes: []byte{}}, {null: true}, {bytes: []byte(right + "\x00")}, {bytes: []byte("x")},
	}).Draw(w.T, "pin")
	w.loginIn(s, what, user, p)
}

func (w *world) actLogout() {
	s, what := w.anySession()
	a := w.all("C_Logout", what, func(side int, c *call) { c.number(s.handles[side]) })
	if a.rv == pkcs11.CKR_OK {
		w.loggedOut()
	}
}

func (w *world) actSessionInfo() {
	s, what := w.anySession()
	w.all("C_GetSessionInfo", what, func(side int, c *call) {
		c.number(s.handles[side])
		b := c.buffer(make([]byte, 32))
		c.pointer(b)
		c.outputs = append(c.outputs, output{kind: outInfo, buffer: b, skip: []int{0, 8}}) // the slot's ID
	})
}

func (w *world) actSetPIN() {
	s, what := w.anySession()
	old := oneOf([]string{pin, "wrong1", "", pin}).Draw(w.T, "old")
	new := oneOf([]string{pin, "1", "", pin}).Draw(w.T, "new")
	if w.user == int(pkcs11.CKU_SO) {
		old, new = "wrong1", soPIN
	}
	w.all("C_SetPIN", fmt.Sprintf("%s, %q, %q", what, old, new), func(side int, c *call) {
		c.number(s.handles[side])
		c.data(input{bytes: []byte(old)})
		c.data(input{bytes: []byte(new)})
	})
}

func (w *world) actRandom() {
	s, what := w.anySession()
	n := oneOf([]uint64{0, 1, 32, 5000}).Draw(w.T, "bytes")
	w.all("C_GenerateRandom", fmt.Sprintf("%s, %d", what, n), func(side int, c *call) {
		c.number(s.handles[side])
		c.pointer(c.buffer(make([]byte, n)))
		c.number(n)
	})
}

func (w *world) actSeed() {
	s, what := w.anySession()
	w.all("C_SeedRandom", what, func(side int, c *call) {
		c.number(s.handles[side])
		c.data(input{bytes: []byte("seed")})
	})
}

// actLegacy are the functions that nobody has.
func (w *world) actLegacy() {
	s, what := w.anySession()
	name := oneOf([]string{"C_GetFunctionStatus", "C_CancelFunction"}).Draw(w.T, "function")
	w.all(name, what, func(side int, c *call) { c.number(s.handles[side]) })
}

func (w *world) actMechanismInfo() {
	kind := oneOf([]pkcs11.MechanismType{pkcs11.CKM_AES_CBC, pkcs11.CKM_RSA_PKCS, pkcs11.CKM_SHA256, 0x80000001, pkcs11.CKM_ECDSA}).Draw(w.T, "mechanism")
	w.all("C_GetMechanismInfo", kind.String(), func(side int, c *call) {
		c.number(sides[side].slot)
		c.number(uint64(kind))
		b := c.buffer(make([]byte, 24))
		c.pointer(b)
		c.outputs = append(c.outputs, output{kind: outInfo, buffer: b, skip: []int{0, 0}})
	})
}
