// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"math/big"
	"math/bits"
	"slices"
	"testing"
)

// chacha seals with ChaCha20 and Poly1305 (RFC 8439), which TLS picks where the processor
// has no instructions for AES. The standard library keeps its own to itself. For tests:
// slow, and what it does takes as long as the data wants.
type chacha struct{ key []byte }

// block is the key stream's block of a number (2.3).
func (c chacha) block(nonce []byte, number uint32) []byte {
	var state [16]uint32
	for i, from := 0, slices.Concat([]byte("expand 32-byte k"), c.key, binary.LittleEndian.AppendUint32(nil, number), nonce); i < 16; i++ {
		state[i] = binary.LittleEndian.Uint32(from[4*i:])
	}
	now := state
	quarter := func(a, b, c, d int) {
		for _, turn := range [2][2]int{{16, 12}, {8, 7}} {
			now[a] += now[b]
			now[d] = bits.RotateLeft32(now[d]^now[a], turn[0])
			now[c] += now[d]
			now[b] = bits.RotateLeft32(now[b]^now[c], turn[1])
		}
	}
	for range 10 {
		for i := range 4 {
			quarter(i, 4+i, 8+i, 12+i)
		}
		for i := range 4 {
			quarter(i, 4+(i+1)%4, 8+(i+2)%4, 12+(i+3)%4)
		}
	}
	var out []byte
	for i := range now {
		out = binary.LittleEndian.AppendUint32(out, now[i]+state[i])
	}
	return out
}

// number is a little-endian one.
func number(b []byte) *big.Int {
	b = bytes.Clone(b)
	slices.Reverse(b)
	return new(big.Int).SetBytes(b)
}

// tag authenticates what is padded to whole blocks (2.5).
func tag(key, blocks []byte) []byte {
	r := number(key[:16])
	r.And(r, number([]byte{255, 255, 255, 15, 252, 255, 255, 15, 252, 255, 255, 15, 252, 255, 255, 15}))
	prime := new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), 130), big.NewInt(5))
	sum := new(big.Int)
	for b := range slices.Chunk(blocks, 16) {
		sum.Add(sum, number(append(bytes.Clone(b), 1)))
		sum.Mod(sum.Mul(sum, r), prime)
	}
	out := sum.Add(sum, number(key[16:32])).FillBytes(make([]byte, 32))
	slices.Reverse(out)
	return out[:16]
}

// Seal is that of cipher.AEAD (2.8).
func (c chacha) Seal(dst, nonce, plain, beside []byte) []byte {
	sealed := bytes.Clone(plain)
	var stream []byte
	for i := range sealed {
		if i%64 == 0 {
			stream = c.block(nonce, uint32(1+i/64))
		}
		sealed[i] ^= stream[i%64]
	}
	padded := func(b []byte) []byte { return append(bytes.Clone(b), make([]byte, -len(b)&15)...) }
	lengths := binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(nil, uint64(len(beside))), uint64(len(sealed)))
	return slices.Concat(dst, sealed, tag(c.block(nonce, 0)[:32], slices.Concat(padded(beside), padded(sealed), lengths)))
}

func (chacha) Overhead() int { return 16 }

// The example of RFC 8439, 2.8.2: its first bytes, and its tag.
func TestChaCha(t *testing.T) {
	key := make([]byte, 32)
	for i := range key {
		key[i] = 0x80 + byte(i)
	}
	nonce, _ := hex.DecodeString("070000004041424344454647")
	beside, _ := hex.DecodeString("50515253c0c1c2c3c4c5c6c7")
	sealed := chacha{key}.Seal(nil, nonce, []byte("Ladies and Gentlemen of the class of '99: If I could offer you only one tip for the future, sunscreen would be it."), beside)
	if got := hex.EncodeToString(sealed); got[:32] != "d31a8d34648e60db7b86afbc53ef7ec2" || got[len(got)-32:] != "1ae10b594f09e26a7e902ecbd0600691" {
		t.Error(got)
	}
}
