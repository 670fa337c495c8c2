// SPDX-License-Identifier: Apache-2.0

package test_test

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"testing"

	p11 "github.com/miekg/pkcs11"
)

// An Init that repeats the last one but for its IV goes with its call. The IV that is used
// is its own: of the call before it, each block would come out otherwise. So it is where
// the lengths of IVs, mechanisms and keys change in between.
func TestEachEncryptionHasItsOwnIV(t *testing.T) {
	a := newWorld(t, 3).login()
	must := a.w.must
	iv := func(n int) []byte {
		b := make([]byte, n)
		rand.Read(b)
		return b
	}
	var keys []p11.ObjectHandle
	var ciphers []cipher.Block
	for range 2 {
		value := iv(32)
		key, err := a.CreateObject(a.s, []*p11.Attribute{
			p11.NewAttribute(p11.CKA_CLASS, p11.CKO_SECRET_KEY), p11.NewAttribute(p11.CKA_KEY_TYPE, p11.CKK_AES),
			p11.NewAttribute(p11.CKA_TOKEN, true), p11.NewAttribute(p11.CKA_VALUE, value), p11.NewAttribute(p11.CKA_SENSITIVE, true),
			p11.NewAttribute(p11.CKA_ENCRYPT, true), p11.NewAttribute(p11.CKA_DECRYPT, true),
		})
		must(err)
		block, err := aes.NewCipher(value)
		must(err)
		keys, ciphers = append(keys, key), append(ciphers, block)
	}
	clear := bytes.Repeat([]byte("sixteen bytes of"), 4)
	for _, decrypt := range []bool{false, true} {
		for i := range 24 {
			k := i / 6 % 2
			v := iv(aes.BlockSize)
			mechanism, cipherText := p11.NewMechanism(p11.CKM_AES_CBC, v), make([]byte, len(clear))
			if i%6 == 4 {
				mechanism = p11.NewMechanism(p11.CKM_AES_CTR, append(ulong(128), v...))
				cipher.NewCTR(ciphers[k], v).XORKeyStream(cipherText, clear)
			} else {
				cipher.NewCBCEncrypter(ciphers[k], v).CryptBlocks(cipherText, clear)
			}
			init, through, in, want := a.EncryptInit, a.Encrypt, clear, cipherText
			if decrypt {
				init, through, in, want = a.DecryptInit, a.Decrypt, cipherText, clear
			}
			must(init(a.s, []*p11.Mechanism{mechanism}, keys[k]))
			got, err := through(a.s, in)
			must(err)
			if !bytes.Equal(got, want) {
				t.Errorf("decryption %t, %d: %x, want %x", decrypt, i, got, want)
			}
			if i%6 == 2 { // an IV of another length, which is wrong
				bad := []*p11.Mechanism{p11.NewMechanism(p11.CKM_AES_CBC, v[:8])}
				if err := init(a.s, bad, keys[k]); err == nil {
					t.Error("an IV of 8 bytes was taken")
				}
			}
		}
	}
}
