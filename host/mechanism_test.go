// SPDX-License-Identifier: Apache-2.0

package host_test

import (
	"bytes"
	"crypto"
	"crypto/aes"
	"crypto/cipher"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/hmac"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/asn1"
	"encoding/binary"
	"math/big"
	"testing"

	"oneslot.dev/oneslot/host/hosttest"
	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/wire"
)

// flat builds a flat parameter (wire/PROTOCOL.md).
func flat(parts ...any) []byte {
	var e wire.Encoder
	for _, p := range parts {
		switch v := p.(type) {
		case int:
			e.Ulong(uint64(v))
		case []byte:
			e.Blob(v)
		case byte:
			e.U8(v)
		case nil:
			e.Bytes(wire.Bytes{Null: true})
		}
	}
	return e.Buf
}

func mechanism(t pkcs11.MechanismType, parameter []byte) pkcs11.Mechanism {
	return pkcs11.Mechanism{Type: t, Parameter: parameter, Null: parameter == nil}
}

var wide = wire.Room{Capacity: 1 << 40}

func sign(s *hosttest.Stream, m pkcs11.Mechanism, key uint64, data []byte) []byte {
	c := &wire.Sign{Data: wire.Data(data), SignatureRoom: wide}
	s.Must(&wire.SignInit{Mechanism: m, Key: key}, c)
	return bytes.Clone(c.Signature.Data)
}

func encrypt(s *hosttest.Stream, m pkcs11.Mechanism, key uint64, data []byte) []byte {
	c := &wire.Encrypt{Data: wire.Data(data), EncryptedRoom: wide}
	s.Must(&wire.EncryptInit{Mechanism: m, Key: key}, c)
	return bytes.Clone(c.Encrypted.Data)
}

func decrypt(s *hosttest.Stream, m pkcs11.Mechanism, key uint64, data []byte) []byte {
	c := &wire.Decrypt{Encrypted: wire.Data(data), DataRoom: wide}
	s.Must(&wire.DecryptInit{Mechanism: m, Key: key}, c)
	return bytes.Clone(c.Data.Data)
}

func TestRSAForms(t *testing.T) {
	s := hosttest.Open(t, hosttest.Start(t, hosttest.Token(t, "one")), wire.GroupView)
	s.Login()
	pair := rsaPair(s, false, "a")
	key := rsaKey(s, pair.PublicKey)
	data := []byte("what is signed")
	sum := sha256.Sum256(data)
	pss := binary.LittleEndian.AppendUint64(nil, 0x250)
	pss = binary.LittleEndian.AppendUint64(pss, 2)
	pss = binary.LittleEndian.AppendUint64(pss, 32)
	signature := sign(s, mechanism(pkcs11.CKM_SHA256_RSA_PKCS_PSS, pss), pair.PrivateKey, data)
	if err := rsa.VerifyPSS(key, crypto.SHA256, sum[:], signature, &rsa.PSSOptions{SaltLength: 32}); err != nil {
		t.Errorf("PSS: %v", err)
	}
	oaep := mechanism(pkcs11.CKM_RSA_PKCS_OAEP, flat(0x220, 1, 1, nil))
	secret, err := rsa.EncryptOAEP(sha1.New(), rand.Reader, key, data, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := decrypt(s, oaep, pair.PrivateKey, secret); !bytes.Equal(got, data) {
		t.Errorf("OAEP: %q", got)
	}
	verify := &wire.Verify{Data: wire.Data(data), Signature: wire.Data(signature)}
	s.Must(&wire.VerifyInit{Mechanism: mechanism(pkcs11.CKM_SHA256_RSA_PKCS_PSS, pss), Key: pair.PublicKey}, verify)
	signature[5]++
	s.Do(&wire.VerifyInit{Mechanism: mechanism(pkcs11.CKM_SHA256_RSA_PKCS_PSS, pss), Key: pair.PublicKey}, verify)
	if verify.RV != pkcs11.CKR_SIGNATURE_INVALID {
		t.Errorf("wrong signature: %v", verify.RV)
	}
}

func TestCurveForms(t *testing.T) {
	s := hosttest.Open(t, hosttest.Start(t, hosttest.Token(t, "one")), wire.GroupView)
	s.Login()
	data := []byte("what is signed")
	pair := pairOf(pkcs11.CKM_EC_KEY_PAIR_GEN, p256, yes(pkcs11.CKA_SIGN, pkcs11.CKA_DERIVE))(s)
	var point []byte
	if _, err := asn1.Unmarshal(values(s, pair[0], pkcs11.CKA_EC_POINT)[0], &point); err != nil {
		t.Fatal(err)
	}
	key, err := ecdsa.ParseUncompressedPublicKey(elliptic.P256(), point)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(data)
	signature := sign(s, mechanism(pkcs11.CKM_ECDSA, nil), pair[1], sum[:])
	if !ecdsa.Verify(key, sum[:], new(big.Int).SetBytes(signature[:32]), new(big.Int).SetBytes(signature[32:])) {
		t.Error("ECDSA: wrong signature")
	}
	other, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	public, _ := other.PublicKey.Bytes()
	derive := &wire.DeriveKey{Mechanism: mechanism(pkcs11.CKM_ECDH1_DERIVE, flat(1, nil, public)), Base: pair[1],
		Template: join(number(pkcs11.CKA_CLASS, pkcs11.CKO_SECRET_KEY), number(pkcs11.CKA_KEY_TYPE, pkcs11.CKK_GENERIC_SECRET),
			number(pkcs11.CKA_VALUE_LEN, 32), yes(pkcs11.CKA_EXTRACTABLE), no(pkcs11.CKA_SENSITIVE))}
	s.Must(derive)
	ours, _ := other.ECDH()
	theirs, _ := key.ECDH()
	want, err := ours.ECDH(theirs)
	if err != nil {
		t.Fatal(err)
	}
	if got := values(s, derive.Key, pkcs11.CKA_VALUE)[0]; !bytes.Equal(got, want) {
		t.Errorf("ECDH: %x, want %x", got, want)
	}
	edwards := pairOf(pkcs11.CKM_EC_EDWARDS_KEY_PAIR_GEN, ed25519Params, yes(pkcs11.CKA_SIGN))(s)
	if _, err := asn1.Unmarshal(values(s, edwards[0], pkcs11.CKA_EC_POINT)[0], &point); err != nil {
		t.Fatal(err)
	}
	if !ed25519.Verify(point, data, sign(s, mechanism(pkcs11.CKM_EDDSA, nil), edwards[1], data)) {
		t.Error("EdDSA: wrong signature")
	}
}

func TestSecretForms(t *testing.T) {
	s := hosttest.Open(t, hosttest.Start(t, hosttest.Token(t, "one")), wire.GroupView)
	s.Login()
	value := bytes.Repeat([]byte{7}, 32)
	key := objectOf(number(pkcs11.CKA_CLASS, pkcs11.CKO_SECRET_KEY), number(pkcs11.CKA_KEY_TYPE, pkcs11.CKK_AES),
		pkcs11.Template{pkcs11.Bytes(pkcs11.CKA_VALUE, value)}, yes(pkcs11.CKA_ENCRYPT, pkcs11.CKA_DECRYPT))(s)[0]
	block, _ := aes.NewCipher(value)
	iv, data := bytes.Repeat([]byte{9}, 16), bytes.Repeat([]byte("0123456789abcdef"), 4)

	cbc := make([]byte, len(data))
	cipher.NewCBCEncrypter(block, iv).CryptBlocks(cbc, data)
	if got := encrypt(s, mechanism(pkcs11.CKM_AES_CBC, iv), key, data); !bytes.Equal(got, cbc) {
		t.Errorf("CBC: %x", got)
	}
	if got := encrypt(s, mechanism(pkcs11.CKM_AES_CBC_PAD, iv), key, data); !bytes.Equal(got[:len(data)], cbc) || len(got) != len(data)+16 {
		t.Errorf("CBC_PAD: %x", got)
	}
	ecb := make([]byte, 16)
	block.Encrypt(ecb, data[:16])
	if got := encrypt(s, mechanism(pkcs11.CKM_AES_ECB, nil), key, data[:16]); !bytes.Equal(got, ecb) {
		t.Errorf("ECB: %x", got)
	}
	ctr := make([]byte, 21)
	cipher.NewCTR(block, iv).XORKeyStream(ctr, data[:21])
	if got := encrypt(s, mechanism(pkcs11.CKM_AES_CTR, append(binary.LittleEndian.AppendUint64(nil, 128), iv...)), key, data[:21]); !bytes.Equal(got, ctr) {
		t.Errorf("CTR: %x", got)
	}
	gcm, _ := cipher.NewGCM(block)
	want := gcm.Seal(nil, iv[:12], data, []byte("aad"))
	m := mechanism(pkcs11.CKM_AES_GCM, flat(iv[:12], 96, []byte("aad"), 128))
	if got := encrypt(s, m, key, data); !bytes.Equal(got, want) {
		t.Errorf("GCM: %x", got)
	}
	if got := decrypt(s, m, key, want); !bytes.Equal(got, data) {
		t.Errorf("GCM back: %x", got)
	}
	mac := objectOf(number(pkcs11.CKA_CLASS, pkcs11.CKO_SECRET_KEY), number(pkcs11.CKA_KEY_TYPE, pkcs11.CKK_GENERIC_SECRET),
		pkcs11.Template{pkcs11.Bytes(pkcs11.CKA_VALUE, value)}, yes(pkcs11.CKA_SIGN))(s)[0]
	h := hmac.New(sha256.New, value)
	h.Write(data)
	if got := sign(s, mechanism(pkcs11.CKM_SHA256_HMAC, nil), mac, data); !bytes.Equal(got, h.Sum(nil)) {
		t.Errorf("HMAC: %x", got)
	}
	for _, input := range [][]byte{data, {}} {
		digest := &wire.Digest{Data: wire.Data(input), DigestRoom: wide}
		s.Must(&wire.DigestInit{Mechanism: mechanism(pkcs11.CKM_SHA256, nil)}, digest)
		if sum := sha256.Sum256(input); !bytes.Equal(digest.Digest.Data, sum[:]) {
			t.Errorf("SHA-256 of %d bytes: %x", len(input), digest.Digest.Data)
		}
	}
}

// TestLengths asks for lengths and offers short rooms (PKCS#11 2.40, 5.2): the
// operation stays active.
func TestLengths(t *testing.T) {
	s := hosttest.Open(t, hosttest.Start(t, hosttest.Token(t, "one")), wire.TokenView)
	s.Must(&wire.DigestInit{Mechanism: mechanism(pkcs11.CKM_SHA256, nil)})
	for _, step := range []struct {
		room wire.Room
		rv   pkcs11.RV
		null bool
	}{
		{wire.Room{Null: true}, pkcs11.CKR_OK, true},
		{wire.Room{Capacity: 31}, pkcs11.CKR_BUFFER_TOO_SMALL, true},
		{wire.Room{Capacity: 32}, pkcs11.CKR_OK, false},
		{wire.Room{Capacity: 32}, pkcs11.CKR_OPERATION_NOT_INITIALIZED, false},
	} {
		c := &wire.Digest{Data: wire.Data([]byte("x")), DigestRoom: step.room}
		s.Do(c)
		if c.RV != step.rv || c.Digest.Null != step.null || c.RV.HasReply() && c.Digest.Len() != 32 {
			t.Errorf("room %+v: %v %+v", step.room, c.RV, c.Digest)
		}
	}
	s.Must(&wire.DigestInit{Mechanism: mechanism(pkcs11.CKM_SHA256, nil)})
	c := &wire.Digest{Data: wire.Bytes{Null: true, Length: 1 << 20}, DigestRoom: wide}
	s.Do(c)
	if c.RV != pkcs11.CKR_ARGUMENTS_BAD {
		t.Errorf("NULL with a length: %v", c.RV)
	}
	// Random numbers longer than any other output.
	r := &wire.GenerateRandom{RandomRoom: wire.Room{Capacity: 1 << 20}}
	s.Must(r)
	if bytes.Equal(r.Random.Data[:1000], make([]byte, 1000)) || len(r.Random.Data) != 1<<20 {
		t.Error("no random numbers")
	}
}

// TestWrongParameters sends parameters that are not of the mechanism's form.
func TestWrongParameters(t *testing.T) {
	s := hosttest.Open(t, hosttest.Start(t, hosttest.Token(t, "one")), wire.TokenView)
	s.Login()
	pair := rsaPair(s, false, "a")
	good := flat(0x220, 1, 1, nil)
	for n := 1; n < len(good); n++ {
		c := &wire.DecryptInit{Mechanism: mechanism(pkcs11.CKM_RSA_PKCS_OAEP, good[:n]), Key: pair.PrivateKey}
		s.Do(c)
		if c.RV != pkcs11.CKR_MECHANISM_PARAM_INVALID {
			t.Errorf("%d bytes of OAEP: %v", n, c.RV)
		}
	}
	for name, m := range map[string]pkcs11.Mechanism{
		"vendor mechanism with a parameter": mechanism(0x80001234, []byte{1}),
		"NULL with a length":                {Type: pkcs11.CKM_AES_CBC, Null: true, Length: 16},
		"parameter where there is none":     mechanism(pkcs11.CKM_RSA_PKCS, []byte{1}),
	} {
		c := &wire.DecryptInit{Mechanism: m, Key: pair.PrivateKey}
		s.Do(c)
		if c.RV != pkcs11.CKR_MECHANISM_PARAM_INVALID {
			t.Errorf("%s: %v", name, c.RV)
		}
	}
}

// TestPartialAttributes is field-K1.
func TestPartialAttributes(t *testing.T) {
	s := hosttest.Open(t, hosttest.Start(t, hosttest.Token(t, "one")), wire.GroupView)
	s.Login()
	pair := rsaPair(s, false, "abc")
	c := &wire.GetAttributeValue{Object: pair.PrivateKey, Query: wire.Query{
		{Type: pkcs11.CKA_ID, Form: wire.AskRoom, Capacity: 1 << 40}, {Type: pkcs11.CKA_PRIVATE_EXPONENT, Form: wire.AskRoom, Capacity: 1000},
		{Type: 0x80001234, Form: wire.AskRoom, Capacity: 10}, {Type: pkcs11.CKA_MODULUS, Form: wire.AskRoom, Capacity: 10},
		{Type: pkcs11.CKA_MODULUS}, {Type: pkcs11.CKA_LABEL, Form: wire.AskRoom, Capacity: 0}, {Type: pkcs11.CKA_CLASS, Form: wire.AskRoom, Capacity: 8},
	}}
	s.Do(c)
	switch c.RV {
	case pkcs11.CKR_ATTRIBUTE_SENSITIVE, pkcs11.CKR_ATTRIBUTE_TYPE_INVALID, pkcs11.CKR_BUFFER_TOO_SMALL:
	default:
		t.Fatalf("partial result: %v", c.RV)
	}
	forms := []wire.ValueForm{wire.GotData, wire.GotUnavailable, wire.GotUnavailable, wire.GotUnavailable, wire.GotLength, wire.GotData, wire.GotData}
	for i, v := range c.Values {
		if v.Form != forms[i] {
			t.Errorf("%v: form %d, want %d", v.Type, v.Form, forms[i])
		}
	}
	if string(c.Values[0].Data) != "abc" || c.Values[4].Length != 256 || c.Values[6].Data[0] != byte(pkcs11.CKO_PRIVATE_KEY) {
		t.Errorf("values %+v", c.Values)
	}
	for _, q := range []wire.Question{{Type: pkcs11.CKA_ID, Form: wire.AskArray}, {Type: pkcs11.CKA_UNWRAP_TEMPLATE, Form: wire.AskRoom, Capacity: 100}} {
		c := &wire.GetAttributeValue{Object: pair.PrivateKey, Query: wire.Query{q}}
		s.Do(c)
		if c.RV != pkcs11.CKR_ARGUMENTS_BAD {
			t.Errorf("%+v: %v", q, c.RV)
		}
	}
}
