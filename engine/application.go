// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"oneslot.dev/oneslot/config"
	"oneslot.dev/oneslot/group"
	"oneslot.dev/oneslot/member"
	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/wire"
)

// firstPatience is how long C_Initialize waits for the first member, as long as
// one may still come. The others join later (field-G10); what needs them waits
// (group/arrive.go).
const firstPatience = 20 * time.Second

// An application is one process that called C_Initialize. It has its own
// members, login and sessions; it shares nothing with another (field-L6).
type application struct {
	wire.NoCryptoki // what is not written here is not supported

	engine *Engine
	log    *slog.Logger
	name   string
	pid    uint64
	begun  time.Time
	began  *config.Config // the configuration at its start

	ctx  context.Context // ends when the application is gone
	stop context.CancelFunc

	handles atomic.Uint64 // the session or object handle given out last
	events  *slotEvents

	mu          sync.RWMutex // guards what follows
	slots       []*slot      // in the order of C_GetSlotList; never changed in place, see reload.go
	sessions    map[uint64]*session
	further     map[*wire.Frames]struct{} // connections but the first
	connections sync.WaitGroup            // of them; none is added once closed
	closed      bool
}

func newApplication(e *Engine, hello *wire.Hello) *application {
	cfg := e.present()
	a := &application{
		engine: e, began: cfg, name: string(hello.Name.Data), pid: hello.Pid, begun: time.Now(),
		events: newSlotEvents(), sessions: make(map[uint64]*session), further: make(map[*wire.Frames]struct{}),
	}
	a.log = e.log.With("application", a.name, "pid", a.pid)
	a.ctx, a.stop = context.WithCancel(context.Background())
	// Handles start at random, so one from another life hits nothing.
	a.handles.Store(uint64(rand.Uint32())<<8 + 1)
	groups := make([]*slot, 0, len(cfg.Groups))
	for i := range cfg.Groups {
		groups = append(groups, a.virtualSlot(cfg, &cfg.Groups[i]))
	}
	if !cfg.GroupOnly {
		for i := range cfg.Members {
			a.slots = append(a.slots, a.physicalSlot(&cfg.Members[i], groups))
		}
	}
	a.slots = append(a.slots, groups...) // physical slots come first (rule G4)
	for _, s := range groups {
		s.start()
	}
	return a
}

func (a *application) virtualSlot(cfg *config.Config, g *config.Group) *slot {
	s := newSlot(a, g.Slot())
	s.virtual = g
	s.group = group.New(*g, s.membersOf(cfg, g), wire.GroupView, a.report)
	return s
}

func (a *application) physicalSlot(m *config.Member, groups []*slot) *slot {
	s := newSlot(a, m.Slot())
	s.physical = m
	options := config.DefaultGroup(m.Name)
	for _, g := range groups {
		if slices.Contains(g.virtual.Members, m.Name) {
			s.seen = g.group
			options = *g.virtual
			options.Name, options.Standby, options.MinCopies = m.Name, nil, 1
		}
	}
	options.Members = []string{m.Name}
	s.group = group.New(options, []member.Member{a.engine.connect(*m)}, wire.TokenView, a.report)
	return s
}

// settle waits a while for each group to have a member.
func (a *application) settle(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, firstPatience)
	defer cancel()
	for _, s := range a.allSlots() {
		if s.virtual != nil {
			s.group.AwaitFirst(ctx)
			a.events.begin(s.id, s.group.Serving())
		}
	}
}

// offers refuses C_Initialize if there is nothing at all to offer.
func (a *application) offers() pkcs11.RV {
	if len(a.allSlots()) == 0 {
		a.log.Error("C_Initialize failed: the configuration has no group and no member")
		return pkcs11.CKR_GENERAL_ERROR
	}
	return pkcs11.CKR_OK
}

// adopt answers a further connection. It is false when the application is gone.
func (a *application) adopt(frames *wire.Frames) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return false
	}
	a.further[frames] = struct{}{}
	a.connections.Go(func() {
		defer func() {
			a.mu.Lock()
			delete(a.further, frames)
			a.mu.Unlock()
		}()
		a.answer(frames)
	})
	return true
}

// disconnect ends the connections, and so the application.
func (a *application) disconnect() {
	a.stop()
	a.mu.Lock()
	a.closed = true
	for frames := range a.further {
		frames.Close()
	}
	a.mu.Unlock()
}

// close ends everything the application had. Members close its sessions and
// destroy its session objects by losing their connections.
func (a *application) close() {
	a.disconnect()
	for _, s := range a.allSlots() {
		s.group.Close()
	}
	a.connections.Wait()
}

// slot returns a slot by its ID.
func (a *application) slot(id uint64) (*slot, pkcs11.RV) {
	for _, s := range a.allSlots() {
		if s.id == id {
			return s, pkcs11.CKR_OK
		}
	}
	return nil, pkcs11.CKR_SLOT_ID_INVALID
}

// report writes what happens to members into the log (rule O3).
func (a *application) report(e group.Event) {
	a.watchPresence(e)
	level := slog.LevelInfo
	switch e.Code {
	case group.MemberConnecting, group.MemberSyncing:
		level = slog.LevelDebug
	case group.MemberReady:
		if e.Again {
			level = slog.LevelDebug // it only got a login: one event for one change (O3)
		}
	case group.MemberDown, group.ObjectNotCopied, group.ChangeMissed, group.MemberExpires, group.MemberExposed:
		level = slog.LevelWarn
	case group.MemberQuarantined, group.JournalUnreadable:
		level = slog.LevelError
	}
	args := []any{"event", string(e.Code), "group", e.Group, "member", e.Member, "serial", e.Serial}
	if e.Cause != nil {
		args = append(args, "reason", e.Cause.Error())
	}
	text := e.Text
	if text == "" {
		text = fmt.Sprintf("member %s of group %s is %v", e.Member, e.Group, e.To)
	}
	a.log.Log(context.Background(), level, text, args...)
}
