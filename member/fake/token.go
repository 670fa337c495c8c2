// SPDX-License-Identifier: Apache-2.0

package fake

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"encoding/binary"
	"hash"
	"slices"
	"sync"
	"time"

	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/wire"
)

// A Token is an HSM in memory. It outlives connections, as a real one does;
// handles and logins do not.
type Token struct {
	mu       sync.Mutex
	serial   string
	pin      string
	objects  []*object
	journal  [][]byte
	logins   int // PINs that were tried
	wrong    bool
	executed map[wire.Number]int
	made     int
	salt     byte
	domain   string
	frozen   bool
	blind    bool
	slow     time.Duration
	renumber bool
	useOnly  bool
	offers   []wire.OfferedMechanism
	format   func(*ecdsa.PrivateKey, []byte) []byte
	pad      func() pkcs11.RV
	open     bool
}

type object struct {
	id    wire.Identity
	start []byte // CKA_START_DATE
	pair  *ecdsa.PrivateKey
}

// NewToken makes an empty token.
func NewToken(serial, pin string) *Token {
	return &Token{serial: serial, pin: pin, executed: make(map[wire.Number]int)}
}

// Executed is how often the token ran a call.
func (t *Token) Executed(n wire.Number) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.executed[n]
}

// PINsTried is how many PINs were sent to the token.
func (t *Token) PINsTried() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.logins
}

// PIN is the token's PIN.
func (t *Token) PIN() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.pin
}

// SetPIN changes the PIN behind everybody's back.
func (t *Token) SetPIN(pin string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.pin, t.wrong = pin, false
}

// Freeze has searches show nothing of what the token holds, or ends that.
func (t *Token) Freeze(frozen bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.frozen = frozen
}

// Blind has the token show nothing of what it holds to any question, and answer
// CKR_OK, as SoftHSM does that has lost sight of its files; or ends that.
func (t *Token) Blind(blind bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.blind = blind
}

// Slow sets the time between the look for copies and the making of one, in
// which another process may make one too, as on a real token.
func (t *Token) Slow(d time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.slow = d
}

// UseOnly has the token say that keys may be used there and not managed. It is the
// member's script that refuses then.
func (t *Token) UseOnly(only bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.useOnly = only
}

// Offer sets the mechanisms that the token lists; a new one lists none.
func (t *Token) Offer(list ...wire.OfferedMechanism) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.offers = list
}

// Pad gives the token a PIN pad, which answers a login so and is the only way to one.
func (t *Token) Pad(pad func() pkcs11.RV) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.pad = pad
}

// NeedsNoLogin has the token say that nothing there needs one.
func (t *Token) NeedsNoLogin() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.open = true
}

// SetDomain makes the token a member of a domain, or of none.
func (t *Token) SetDomain(name string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.domain = name
}

// isRoster says whether a record is for good, and waits for nobody.
func isRoster(record []byte) bool { return bytes.Contains(record, []byte(`"op":"roster"`)) }

// Renumber gives an object another handle whenever its attributes change, as
// some tokens do.
func (t *Token) Renumber() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.renumber = true
}

// Reverse has searches show the token objects in the opposite order, as real tokens
// show them in any.
func (t *Token) Reverse() {
	t.mu.Lock()
	defer t.mu.Unlock()
	slices.Reverse(t.objects)
}

// Wipe empties the token, as a re-initialisation does.
func (t *Token) Wipe() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.objects, t.journal = nil, nil
}

// life is one connection's view of a token: its login and its handles, which
// begin at another number each time.
type life struct {
	token    *Token
	loggedIn bool
	handles  map[uint64]*object
	next     uint64
}

func newLife(t *Token, epoch uint64) *life {
	return &life{token: t, loggedIn: t.open, next: epoch * 1000, handles: make(map[uint64]*object)}
}

// session answers the calls of one session.
type session struct {
	wire.NoCryptoki
	wire.NoToken
	life   *life
	made   []*object // session objects
	sign   uint64    // the key of an active signature
	digest hash.Hash // an active digest
	stream *stream   // an active encryption
}

// Close ends the session and its objects.
func (s *session) Close() {
	t := s.life.token
	t.mu.Lock()
	defer t.mu.Unlock()
	for h, o := range s.life.handles {
		if slices.Contains(s.made, o) {
			delete(s.life.handles, h)
		}
	}
}

// object is what a handle means, nil if nothing any more.
func (s *session) object(handle uint64) *object {
	o := s.life.handles[handle]
	if o != nil && o.id.Flags&wire.OnToken != 0 && !slices.Contains(s.life.token.objects, o) {
		return nil
	}
	return o
}

func (s *session) handle(o *object) uint64 {
	for h, known := range s.life.handles {
		if known == o {
			return h
		}
	}
	s.life.next++
	s.life.handles[s.life.next] = o
	return s.life.next
}

func (s *session) Describe(_ context.Context, c *wire.Describe) pkcs11.RV {
	pkcs11.Pad(c.Token.Token.Serial[:], s.life.token.serial)
	c.Token.Token.Flags = pkcs11.CKF_LOGIN_REQUIRED
	if s.life.token.open {
		c.Token.Token.Flags = 0
	}
	if s.life.token.pad != nil {
		c.Token.Token.Flags |= pkcs11.CKF_PROTECTED_AUTHENTICATION_PATH
	}
	c.Token.Domain = []byte(s.life.token.domain)
	c.Token.Cloning = len(c.Token.Domain) > 0
	c.Token.UseOnly = s.life.token.useOnly
	c.Token.Mechanisms = slices.Clone(s.life.token.offers)
	return pkcs11.CKR_OK
}

func (s *session) GetTokenInfo(_ context.Context, c *wire.GetTokenInfo) pkcs11.RV {
	if s.life.token.wrong {
		c.Info.Flags |= pkcs11.CKF_USER_PIN_COUNT_LOW
	}
	return pkcs11.CKR_OK
}

func (s *session) Probe(context.Context, *wire.Probe) pkcs11.RV { return pkcs11.CKR_OK }

func (s *session) Login(_ context.Context, c *wire.Login) pkcs11.RV {
	if pad := s.life.token.pad; pad != nil {
		if c.Pin != nil {
			return pkcs11.CKR_ARGUMENTS_BAD
		}
		rv := pad()
		s.life.loggedIn = rv == pkcs11.CKR_OK
		return rv
	}
	s.life.token.logins++
	if string(c.Pin) != s.life.token.pin {
		s.life.token.wrong = true
		return pkcs11.CKR_PIN_INCORRECT
	}
	s.life.token.wrong = false
	s.life.loggedIn = true
	return pkcs11.CKR_OK
}

func (s *session) SetPIN(_ context.Context, c *wire.SetPIN) pkcs11.RV {
	s.life.token.logins++
	if string(c.Old) != s.life.token.pin {
		s.life.token.wrong = true
		return pkcs11.CKR_PIN_INCORRECT
	}
	s.life.token.wrong = false
	s.life.token.pin = string(c.New)
	return pkcs11.CKR_OK
}

func (s *session) Logout(context.Context, *wire.Logout) pkcs11.RV {
	s.life.loggedIn = s.life.token.open
	return pkcs11.CKR_OK
}

func (s *session) identity(o *object) wire.Identity {
	id := o.id
	id.Object = s.handle(o)
	return id
}

func (s *session) Identify(_ context.Context, c *wire.Identify) pkcs11.RV {
	o := s.object(c.Object)
	if o == nil {
		return pkcs11.CKR_OBJECT_HANDLE_INVALID
	}
	c.Identity = s.identity(o)
	return pkcs11.CKR_OK
}

func (s *session) Find(_ context.Context, c *wire.Find) pkcs11.RV {
	for _, o := range s.life.token.objects {
		if s.life.token.frozen || s.life.token.blind {
			break
		}
		if s.life.loggedIn || o.id.Flags&wire.Private == 0 {
			c.Found = append(c.Found, s.identity(o))
		}
	}
	return pkcs11.CKR_OK
}

func (s *session) Resolve(_ context.Context, c *wire.Resolve) pkcs11.RV {
	for _, o := range s.life.token.objects {
		if !s.life.token.blind && o.id.Same(&c.Wanted) && (s.life.loggedIn || o.id.Flags&wire.Private == 0) {
			c.Found = append(c.Found, s.identity(o))
		}
	}
	return pkcs11.CKR_OK
}

func (s *session) DestroyObject(_ context.Context, c *wire.DestroyObject) pkcs11.RV {
	o := s.life.handles[c.Object]
	i := slices.Index(s.life.token.objects, o)
	if o == nil || i < 0 {
		return pkcs11.CKR_OBJECT_HANDLE_INVALID
	}
	s.life.token.objects = slices.Delete(s.life.token.objects, i, i+1)
	return pkcs11.CKR_OK
}

func (s *session) SignInit(_ context.Context, c *wire.SignInit) pkcs11.RV {
	if s.object(c.Key) == nil {
		return pkcs11.CKR_KEY_HANDLE_INVALID
	}
	s.sign = c.Key
	return pkcs11.CKR_OK
}

// Sign answers with the fingerprint of the key, so that a test sees whose
// signature it is.
func (s *session) Sign(_ context.Context, c *wire.Sign) pkcs11.RV {
	o := s.life.handles[s.sign]
	if o == nil {
		return pkcs11.CKR_OPERATION_NOT_INITIALIZED
	}
	if o.pair != nil {
		return s.signEC(o.pair, c)
	}
	s.sign = 0
	c.Signature = wire.Data(o.id.Fingerprint)
	return pkcs11.CKR_OK
}

// GenerateRandom answers with the serial number, so that a test sees who
// answered.
func (s *session) GenerateRandom(_ context.Context, c *wire.GenerateRandom) pkcs11.RV {
	c.Random = wire.Data(binary.LittleEndian.AppendUint64([]byte(s.life.token.serial), uint64(s.life.token.executed[c.Number()])))
	return pkcs11.CKR_OK
}

func (s *session) Record(_ context.Context, c *wire.Record) pkcs11.RV {
	t := s.life.token
	if !slices.ContainsFunc(t.journal, func(r []byte) bool { return string(r) == string(c.Record) }) {
		t.journal = append(t.journal, slices.Clone(c.Record))
	}
	return pkcs11.CKR_OK
}

func (s *session) Records(_ context.Context, c *wire.Records) pkcs11.RV {
	if !s.life.loggedIn {
		return pkcs11.CKR_USER_NOT_LOGGED_IN
	}
	if !s.life.token.blind {
		c.Records = slices.Clone(s.life.token.journal)
	}
	return pkcs11.CKR_OK
}

func (s *session) Unrecord(_ context.Context, c *wire.Unrecord) pkcs11.RV {
	t := s.life.token
	t.journal = slices.DeleteFunc(t.journal, func(r []byte) bool { return string(r) == string(c.Record) })
	return pkcs11.CKR_OK
}
