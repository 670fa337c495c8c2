// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"testing"

	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/wire"
)

func listing(kind pkcs11.MechanismType, smallest, largest, flags uint64) wire.OfferedMechanism {
	return wire.OfferedMechanism{Type: kind, Info: pkcs11.MechanismInfo{MinKeySize: smallest, MaxKeySize: largest, Flags: flags}}
}

// G8; field-K6: what a slot lists, and what it refuses since not all members have it.
func TestOffers(t *testing.T) {
	const sign, verify = pkcs11.CKF_SIGN, pkcs11.CKF_VERIFY
	const none = pkcs11.Unavailable
	for _, c := range []struct {
		name   string
		a, b   []wire.OfferedMechanism
		listed bool
		info   pkcs11.MechanismInfo
		rv     pkcs11.RV // of signing
	}{
		{"nobody has it", nil, nil, false, pkcs11.MechanismInfo{}, pkcs11.CKR_OK},
		{"the first lacks it", nil, []wire.OfferedMechanism{listing(1, 1, 2, sign)}, false, pkcs11.MechanismInfo{}, pkcs11.CKR_MECHANISM_INVALID},
		{"the second lacks it", []wire.OfferedMechanism{listing(1, 1, 2, sign)}, nil, false, pkcs11.MechanismInfo{}, pkcs11.CKR_MECHANISM_INVALID},
		{"one lists it twice, the other not", []wire.OfferedMechanism{listing(1, 1, 2, sign), listing(1, 1, 2, sign)}, nil, false, pkcs11.MechanismInfo{}, pkcs11.CKR_MECHANISM_INVALID},
		{"narrowed", []wire.OfferedMechanism{listing(1, 512, 4096, sign|verify)}, []wire.OfferedMechanism{listing(1, 1024, 8192, sign)}, true,
			pkcs11.MechanismInfo{MinKeySize: 1024, MaxKeySize: 4096, Flags: sign}, pkcs11.CKR_OK},
		{"only one signs", []wire.OfferedMechanism{listing(1, 1, 2, sign|verify)}, []wire.OfferedMechanism{listing(1, 1, 2, verify)}, true,
			pkcs11.MechanismInfo{MinKeySize: 1, MaxKeySize: 2, Flags: verify}, pkcs11.CKR_MECHANISM_INVALID},
		{"neither signs, as they say", []wire.OfferedMechanism{listing(1, 1, 2, verify)}, []wire.OfferedMechanism{listing(1, 1, 2, verify)}, true,
			pkcs11.MechanismInfo{MinKeySize: 1, MaxKeySize: 2, Flags: verify}, pkcs11.CKR_OK},
		{"one does not say what it is for", []wire.OfferedMechanism{listing(1, 1, 2, pkcs11.CKF_HW)}, []wire.OfferedMechanism{listing(1, 1, 2, sign)}, true,
			pkcs11.MechanismInfo{MinKeySize: 1, MaxKeySize: 2}, pkcs11.CKR_OK},
		{"one tells no sizes", []wire.OfferedMechanism{listing(1, 0, 0, sign)}, []wire.OfferedMechanism{listing(1, 16, 32, sign)}, true,
			pkcs11.MechanismInfo{MinKeySize: 16, MaxKeySize: 32, Flags: sign}, pkcs11.CKR_OK},
		{"the other tells no sizes", []wire.OfferedMechanism{listing(1, 16, 32, sign)}, []wire.OfferedMechanism{listing(1, none, none, sign)}, true,
			pkcs11.MechanismInfo{MinKeySize: 16, MaxKeySize: 32, Flags: sign}, pkcs11.CKR_OK},
	} {
		o := &offers{by: make(map[pkcs11.MechanismType]*offer)}
		for _, list := range [][]wire.OfferedMechanism{c.a, c.b} {
			o.take(&wire.Description{Mechanisms: list})
		}
		m := o.listed(1)
		if (m != nil) != c.listed || m != nil && m.info != c.info {
			t.Errorf("%s: listed as %+v", c.name, m)
		}
		if rv := o.refuses(1, sign); rv != c.rv {
			t.Errorf("%s: to sign is answered %v", c.name, rv)
		}
	}
}

func TestKeySizes(t *testing.T) {
	for _, c := range []struct {
		key    keySize
		range_ [2]uint64
		within bool
	}{
		{keySize{bits: 1024}, [2]uint64{2048, 4096}, false},
		{keySize{bits: 4096}, [2]uint64{512, 2048}, false}, // 512 bytes are no 512 bits
		{keySize{bits: 2048}, [2]uint64{2048, 2048}, true},
		{keySize{bits: 256, secret: true}, [2]uint64{16, 32}, true}, // bytes, as the standard says
		{keySize{bits: 256, secret: true}, [2]uint64{16, 24}, false},
		{keySize{bits: 256, secret: true}, [2]uint64{128, 256}, true}, // bits, as some say
		{keySize{}, [2]uint64{16, 24}, true},
		{keySize{bits: 1024}, [2]uint64{0, 0}, true},
		{keySize{bits: 1024}, [2]uint64{pkcs11.Unavailable, pkcs11.Unavailable}, true},
	} {
		if got := c.key.within(pkcs11.MechanismInfo{MinKeySize: c.range_[0], MaxKeySize: c.range_[1]}); got != c.within {
			t.Errorf("%+v in %v: %v", c.key, c.range_, got)
		}
	}
}

// G8; field-K6: no call that names a mechanism is made on a member if another lacks the
// mechanism, or what it is for; each is made if the members have it alike.
func TestMechanismsThatSomeMembersLack(t *testing.T) {
	const whole = 2*pkcs11.CKF_DERIVE - pkcs11.CKF_ENCRYPT
	named := pkcs11.Mechanism{Type: pkcs11.CKM_AES_CBC_PAD}
	alike := listing(named.Type, 16, 32, whole)
	for _, c := range []struct {
		name string
		b    []wire.OfferedMechanism
		lack bool
	}{
		{"alike", []wire.OfferedMechanism{alike}, false},
		{"b lacks it", nil, true},
		{"b has it for digests only", []wire.OfferedMechanism{listing(named.Type, 16, 32, pkcs11.CKF_DIGEST)}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := begin(t, 2)
			w.members["a"].Token.Offer(alike)
			w.members["b"].Token.Offer(c.b...)
			a := w.application()
			s := w.loggedIn(a)
			w.allReady(a)
			key := w.generate(a, s, "k", true) // by another mechanism
			for _, call := range []wire.Call{
				&wire.GenerateKey{Session: s, Mechanism: named},
				&wire.GenerateKeyPair{Session: s, Mechanism: named},
				&wire.UnwrapKey{Session: s, Mechanism: named, Unwrapping: key},
				&wire.DeriveKey{Session: s, Mechanism: named, Base: key},
				&wire.WrapKey{Session: s, Mechanism: named, Wrapping: key, Key: key},
				&wire.EncryptInit{Session: s, Mechanism: named, Key: key},
				&wire.DecryptInit{Session: s, Mechanism: named, Key: key},
				&wire.SignInit{Session: s, Mechanism: named, Key: key},
				&wire.VerifyInit{Session: s, Mechanism: named, Key: key},
				&wire.SignRecoverInit{Session: s, Mechanism: named, Key: key},
				&wire.VerifyRecoverInit{Session: s, Mechanism: named, Key: key},
				&wire.SignOnce{Session: s, Mechanism: named, Key: key, SignatureRoom: wire.Room{Capacity: 64}},
			} {
				n := call.Number()
				before := w.members["a"].Token.Executed(n) + w.members["b"].Token.Executed(n)
				if !wire.DispatchCryptoki(w.Context(), a, call) {
					wire.DispatchOnce(w.Context(), a, call)
				}
				refused := call.Result() == pkcs11.CKR_MECHANISM_INVALID
				if refused != c.lack {
					t.Errorf("%v: %v", n, call.Result())
				}
				if after := w.members["a"].Token.Executed(n) + w.members["b"].Token.Executed(n); c.lack && after != before {
					t.Errorf("%v came to a member", n)
				}
			}
		})
	}
}

// G8; field-K6: a mechanism that worked is refused as soon as a member comes that lacks
// it, though that one may not even have been asked.
func TestAMemberComesThatLacksAMechanism(t *testing.T) {
	w := begin(t, 2)
	w.members["a"].Token.Offer(listing(0, 16, 32, pkcs11.CKF_SIGN))
	w.members["b"].Down()
	a := w.application()
	s := w.loggedIn(a)
	key := w.generate(a, s, "k", true)
	w.sign(a, s, key)
	w.members["b"].Up()
	w.allReady(a)
	w.call(a, &wire.SignInit{Session: s, Key: key}, pkcs11.CKR_MECHANISM_INVALID)
	w.call(a, &wire.GetMechanismInfo{Slot: w.slot}, pkcs11.CKR_MECHANISM_INVALID)
}

// G8; field-K6: a key of a size that not all members take is not made. One that exists is
// used on those that take it, whoever is less busy.
func TestKeySizesThatSomeMembersTake(t *testing.T) {
	w := begin(t, 3, "probe_interval = \"200ms\"\nprobe_timeout = \"500ms\"")
	const all = pkcs11.CKF_SIGN | pkcs11.CKF_GENERATE | pkcs11.CKF_GENERATE_KEY_PAIR | pkcs11.CKF_WRAP | pkcs11.CKF_DERIVE
	for name, largest := range map[string]uint64{"a": 16, "b": 32, "c": 16} {
		w.members[name].Token.Offer(listing(1, 16, largest, all), listing(2, 128*largest, 4096, all))
	}
	a := w.application()
	s := w.loggedIn(a)
	w.allReady(a)
	for _, c := range []struct {
		bytes uint64
		want  pkcs11.RV
	}{{16, pkcs11.CKR_OK}, {32, pkcs11.CKR_KEY_SIZE_RANGE}, {64, pkcs11.CKR_OK}} { // of what all refuse the token says so
		w.call(a, &wire.GenerateKey{Session: s, Mechanism: pkcs11.Mechanism{Type: 1}, Template: pkcs11.Template{
			pkcs11.Ulong(pkcs11.CKA_VALUE_LEN, c.bytes)}}, c.want)
	}
	p256 := []byte("\x06\x08\x2a\x86\x48\xce\x3d\x03\x01\x07")
	for _, c := range []struct {
		public pkcs11.Attribute
		want   pkcs11.RV
	}{
		{pkcs11.Ulong(pkcs11.CKA_MODULUS_BITS, 2048), pkcs11.CKR_KEY_SIZE_RANGE},
		{pkcs11.Ulong(pkcs11.CKA_MODULUS_BITS, 4096), pkcs11.CKR_OK},
		{pkcs11.Bytes(pkcs11.CKA_PRIME, make([]byte, 256)), pkcs11.CKR_KEY_SIZE_RANGE},
		{pkcs11.Bytes(pkcs11.CKA_EC_PARAMS, p256), pkcs11.CKR_OK}, // below what any takes
	} {
		w.call(a, &wire.GenerateKeyPair{Session: s, Mechanism: pkcs11.Mechanism{Type: 2}, Public: pkcs11.Template{c.public}}, c.want)
	}
	key := w.generate(a, s, "k", true) // 256 bits
	m := pkcs11.Mechanism{Type: 1}
	for range 6 {
		w.call(a, &wire.SignInit{Session: s, Mechanism: m, Key: key}, pkcs11.CKR_OK)
		w.call(a, &wire.Sign{Session: s, SignatureRoom: wire.Room{Capacity: 64}}, pkcs11.CKR_OK)
		w.call(a, &wire.WrapKey{Session: s, Mechanism: m, Wrapping: key, Key: key}, pkcs11.CKR_FUNCTION_NOT_SUPPORTED) // says the fake token
		w.call(a, &wire.DeriveKey{Session: s, Mechanism: m, Base: key}, pkcs11.CKR_FUNCTION_NOT_SUPPORTED)
	}
	for name, want := range map[string]int{"a": 0, "b": 6, "c": 0} {
		for _, n := range []wire.Number{wire.NumberSign, wire.NumberWrapKey, wire.NumberDeriveKey} {
			if got := w.members[name].Token.Executed(n); got != want {
				t.Errorf("member %s ran %v %d times, want %d", name, n, got, want)
			}
		}
	}
	w.members["b"].Down()
	w.until("b is out", func() bool { return a.slots[0].group.Snapshot().Members[1].State.String() == "down" })
	w.call(a, &wire.SignInit{Session: s, Mechanism: m, Key: key}, pkcs11.CKR_OK)
	w.call(a, &wire.Sign{Session: s, SignatureRoom: wire.Room{Capacity: 64}}, pkcs11.CKR_DEVICE_ERROR)
}
