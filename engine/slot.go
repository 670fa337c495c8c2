// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"

	"oneslot.dev/oneslot/config"
	"oneslot.dev/oneslot/group"
	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/wire"
)

// What oneslot calls itself where PKCS#11 asks for a maker.
const (
	manufacturer = "oneslot"
	description  = "oneslot: several HSMs, one slot"
	model        = "oneslot group"
)

// A slot is a virtual slot, which a group stands behind, or a physical one,
// whose group is its one member in token view.
type slot struct {
	id       uint64
	app      *application
	virtual  *config.Group  // nil for a physical slot
	physical *config.Member // nil for a virtual slot
	group    *group.Group
	started  sync.Once

	// For a physical slot: a group that has the member, which knows the token
	// without a connection of its own.
	seen *group.Group

	proven    sync.Map // mechanisms without a key that worked once: proof → struct{}
	returning sync.Map // mechanisms that a token chose an IV for, by type
	offered   atomic.Pointer[offers]

	defined map[string]config.Member // the members of a group as they were defined; only reload.go changes it

	turn chan struct{} // of login and logout, one at a time

	mu       sync.Mutex // guards what follows
	user     int        // who is logged in; nobody is -1
	sessions int
	rw       int // sessions that may write
	objects  objects
}

// nobody is the user of a slot without a login.
const nobody = -1

func newSlot(a *application, id uint64) *slot {
	return &slot{id: id, app: a, user: nobody, objects: newObjects(), turn: make(chan struct{}, 1)}
}

// start connects the members. A physical slot waits for its first use.
func (s *slot) start() { s.started.Do(s.group.Start) }

// awake starts a physical slot and waits a while for its member.
func (s *slot) awake() {
	if s.physical == nil {
		return
	}
	s.start()
	ctx, cancel := context.WithTimeout(s.app.ctx, firstPatience)
	defer cancel()
	s.group.AwaitFirst(ctx)
}

// about is what the slot's tokens said of themselves: of each member that was
// ever connected.
func (s *slot) about() []*wire.Description {
	if s.virtual != nil {
		return s.group.About()
	}
	var out []*wire.Description
	for _, m := range s.members() {
		if m.About != nil {
			out = append(out, m.About)
		}
	}
	return out
}

// members are the members behind the slot as they are known best.
func (s *slot) members() []group.MemberSnapshot {
	if s.seen != nil && !s.group.Serving() {
		for _, m := range s.seen.Snapshot().Members {
			if m.Name == s.physical.Name && m.About != nil {
				return []group.MemberSnapshot{m}
			}
		}
	}
	s.awake()
	return s.group.Snapshot().Members
}

// present is whether some token behind the slot can be used.
func (s *slot) present() bool {
	return slices.ContainsFunc(s.members(), func(m group.MemberSnapshot) bool {
		return m.State == group.Ready || m.State == group.Syncing
	})
}

// GetInfo is C_GetInfo.
func (a *application) GetInfo(_ context.Context, c *wire.GetInfo) pkcs11.RV {
	c.Info.Cryptoki = pkcs11.Version{Major: 2, Minor: 40}
	c.Info.Library = pkcs11.Version{Major: 0, Minor: 1}
	pkcs11.Pad(c.Info.Manufacturer[:], manufacturer)
	pkcs11.Pad(c.Info.Description[:], description)
	return pkcs11.CKR_OK
}

// GetSlotList is C_GetSlotList.
func (a *application) GetSlotList(_ context.Context, c *wire.GetSlotList) (rv pkcs11.RV) {
	ids := []uint64{}
	for _, s := range a.allSlots() {
		if !c.Present || s.present() {
			ids = append(ids, s.id)
		}
	}
	c.Slots, rv = c.SlotsRoom.FitUlongs(ids)
	return rv
}

// GetSlotInfo is C_GetSlotInfo.
func (a *application) GetSlotInfo(_ context.Context, c *wire.GetSlotInfo) pkcs11.RV {
	s, rv := a.slot(c.Slot)
	if rv != pkcs11.CKR_OK {
		return rv
	}
	if s.virtual != nil {
		pkcs11.Pad(c.Info.Description[:], "oneslot group "+s.virtual.Name)
		pkcs11.Pad(c.Info.Manufacturer[:], manufacturer)
	} else if about := s.about(); len(about) > 0 {
		c.Info = about[0].Slot
	} else {
		pkcs11.Pad(c.Info.Description[:], "oneslot member "+s.physical.Name)
		pkcs11.Pad(c.Info.Manufacturer[:], manufacturer)
	}
	// A member's token can leave; that of a group only with all its members.
	c.Info.Flags = c.Info.Flags&^pkcs11.CKF_TOKEN_PRESENT | pkcs11.CKF_REMOVABLE_DEVICE
	if s.present() {
		c.Info.Flags |= pkcs11.CKF_TOKEN_PRESENT
	}
	return pkcs11.CKR_OK
}

// GetTokenInfo is C_GetTokenInfo.
func (a *application) GetTokenInfo(_ context.Context, c *wire.GetTokenInfo) pkcs11.RV {
	s, rv := a.slot(c.Slot)
	if rv != pkcs11.CKR_OK {
		return rv
	}
	about := s.about()
	if len(about) == 0 {
		return pkcs11.CKR_TOKEN_NOT_PRESENT
	}
	if s.virtual == nil {
		c.Info = about[0].Token
	} else {
		c.Info = s.virtualToken(about)
	}
	s.mu.Lock()
	c.Info.Sessions, c.Info.RWSessions = uint64(s.sessions), uint64(s.rw)
	s.mu.Unlock()
	return pkcs11.CKR_OK
}

// worstPIN are the flags that a virtual token has if any member has them.
const worstPIN = pkcs11.CKF_USER_PIN_COUNT_LOW | pkcs11.CKF_USER_PIN_FINAL_TRY | pkcs11.CKF_USER_PIN_LOCKED |
	pkcs11.CKF_USER_PIN_TO_BE_CHANGED | pkcs11.CKF_SO_PIN_COUNT_LOW | pkcs11.CKF_SO_PIN_FINAL_TRY |
	pkcs11.CKF_SO_PIN_LOCKED | pkcs11.CKF_SO_PIN_TO_BE_CHANGED

// virtualToken is the token info of a group: its identity follows from the
// configuration alone (rule G3), its abilities are what all members share.
func (s *slot) virtualToken(about []*wire.Description) pkcs11.TokenInfo {
	t := pkcs11.TokenInfo{
		Flags:              ^uint64(0),
		MaxPIN:             ^uint64(0),
		TotalPublicMemory:  pkcs11.Unavailable,
		FreePublic:         pkcs11.Unavailable,
		TotalPrivateMemory: pkcs11.Unavailable,
		FreePrivate:        pkcs11.Unavailable,
		Hardware:           pkcs11.Version{Major: 1},
		Firmware:           pkcs11.Version{Major: 1},
	}
	var worst uint64
	for _, d := range about {
		t.Flags &= d.Token.Flags
		worst |= d.Token.Flags & worstPIN
		t.MaxPIN = min(t.MaxPIN, d.Token.MaxPIN)
		t.MinPIN = max(t.MinPIN, d.Token.MinPIN)
	}
	// Clocks differ. Dual operations are made of two (dual.go).
	t.Flags &^= pkcs11.CKF_CLOCK_ON_TOKEN | worstPIN
	t.Flags |= worst | pkcs11.CKF_DUAL_CRYPTO_OPERATIONS
	pkcs11.Pad(t.Label[:], s.virtual.Label)
	pkcs11.Pad(t.Manufacturer[:], manufacturer)
	pkcs11.Pad(t.Model[:], model)
	pkcs11.Pad(t.Serial[:], s.virtual.Serial())
	pkcs11.Pad(t.UTCTime[:], "")
	return t
}
