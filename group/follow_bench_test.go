// SPDX-License-Identifier: Apache-2.0

package group

import (
	"fmt"
	"testing"

	"oneslot.dev/oneslot/host/hosttest"
	"oneslot.dev/oneslot/member"
	"oneslot.dev/oneslot/member/local"
	"oneslot.dev/oneslot/pkcs11"
	"oneslot.dev/oneslot/wire"
)

// BenchmarkFollow measures how long a member that was away takes until it is ready
// when it has missed destructions or changes: member processes on SoftHSM.
func BenchmarkFollow(b *testing.B) {
	const events = 150
	for _, what := range []string{"destructions", "changes"} {
		b.Run(what, func(b *testing.B) {
			for range b.N {
				b.StopTimer()
				here, there := joined(b, "here"), joined(b, "there")
				away := there
				away.Token = "nowhere"
				open := func(second local.Config) *Group {
					options := twoMembers()
					options.Members = []string{"here", "there"}
					g := New(options, []member.Member{local.New(here), local.New(second)}, wire.GroupView, func(Event) {})
					g.Start()
					g.Settle(b.Context())
					if rv := g.Login(pkcs11.CKU_USER, pkcs11.PIN(hosttest.UserPIN)); rv != pkcs11.CKR_OK {
						b.Fatal(rv)
					}
					return g
				}
				g := open(there)
				var keys []Created
				for i := range events {
					made, rv := g.Create(func(h *Hold) ([]uint64, pkcs11.RV, error) {
						call := wire.GenerateKey{Mechanism: pkcs11.Mechanism{Type: pkcs11.CKM_AES_KEY_GEN},
							Template: pkcs11.Template{pkcs11.Bytes(pkcs11.CKA_LABEL, fmt.Appendf(nil, "key %d", i)),
								pkcs11.Ulong(pkcs11.CKA_VALUE_LEN, 32), pkcs11.Bool(pkcs11.CKA_PRIVATE, true)}}
						_, err := h.Do(&call)
						return []uint64{call.Key}, call.RV, err
					})
					if rv != pkcs11.CKR_OK {
						b.Fatal(rv)
					}
					keys = append(keys, made...)
				}
				g.Close()
				g = open(away)
				for i, key := range keys {
					rv := pkcs11.RV(0)
					if what == "changes" {
						rv = g.SetAttributes(key.Identity, pkcs11.Template{pkcs11.Bytes(pkcs11.CKA_LABEL, fmt.Appendf(nil, "new %d", i))}, resolve(key.Identity))
					} else {
						rv = g.Destroy(key.Identity, resolve(key.Identity))
					}
					if rv != pkcs11.CKR_OK {
						b.Fatal(rv)
					}
				}
				g.Close()
				b.StartTimer()
				g = open(there)
				g.await(b.Context(), func() bool { return g.seats[1].state == Ready })
				b.StopTimer()
				g.Close()
			}
			b.ReportMetric(float64(events*b.N)/b.Elapsed().Seconds(), "events/s")
		})
	}
}
