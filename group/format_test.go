// SPDX-License-Identifier: Apache-2.0

package group

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"strings"
	"testing"
	"testing/synctest"

	"oneslot.dev/oneslot/config"
	"oneslot.dev/oneslot/member/fake"
	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/wire"
)

// field-K8: r and s of full length are the only format; what is said of others helps.
func TestFormats(t *testing.T) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	digest := sha256.Sum256([]byte("text"))
	other := sha256.Sum256([]byte("other text"))
	for _, c := range []struct {
		name      string
		signature []byte
		want      string // "": it is right
	}{
		{"as PKCS#11 says", fake.Plain(key, digest[:]), ""},
		{"DER", fake.DER(key, digest[:]), "ECDSA signatures in DER"},
		{"without leading zeros", fake.Stripped(key, digest[:]), "does not verify"},
		{"of something else", fake.Plain(key, other[:]), "in a form of 64 bytes that does not verify"},
		{"nothing", nil, "in a form of 0 bytes"},
	} {
		err := judgeFormat(&key.PublicKey, digest[:], c.signature)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	point, err := key.PublicKey.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string][]byte{
		"DER octet string": append([]byte{4, 65}, point...), "bare": point, "coordinates": point[1:],
		"bit string": append([]byte{3, 66, 0}, point...),
	} {
		if got := publicKey(key.Curve, wire.Values{{Form: wire.GotData, Data: value}}); got == nil || !got.Equal(&key.PublicKey) {
			t.Errorf("a point as %s is not read", name)
		}
	}
	if publicKey(key.Curve, wire.Values{{Form: wire.GotData, Data: make([]byte, 65)}}) != nil {
		t.Error("a point that is on no curve was read")
	}
}

func (b *bench) pairs() (made []int) {
	for _, m := range b.members {
		made = append(made, m.Token.Executed(wire.NumberGenerateKeyPair))
	}
	return made
}

// field-K8: a member that signs in another format is left out by the first call that
// the format matters for, and says why; one that comes back is not taken in before it has
// signed as the others do. Who never signs with ECDSA pays nothing.
func TestAMemberThatSignsInAnotherFormat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, 3, func(o *config.Group) { o.RecoveryAttempts = -1 })
		for i := range b.members {
			b.members[i].Token.OfferEC(nil)
			b.down(i)
			b.members[i].Up()
		}
		b.g.Recover()
		synctest.Wait()
		b.g.Settle(t.Context())
		b.members[1].Token.OfferEC(fake.DER)
		b.g.Assure()
		b.login()
		if made := b.pairs(); made[0]+made[1]+made[2] != 0 {
			t.Errorf("%v pairs were made for nobody", made)
		}
		b.g.Assure()
		b.g.Assure()
		if made := b.pairs(); made[0] != 1 || made[1] != 1 || made[2] != 1 {
			t.Errorf("%v pairs were made, want one on each member", made)
		}
		if m := b.g.Snapshot().Members[1]; m.State != Quarantined || !strings.Contains(m.Cause.Error(), "in DER") {
			t.Errorf("the member is %v, %v", m.State, m.Cause)
		}
		if b.state(0) != Ready || b.state(2) != Ready {
			t.Error("others are not ready")
		}
		b.g.Recover() // nothing has changed
		synctest.Wait()
		if b.state(1) != Quarantined {
			t.Errorf("the member is %v", b.state(1))
		}
		b.members[1].Token.OfferEC(nil)
		b.g.Recover()
		synctest.Wait()
		b.g.Settle(t.Context())
		if b.state(1) != Ready {
			t.Errorf("after it was mended the member is %v: %v", b.state(1), b.g.Snapshot().Members[1].Cause)
		}
		b.members[0].Token.OfferEC(fake.DER)
		b.down(0)
		b.members[0].Up()
		b.g.Recover()
		synctest.Wait()
		b.g.Settle(t.Context())
		if b.state(0) != Quarantined {
			t.Errorf("the member that came back otherwise is %v", b.state(0))
		}
	})
}

// field-K8: the member that got the login first is examined as well as one that follows, and
// a member that cannot be examined is used.
func TestWhoIsNotExamined(t *testing.T) {
	for _, c := range []struct {
		name  string
		n     int
		spoil func(*fake.Member)
		pairs int // on each
		ready bool
	}{
		{"a member alone", 1, func(m *fake.Member) { m.Token.OfferEC(fake.DER) }, 0, true},
		{"no such mechanism", 2, func(*fake.Member) {}, 0, true},
		{"use of keys only", 2, func(m *fake.Member) { m.Token.OfferEC(fake.DER); m.Token.UseOnly(true) }, 0, true},
		{"it makes no such key", 2, func(m *fake.Member) {
			m.Token.OfferEC(fake.DER)
			m.Refuse(pkcs11.CKR_CURVE_NOT_SUPPORTED)
			m.Script(func(c wire.Call) fake.Outcome {
				if c.Number() == wire.NumberGenerateKeyPair {
					return fake.Refused
				}
				return fake.Answered
			})
		}, 0, true},
		{"both are examined", 2, func(m *fake.Member) { m.Token.OfferEC(nil) }, 1, true},
		{"all are unlike the standard", 2, func(m *fake.Member) { m.Token.OfferEC(fake.Stripped) }, 1, false},
		{"it hangs", 2, func(m *fake.Member) {
			m.Token.OfferEC(nil)
			m.Script(func(c wire.Call) fake.Outcome {
				if c.Number() == wire.NumberGenerateKeyPair {
					return fake.Hang
				}
				return fake.Answered
			})
		}, 0, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := start(t, c.n, func(o *config.Group) { o.RecoveryAttempts = 0 })
				for i, m := range b.members {
					c.spoil(m)
					b.down(i)
					m.Up()
				}
				b.g.Recover()
				synctest.Wait()
				b.g.Settle(t.Context())
				b.login()
				b.g.Assure()
				synctest.Wait()
				for i, made := range b.pairs() {
					if made != c.pairs {
						t.Errorf("member %d made %d pairs, want %d", i, made, c.pairs)
					}
					if ready := b.state(i) == Ready; ready != c.ready {
						t.Errorf("member %d is %v: %v", i, b.state(i), b.g.Snapshot().Members[i].Cause)
					}
				}
			})
		})
	}
}
