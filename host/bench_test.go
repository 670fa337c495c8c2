// SPDX-License-Identifier: Apache-2.0

package host_test

import (
	"bytes"
	"context"
	"fmt"
	"testing"

	"oneslot.dev/oneslot/host"
	"oneslot.dev/oneslot/host/hosttest"
	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/wire"
)

// inProcess opens a session on a token within the benchmark's own process: what
// is measured is the host and the module, not the way to them. SoftHSM takes
// its configuration once, so all benchmarks share a token.
func inProcess(b *testing.B) wire.HostSession {
	b.Helper()
	if shared == nil {
		token := hosttest.Token(b, "bench")
		b.Setenv("SOFTHSM2_CONF", token.Conf)
		shared = host.New(host.Config{Module: hosttest.SoftHSM, Label: "bench"})
	}
	s, err := shared.Open(wire.GroupView)
	if err != nil {
		b.Fatal(err)
	}
	return s
}

var shared *host.Token

func BenchmarkHost(b *testing.B) {
	ctx := context.Background()
	s := inProcess(b)
	check := func(rv pkcs11.RV) {
		b.Helper()
		if rv != pkcs11.CKR_OK {
			b.Fatal(rv)
		}
	}
	check(s.Join(ctx, &wire.Join{Officer: []byte(hosttest.OfficerPIN), Pin: []byte(hosttest.UserPIN), Secret: secretOf(1)}))
	check(s.Login(ctx, &wire.Login{User: pkcs11.CKU_USER, Pin: []byte(hosttest.UserPIN)}))
	pair := &wire.GenerateKeyPair{Mechanism: pkcs11.Mechanism{Type: pkcs11.CKM_EC_KEY_PAIR_GEN}, Public: p256, Private: yes(pkcs11.CKA_SIGN)}
	check(s.GenerateKeyPair(ctx, pair))
	rsa := &wire.GenerateKeyPair{Mechanism: pkcs11.Mechanism{Type: pkcs11.CKM_RSA_PKCS_KEY_PAIR_GEN},
		Public: number(pkcs11.CKA_MODULUS_BITS, 1024), Private: yes(pkcs11.CKA_SIGN)}
	check(s.GenerateKeyPair(ctx, rsa))
	digest := make([]byte, 32)
	b.Run("info", func(b *testing.B) {
		for b.Loop() {
			check(s.GetSessionInfo(ctx, &wire.GetSessionInfo{}))
		}
	})
	b.Run("sign ECDSA", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			check(s.SignInit(ctx, &wire.SignInit{Mechanism: pkcs11.Mechanism{Type: pkcs11.CKM_ECDSA}, Key: pair.PrivateKey}))
			check(s.Sign(ctx, &wire.Sign{Data: wire.Data(digest), SignatureRoom: wire.Room{Capacity: 256}}))
		}
	})
	b.Run("digest", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			check(s.DigestInit(ctx, &wire.DigestInit{Mechanism: pkcs11.Mechanism{Type: pkcs11.CKM_SHA256}}))
			check(s.Digest(ctx, &wire.Digest{Data: wire.Data(digest), DigestRoom: wire.Room{Capacity: 256}}))
		}
	})
	b.Run("export EC", func(b *testing.B) {
		for b.Loop() {
			check(s.Export(ctx, &wire.Export{Object: pair.PrivateKey}))
		}
	})
	var blobs [][]byte
	for range 250 {
		check(s.GenerateKeyPair(ctx, pair))
		for _, object := range []uint64{pair.PublicKey, pair.PrivateKey} {
			export := &wire.Export{Object: object}
			check(s.Export(ctx, export))
			blobs = append(blobs, bytes.Clone(export.Blob))
			check(s.DestroyObject(ctx, &wire.DestroyObject{Object: object}))
		}
	}
	b.Run("import 250 EC pairs", func(b *testing.B) {
		for range b.N {
			for _, blob := range blobs {
				check(s.Import(ctx, &wire.Import{Blob: blob, Token: true, Copies: 1}))
			}
		}
		b.ReportMetric(float64(b.Elapsed().Milliseconds())/float64(b.N*len(blobs)), "ms/import")
	})
	b.Run("import again", func(b *testing.B) {
		for range b.N {
			for _, blob := range blobs[:100] {
				check(s.Import(ctx, &wire.Import{Blob: blob, Token: true, Copies: 1}))
			}
		}
		b.ReportMetric(float64(b.Elapsed().Milliseconds())/float64(b.N*100), "ms/import")
	})
	for _, t := range []pkcs11.Template{nil, number(pkcs11.CKA_CLASS, pkcs11.CKO_PRIVATE_KEY)} {
		b.Run(fmt.Sprintf("find, %d attributes", len(t)), func(b *testing.B) {
			var n int
			for b.Loop() {
				find := &wire.Find{Template: t}
				check(s.Find(ctx, find))
				n = len(find.Found)
			}
			b.ReportMetric(float64(n), "objects")
		})
	}
	raw, err := shared.Open(wire.TokenView)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("find, token view", func(b *testing.B) {
		for b.Loop() {
			check(raw.Find(ctx, &wire.Find{Template: number(pkcs11.CKA_CLASS, pkcs11.CKO_PUBLIC_KEY)}))
		}
	})
}
