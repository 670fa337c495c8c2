// SPDX-License-Identifier: Apache-2.0

package host

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"oneslot.dev/oneslot/host/cryptoki"
	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/wire"
)

// Config says which token of which module.
type Config struct {
	Module string // path of the vendor module
	Label  string // of the token; may be empty if Serial is not
	Serial string // of the token; may be empty if the label is unique
	Init   string // for the module's C_Initialize, as NSS needs it
	Log    *slog.Logger
}

// A Token is a token of a vendor module: the host of a member process. A module
// has one login for the whole process, so a process has one Token.
type Token struct {
	config Config
	log    *slog.Logger

	mu     sync.Mutex // guards finding the token; held while the module is loaded
	module *cryptoki.Module
	found  bool
	slot   uint64

	// countsHandles: the module gives out no object handle twice. SoftHSM
	// counts them up for the life of the process.
	countsHandles bool

	// drafts: the module copies an object to the token faster than it makes
	// one there (draft.go).
	drafts bool

	shared // what the sessions share
}

// New makes the host of a token. The module is loaded at the first Open.
func New(c Config) *Token {
	t := &Token{config: c, log: c.Log}
	if t.log == nil {
		t.log = slog.New(slog.DiscardHandler)
	}
	t.shared.init()
	return t
}

// Open opens a session on the token, R/W unless the token is write protected.
func (t *Token) Open(view wire.View) (wire.HostSession, error) {
	slot, err := t.find()
	if err != nil {
		return nil, err
	}
	var info pkcs11.TokenInfo
	rv := untilClear(func() (rv pkcs11.RV) {
		info, rv = t.module.TokenInfo(slot)
		return rv
	})
	if rv != pkcs11.CKR_OK {
		return nil, fmt.Errorf("%s: slot %d: C_GetTokenInfo: %w", t.config.Module, slot, rv)
	}
	var flags uint64
	if info.Flags&pkcs11.CKF_WRITE_PROTECTED == 0 {
		flags = pkcs11.CKF_RW_SESSION
	}
	raw, rv := t.module.Open(slot, flags)
	if rv != pkcs11.CKR_OK {
		return nil, rv
	}
	return newSession(t, raw, view), nil
}

// How long a token that is not seen is looked for. SoftHSM 2.6.1 misses a token
// that another process writes to at the moment of C_Initialize, and never looks
// again before the next one (facts: C_Login rewrites token.object).
const (
	lookAgainFirst = 20 * time.Millisecond
	lookAgainFor   = 2 * time.Second
)

// find loads the module and finds the token by serial number and label, never
// by slot number: tokens move between slots (field report E2).
func (t *Token) find() (uint64, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.found {
		return t.slot, nil
	}
	if t.module == nil {
		module, err := cryptoki.Load(t.config.Module)
		if err != nil {
			return 0, fmt.Errorf("module %s: %w", t.config.Module, err)
		}
		t.module = module
	}
	begin := time.Now()
	for pause := lookAgainFirst; ; pause *= 2 {
		if err := t.module.Initialize(t.config.Init); err != nil {
			return 0, fmt.Errorf("module %s: %w", t.config.Module, err)
		}
		slot, err := t.search()
		if err == nil {
			t.slot, t.found = slot, true
			if info, rv := t.module.Info(); rv == pkcs11.CKR_OK {
				t.countsHandles = strings.HasPrefix(pkcs11.Unpad(info.Manufacturer[:]), "SoftHSM")
				t.drafts = t.countsHandles
			}
			return slot, nil
		}
		t.module.Finalize()
		if !errors.Is(err, errNoToken) || time.Since(begin)+pause > lookAgainFor {
			return 0, fmt.Errorf("module %s: %w", t.config.Module, err)
		}
		<-time.NewTimer(pause).C
	}
}

var errNoToken = errors.New("no such token")

// search looks for the token among those that the module shows.
func (t *Token) search() (uint64, error) {
	slots, rv := t.module.Slots()
	if rv != pkcs11.CKR_OK {
		return 0, fmt.Errorf("C_GetSlotList failed: %w", rv)
	}
	var there, labelled []candidate
	for _, slot := range slots {
		info, rv := t.module.TokenInfo(slot)
		if rv != pkcs11.CKR_OK || info.Flags&pkcs11.CKF_TOKEN_INITIALIZED == 0 {
			continue // an empty slot, or a token that nobody has named yet
		}
		there = append(there, candidate{slot, pkcs11.Unpad(info.Label[:]), pkcs11.Unpad(info.Serial[:])})
	}
	for _, c := range there {
		if t.config.Label == "" || c.label == t.config.Label {
			if t.config.Serial == "" || c.serial == t.config.Serial {
				labelled = append(labelled, c)
			}
		}
	}
	if len(labelled) == 1 {
		return labelled[0].slot, nil
	}
	return 0, t.explain(there, labelled)
}

// A candidate is a token that the module shows.
type candidate struct {
	slot          uint64
	label, serial string
}

// explain says why no token is the one that is meant.
func (t *Token) explain(there, fitting []candidate) error {
	if len(fitting) > 1 {
		return fmt.Errorf("%d tokens fit label %q: name one with serial: %s", len(fitting), t.config.Label, list(fitting))
	}
	if t.config.Serial != "" {
		for _, c := range there { // the serial number says more than the label
			if c.serial == t.config.Serial {
				return fmt.Errorf("%w: the token with serial %s is labelled %q, not %q", errNoToken, c.serial, c.label, t.config.Label)
			}
		}
		for _, c := range there {
			if c.label == t.config.Label {
				return fmt.Errorf("%w: token %q has serial %s, not %s", errNoToken, c.label, c.serial, t.config.Serial)
			}
		}
	}
	wanted := fmt.Sprintf("token %q", t.config.Label)
	if t.config.Label == "" {
		wanted = "a token with serial " + t.config.Serial
	}
	if len(there) == 0 {
		return fmt.Errorf("%w: %s is not there, nor is any other", errNoToken, wanted)
	}
	return fmt.Errorf("%w: %s is not there; there are %s", errNoToken, wanted, list(there))
}

func list(tokens []candidate) string {
	var names []string
	for _, c := range tokens {
		names = append(names, fmt.Sprintf("%q (serial %s)", c.label, c.serial))
	}
	return strings.Join(names, ", ")
}
